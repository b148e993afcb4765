package bundle

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// maxListed bounds the files of a list.
const maxListed = 10_000

// List returns a list of the files of a directory: mode, owner, size, time and name, one a line. No
// content is read.
func List(dir string) ([]byte, error) {
	var out bytes.Buffer
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxListed {
			fmt.Fprintln(&out, "and more")
			return fs.SkipAll
		}
		if err != nil {
			if path == dir {
				return err
			}
			fmt.Fprintf(&out, "%s: %s\n", path, err)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // it went away meanwhile
		}
		owner := ""
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			owner = fmt.Sprintf("%d:%d", s.Uid, s.Gid)
		}
		fmt.Fprintf(&out, "%s %-11s %12d %s %s\n", info.Mode(), owner, info.Size(),
			info.ModTime().UTC().Format(time.RFC3339), path)
		return nil
	})
	return out.Bytes(), err
}
