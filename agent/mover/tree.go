package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// visitor is told of a tree in the order of names, a directory before what is in it. What goes while it is
// walked is left out.
type visitor interface {
	enter(path string, info fs.FileInfo) error
	leave(path string, info fs.FileInfo) error
	file(path string, info fs.FileInfo) error
	symlink(path string, info fs.FileInfo) error
	// link is told of a further name of the file at a path that it was told of.
	link(path string, info fs.FileInfo, first string) error
	// skip is told of what is neither of these.
	skip(path string)
}

// inode tells files apart.
type inode struct{ dev, ino uint64 }

// maxInodes is how many files with several names are remembered; further ones are copied once a name.
const maxInodes = 1_000_000

type walk struct {
	ctx   context.Context
	root  *os.Root
	v     visitor
	first map[inode]string
}

func walkTree(ctx context.Context, root *os.Root, v visitor) error {
	w := &walk{ctx: ctx, root: root, v: v, first: map[inode]string{}}
	info, err := root.Lstat(".")
	if err != nil {
		return fmt.Errorf("look at the volume: %w", err)
	}
	return w.dir(".", info, 0)
}

func (w *walk) dir(path string, info fs.FileInfo, depth int) error {
	names, err := namesIn(w.root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path != ".":
		return nil
	case err != nil:
		return err
	case depth > maxDepth:
		return fmt.Errorf("directory %s is more than %d deep", path, maxDepth)
	}
	if err := w.v.enter(path, info); err != nil {
		return err
	}
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if path == "." && (name == "lost+found" || name == standbyDir) {
			continue
		}
		at := join(path, name)
		if len(at) > maxPath {
			return fmt.Errorf("the path of %s is longer than %d bytes", at, maxPath)
		}
		if err := w.one(at, depth); err != nil {
			return err
		}
	}
	return w.v.leave(path, info)
}

func (w *walk) one(at string, depth int) error {
	info, err := w.root.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", at, err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return w.dir(at, info, depth+1)
	case mode.IsRegular():
		if first, also := w.further(at, info); also {
			return w.v.link(at, info, first)
		}
		return w.v.file(at, info)
	case mode.Type() == fs.ModeSymlink:
		return w.v.symlink(at, info)
	default:
		w.v.skip(at)
		return nil
	}
}

// further returns the path under which a file was met before.
func (w *walk) further(at string, info fs.FileInfo) (string, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return "", false
	}
	i := inode{st.Dev, st.Ino}
	if first, ok := w.first[i]; ok {
		return first, true
	}
	if len(w.first) < maxInodes {
		w.first[i] = at
	}
	return "", false
}

// namesIn returns what a directory has, in order.
func namesIn(root *os.Root, path string) ([]string, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", path, err)
	}
	defer f.Close()
	var names []string
	for {
		part, err := f.Readdirnames(1000)
		names = append(names, part...)
		switch {
		case len(names) > maxNames:
			return nil, fmt.Errorf("directory %s has more than %d names", path, maxNames)
		case errors.Is(err, io.EOF):
			slices.Sort(names)
			return names, nil
		case err != nil:
			return nil, fmt.Errorf("read directory %s: %w", path, err)
		}
	}
}
