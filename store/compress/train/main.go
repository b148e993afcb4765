// Command train writes the dictionary of package compress. Its samples are synthetic but have the shape of what travels and
// is stored: rendered objects, reports, keys. The samples are the same each time, but the trainer's choice among equals is not: every run makes
// a new dictionary, and so a new format. Run it only when the samples have become wrong.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

// size is what was measured to be worth its memory: 32 KiB more would save 2% of the bytes.
const size = 48 << 10

func main() {
	out := flag.String("o", "dictionary.bin", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	g := &generator{rand.New(rand.NewSource(7443))}
	var samples [][]byte
	for range 400 {
		for _, object := range g.app() {
			sample, err := marshal(object)
			if err != nil {
				return fmt.Errorf("marshal a sample: %w", err)
			}
			samples = append(samples, sample)
		}
	}
	built, err := dict.BuildZstdDict(samples, dict.Options{MaxDictSize: size, HashBytes: 6, ZstdDictID: 200, ZstdLevel: zstd.SpeedFastest})
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return os.WriteFile(out, built, 0o644)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
