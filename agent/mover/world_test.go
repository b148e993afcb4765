package mover

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// listing is all that a copy must keep of a tree, a line an entry.
func listing(t testing.TB, dir string) (out []string) {
	t.Helper()
	first := map[uint64]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := os.Lstat(path)
		must(t, err)
		rel, _ := filepath.Rel(dir, path)
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%s %o %d:%d", rel, st.Mode, st.Uid, st.Gid)
		switch {
		case d.Type() == fs.ModeSymlink:
			target, _ := os.Readlink(path)
			out = append(out, line+" -> "+target)
			return nil
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			must(t, err)
			if _, is := first[st.Ino]; !is {
				first[st.Ino] = rel
			}
			line += fmt.Sprintf(" %x of %s", b[:min(len(b), 8)], first[st.Ino])
			h := newTally()
			h.add('f', "", int64(len(b)), b)
			line += fmt.Sprintf(" %x", h.sum())
		}
		out = append(out, fmt.Sprintf("%s %d %v", line, info.ModTime().UnixNano(), userAttr(path)))
		return nil
	}))
	return out
}

func userAttr(path string) string {
	b := make([]byte, 100)
	n, err := unix.Lgetxattr(path, "user.kept", b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// world changes a tree at random. The tree has links that lead out of it, to a file that nothing may change.
type world struct {
	r       *rand.Rand
	root    *os.Root
	outside string
}

func newWorld(t testing.TB, dir string, seed uint64) *world {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	w := &world{rand.New(rand.NewPCG(seed, 1)), root, filepath.Join(t.TempDir(), "theirs")}
	must(t, os.WriteFile(w.outside, []byte("precious"), 0o600))
	t.Cleanup(func() {
		root.Close()
		if b, err := os.ReadFile(w.outside); string(b) != "precious" {
			t.Errorf("what a link leads to is %d bytes now (%v)", len(b), err)
		}
	})
	return w
}

var sizes = []int{0, 1, 100, blockSize - 1, blockSize, blockSize + 1, 3*blockSize + 7}

func (w *world) path() string {
	var parts []string
	for range 1 + w.r.IntN(3) {
		parts = append(parts, string(rune('a'+w.r.IntN(4))))
	}
	return filepath.Join(parts...)
}

func (w *world) bytes(n int) []byte {
	b := make([]byte, n)
	if w.r.IntN(4) > 0 {
		for i := range b {
			b[i] = byte(w.r.Uint32())
		}
	}
	return b
}

// change makes one change, or none where it is not possible.
func (w *world) change() {
	path := w.path()
	switch w.r.IntN(12) {
	case 0, 1, 2, 3:
		if w.root.MkdirAll(filepath.Dir(path), 0o755) == nil {
			_ = w.root.WriteFile(path, w.bytes(sizes[w.r.IntN(len(sizes))]), 0o640)
		}
	case 4:
		if f, err := w.root.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteAt(w.bytes(10), int64(w.r.IntN(2*blockSize)))
			f.Close()
		}
	case 5:
		if f, err := w.root.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_ = f.Truncate(int64(sizes[w.r.IntN(len(sizes))]))
			f.Close()
		}
	case 6:
		_ = w.root.RemoveAll(path)
	case 7:
		_ = w.root.Rename(path, w.path())
	case 8:
		_ = w.root.Symlink([]string{"..", w.outside, "a", "b/c"}[w.r.IntN(4)], path)
	case 9:
		_ = w.root.Link(path, w.path())
	case 10:
		if info, err := w.root.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSymlink {
			_ = w.root.Chmod(path, []fs.FileMode{0o700, 0o755, 0o444, 0o600 | fs.ModeSetgid}[w.r.IntN(4)])
			if f, err := w.root.Open(path); err == nil {
				_ = unix.Fsetxattr(int(f.Fd()), "user.kept", w.bytes(5), 0)
				f.Close()
			}
		}
	case 11:
		_ = w.root.MkdirAll(path, 0o755)
		_ = w.root.Lchown(path, w.r.IntN(3), w.r.IntN(3))
	}
}
