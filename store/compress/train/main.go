// Command train writes the dictionary of package compress. Its samples are synthetic but have the
// shape of what travels and is stored: rendered objects, reports, keys. Every run makes the same
// dictionary; another one is a new format, because peers and files name it. Run it when the samples
// have changed.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// size is what was measured to be worth its memory: 32 KiB more would save 2% of the bytes.
const size = 48 << 10

// apps is how many applications are made; the first tell what the history lacks, all of them how
// often which code is needed.
const apps = 150

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
	for range apps {
		for _, object := range g.app() {
			sample, err := marshal(object)
			if err != nil {
				return fmt.Errorf("marshal a sample: %w", err)
			}
			samples = append(samples, sample)
		}
	}
	history, err := choose(samples)
	if err != nil {
		return fmt.Errorf("choose the history: %w", err)
	}
	built, err := zstd.BuildDict(
		zstd.BuildDictOptions{
			ID:       201,
			Contents: samples,
			History:  history,
			Offsets:  [3]int{1, 4, 8},
			Level:    zstd.SpeedFastest,
		},
	)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return os.WriteFile(out, built, 0o644)
}

// choose puts whole samples together, because a long match costs as much as a short one: of each
// shape in turn the one of which the history explains least. What is sent most often stands at the
// end, where references to it are shortest.
func choose(samples [][]byte) ([]byte, error) {
	var history []byte
	for round := 0; ; round++ {
		before := len(history)
		for _, shape := range shapes {
			if round >= shape.rounds {
				continue
			}
			worst, most := -1, 0
			for i, s := range samples {
				if !bytes.Contains(s, []byte(shape.has)) {
					continue
				}
				packed, err := lengthBehind(history, s)
				if err != nil {
					return nil, err
				}
				if packed > most && len(history)+len(s) <= size {
					worst, most = i, packed
				}
			}
			if worst >= 0 {
				history = append(slices.Clone(samples[worst]), history...)
			}
		}
		if len(history) == before {
			return history, nil
		}
	}
}

// shapes are what is sent, and of how many samples of each a history has room for. The first of a
// round stand behind the others.
var shapes = []struct {
	has    string
	rounds int
}{
	{
		`"status":{"availableReplicas"`,
		4,
	}, {`"status":{"conditions"`, 6}, {`"kind":"Deployment","metadata":{"annotations"`, 8}, {`"object":{`, 6},
	{
		`"kind":"StatefulSet"`,
		2,
	}, {`"currentRevision"`, 1}, {`"kind":"Service"`, 2}, {`"kind":"ConfigMap"`, 1}, {`"kind":"Secret"`, 1},
	{
		`"kind":"Ingress"`,
		1,
	}, {`"kind":"Job"`, 1}, {`"kind":"PersistentVolumeClaim","metadata":{"annotations"`, 1}, {`"error":{`, 1},
	{`"kind":"Namespace"`, 1}, {`"kind":"CustomResourceDefinition"`, 1},
}

// lengthBehind is the compressed length of a sample behind a history.
func lengthBehind(history, sample []byte) (int, error) {
	options := []zstd.EOption{
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true),
	}
	if len(history) > 8 {
		options = append(options, zstd.WithEncoderDictRaw(1, history))
	}
	enc, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return 0, err
	}
	return len(enc.EncodeAll(sample, nil)), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
