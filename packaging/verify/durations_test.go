package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestDurationsHaveBounds: a flag that takes a duration says what is too short and too long, which only
// commandline.DurationFlag does.
func TestDurationsHaveBounds(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		for _, name := range p.GoFiles {
			path := filepath.Join("..", "..", filepath.FromSlash(p.path()), name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte("cli.DurationFlag")) {
				t.Errorf("%s: write commandline.DurationFlag, with bounds", path)
			}
		}
	})
}
