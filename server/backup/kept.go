package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// kept are the small files of a data directory that a backup holds, by their slash-separated path
// in it.
type kept map[string][]byte

const (
	keysDir   = "pki"
	uplinkDir = "uplink" // of a relay: who it is at its parent
	// maxKept is the most that all of them may be together, in a directory or in an archive.
	maxKept = 16 << 20
)

// readKept reads them. The copies that a relay has of its parent's objects (*.db) are left out: it
// asks for them again.
func readKept(dir string) (kept, error) {
	out := kept{}
	left := int64(maxKept)
	for _, part := range []string{keysDir, uplinkDir} {
		err := fs.WalkDir(os.DirFS(dir), part, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // no relay; or a file of a step that is over
				return nil
			case err != nil:
				return err
			case strings.HasPrefix(path.Base(name), "."): // not finished
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case !d.Type().IsRegular() || part == uplinkDir && strings.Contains(path.Base(name), ".db"):
				return nil
			}
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if left -= int64(len(data)); err == nil && left < 0 {
				err = fmt.Errorf("more than %d bytes", maxKept)
			}
			out[name] = data
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, part), err)
		}
	}
	if !slices.ContainsFunc(out.names(), isKey) {
		return nil, fmt.Errorf("%s has no keys, so it is no center's data directory; name that with --data-dir", dir)
	}
	return out, nil
}

func isKey(name string) bool { return strings.HasPrefix(name, keysDir+"/") }

func (k kept) names() []string { return slices.Sorted(maps.Keys(k)) }

// sameKeys reports whether the authorities are the same; a relay's clock may have moved on.
func (k kept) sameKeys(other kept) bool {
	mine, theirs := slices.DeleteFunc(k.names(), notKey), slices.DeleteFunc(other.names(), notKey)
	return slices.EqualFunc(mine, theirs, func(a, b string) bool { return a == b && bytes.Equal(k[a], other[b]) })
}

func notKey(name string) bool { return !isKey(name) }
