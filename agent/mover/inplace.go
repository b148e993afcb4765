package mover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// volume is what is copied into. A test has die return an error at a write, as if the process had been killed before
// it: nothing is written after that.
type volume struct {
	root *os.Root
	die  func() error
}

// write comes before each write.
func (v volume) write() error {
	if v.die == nil {
		return nil
	}
	return v.die()
}

// sink takes what a sender sends, in the order in which it comes.
type sink interface {
	// named is told of each name of the directory that was entered last, before what it is.
	named(name string) error
	enter(path string, e entry) error
	leave(path string, m meta) error
	symlink(path string, e entry) error
	link(path string, e entry) error
	// file begins a file; nil for one that is the same as before.
	file(seq uint64, path string, e entry) (*incoming, error)
	// has is told of a block that is here, put of one that came; zero makes one of zeros that is here with others.
	has(in *incoming, block int64, b []byte) error
	put(in *incoming, block int64, b []byte) error
	zero(in *incoming, block int64) error
	finish(in *incoming) error
	// end has everything on the disk. It returns what could not be set.
	end(is Round) (unkept Names, err error)
	close()
}

// inplace writes where the files are. Names that do not come are removed.
type inplace struct {
	volume
	stack   []place
	replays bool // of a redo log, see replay
	unkept  Names
}

// place is a directory that was entered, and what is in it and comes after the last name, in order.
type place struct {
	path string
	here []string
}

func (*inplace) close() {}

func (p *inplace) end(Round) (Names, error) { return p.unkept, flushDisk(p.root) }

func (p *inplace) named(name string) error {
	l := &p.stack[len(p.stack)-1]
	if err := p.remove(l, func(here string) bool { return here < name }); err != nil {
		return err
	}
	if len(l.here) > 0 && l.here[0] == name {
		l.here = l.here[1:]
	}
	return nil
}

// remove removes the first names that are in a directory, for as long as they are among some.
func (p *inplace) remove(l *place, among func(name string) bool) error {
	for len(l.here) > 0 && among(l.here[0]) {
		path := join(l.path, l.here[0])
		l.here = l.here[1:]
		if path == "lost+found" || ours(path) {
			continue
		}
		if err := p.removeAll(path); err != nil {
			return fmt.Errorf("remove what the source does not have: %w", err)
		}
	}
	return nil
}

func (p *inplace) removeAll(path string) error {
	if err := p.write(); err != nil {
		return err
	}
	return p.root.RemoveAll(path)
}

// clear removes what is at a path unless it is of a kind, and reports whether it is.
func (p *inplace) clear(path string, is func(info fs.FileInfo) bool) (fs.FileInfo, bool, error) {
	info, err := p.root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look at %s: %w", path, err)
	case is(info):
		return info, true, nil
	}
	if err := p.removeAll(path); err != nil {
		return nil, false, fmt.Errorf("replace %s: %w", path, err)
	}
	return nil, false, nil
}

func (p *inplace) enter(path string, _ entry) error {
	info, is, err := p.clear(path, fs.FileInfo.IsDir)
	if err == nil {
		err = p.write()
	}
	switch {
	case err != nil:
		return err
	case !is:
		if err := p.root.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
	case info.Mode().Perm()&0o700 != 0o700:
		if err := p.root.Chmod(path, 0o700); err != nil {
			return fmt.Errorf("open a directory: %w", err)
		}
	}
	here, err := namesIn(p.root, path)
	if err != nil {
		return err
	}
	p.stack = append(p.stack, place{path, here})
	return nil
}

func (p *inplace) leave(path string, m meta) error {
	l := &p.stack[len(p.stack)-1]
	if err := p.remove(l, func(string) bool { return true }); err != nil {
		return err
	}
	p.stack = p.stack[:len(p.stack)-1]
	f, err := p.root.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open a directory: %w", err)
	}
	defer f.Close()
	return p.dress(f, path, m)
}

func (p *inplace) symlink(path string, e entry) error {
	info, is, err := p.clear(path, func(info fs.FileInfo) bool {
		target, err := p.root.Readlink(path)
		return info.Mode().Type() == fs.ModeSymlink && err == nil && target == e.target
	})
	if err == nil {
		err = p.write()
	}
	if err != nil {
		return err
	}
	if !is {
		if err := p.root.Symlink(e.target, path); err != nil {
			return fmt.Errorf("make a link: %w", err)
		}
		if info, err = p.root.Lstat(path); err != nil {
			return fmt.Errorf("look at a link: %w", err)
		}
	}
	if err := p.write(); err != nil {
		return err
	}
	if was := metaOf(info); was.uid != e.meta.uid || was.gid != e.meta.gid {
		if err := p.root.Lchown(path, int(e.meta.uid), int(e.meta.gid)); err != nil {
			p.unkept.add(path + ": owner")
		}
	}
	return nil
}

func (p *inplace) link(path string, e entry) error {
	first, err := p.root.Lstat(e.target)
	switch {
	case err == nil && first.Mode().IsRegular():
	case p.replays: // the round counts already, so it has to end
		p.unkept.add(path + ": name of " + e.target)
		return p.removeAll(path)
	default:
		return fmt.Errorf("%w: %s is a name of %s, which is no file", ErrProtocol, path, e.target)
	}
	_, is, err := p.clear(path, func(info fs.FileInfo) bool { return os.SameFile(info, first) })
	if err != nil || is {
		return err
	}
	if err := p.write(); err != nil {
		return err
	}
	if err := p.root.Link(e.target, path); err != nil {
		return fmt.Errorf("give a file a further name: %w", err)
	}
	return nil
}

// file begins a file. It is written in place, unless it has other names here.
func (p *inplace) file(seq uint64, path string, e entry) (*incoming, error) {
	info, is, err := p.clear(path, func(info fs.FileInfo) bool {
		st, ok := info.Sys().(*syscall.Stat_t)
		return info.Mode().IsRegular() && (e.same || ok && st.Nlink == 1 || p.replays)
	})
	switch {
	case err != nil:
		return nil, err
	case e.same && (!is || info.Size() != e.size):
		return nil, fmt.Errorf("%w: %s", ErrStale, path)
	case e.same:
		return nil, p.keep(path, e.meta)
	}
	if err := p.write(); err != nil {
		return nil, err
	}
	f, err := openFile(p.root, path, os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fs.ErrPermission) && is && p.root.Chmod(path, 0o600) == nil {
		f, err = openFile(p.root, path, os.O_RDWR)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	in := &incoming{seq: seq, path: path, meta: e.meta, file: f, size: e.size}
	if is {
		in.had = info.Size()
	}
	err = p.write()
	if err == nil {
		err = f.Truncate(e.size)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("resize %s: %w", path, err)
	}
	return in, nil
}

// keep gives a file that has not changed its metadata.
func (p *inplace) keep(path string, m meta) error {
	f, err := openFile(p.root, path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	return p.dress(f, path, m)
}

func (*inplace) has(*incoming, int64, []byte) error { return nil }

func (p *inplace) put(in *incoming, block int64, b []byte) error {
	if err := p.write(); err != nil {
		return err
	}
	if _, err := in.file.WriteAt(b, block*blockSize); err != nil {
		return fmt.Errorf("write %s: %w", in.path, err)
	}
	return nil
}

func (p *inplace) zero(in *incoming, block int64) error {
	if err := p.write(); err != nil {
		return err
	}
	at, n := block*blockSize, blockLen(in.size, block)
	err := unix.Fallocate(int(in.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, int64(n))
	if err != nil { // not every file system has holes
		_, err = in.file.WriteAt(zeros[:n], at)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", in.path, err)
	}
	return nil
}

func (p *inplace) finish(in *incoming) error { return p.dress(in.file, in.path, in.meta) }

// dress gives an open file or directory its metadata. What it may not set is in the report.
func (p *inplace) dress(f *os.File, path string, m meta) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if err := p.write(); err != nil {
		return err
	}
	was := metaOf(info)
	owned := was.uid == m.uid && was.gid == m.gid
	if !owned && f.Chown(int(m.uid), int(m.gid)) != nil {
		p.unkept.add(path + ": owner")
	}
	if err := p.write(); err != nil {
		return err
	}
	// A change of the owner takes bits of the mode off.
	if (!owned || was.mode != m.mode) && f.Chmod(fileMode(m.mode)) != nil {
		p.unkept.add(path + ": mode")
	}
	if setAttributes(f, m.attrs) != nil {
		p.unkept.add(path + ": attributes")
	}
	if err := p.write(); err != nil {
		return err
	}
	if !was.mtime.Equal(m.mtime) && p.root.Chtimes(path, time.Time{}, m.mtime) != nil {
		p.unkept.add(path + ": time")
	}
	return nil
}
