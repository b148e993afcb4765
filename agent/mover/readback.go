package mover

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxParts is how many files and blocks a round knows that it has written. What is beyond that is read whole.
const maxParts = 500_000

// part is what is known of a file that a round has brought: what it is to hold, and which of its blocks were
// written. The others were read from the disk, and held that.
type part struct {
	content content
	written []written
	unknown bool // there was no room for all that was written
	is      stamp
}

// written is a block that was written, and what it is to hold.
type written struct {
	block int64
	sum   sum
	zero  bool // zeros
}

func newPart() part { return part{content: newContent()} }

// parts are the files that a round has brought, by path.
type parts struct {
	of    map[string]part
	count int
}

func newParts() *parts { return &parts{of: map[string]part{}} }

// wrote notes that a block is written. A round that does not read back notes nothing.
func (p *parts) wrote(in *part, w written) {
	switch {
	case p == nil || in.unknown:
	case p.count >= maxParts:
		in.written, in.unknown = nil, true
	default:
		p.count++
		in.written = append(in.written, w)
	}
}

// add takes over a file that is whole.
func (p *parts) add(in *incoming) error {
	if in.unknown || p.count >= maxParts {
		return nil
	}
	info, err := in.file.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", in.path, err)
	}
	p.count++
	in.is = stampOf(info)
	in.is.sum = in.content.sum()
	p.of[in.path] = in.part
	return nil
}

// fromDisk has what is read of a file come from its disk: what was flushed leaves the memory.
func fromDisk(f *os.File) {
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // only advice: without it the check sees less
}

// verifying is the visitor that finds out what a copy holds, from its disk. It does not read again what was read, and
// has not changed since.
type verifying struct {
	root  *os.Root
	tally tally
	buf   []byte
	known map[string]stamp // from earlier rounds
	parts *parts           // nil for none
	next  map[string]stamp // what a later round may rely on
	reads int64            // bytes
}

func (v *verifying) enter(path string, _ fs.FileInfo) error {
	v.tally.add(frameDir, path, 0, nil)
	return nil
}
func (v *verifying) leave(string, fs.FileInfo) error { return nil }
func (v *verifying) skip(string)                     {}

func (v *verifying) link(path string, _ fs.FileInfo, first string) error {
	v.tally.add(frameLink, path, 0, []byte(first))
	return nil
}

func (v *verifying) symlink(path string, _ fs.FileInfo) error {
	target, err := v.root.Readlink(path)
	if err != nil {
		return fmt.Errorf("read the link %s: %w", path, err)
	}
	v.tally.add(frameSymlink, path, 0, []byte(target))
	return nil
}

func (v *verifying) file(path string, info fs.FileInfo) error {
	is := stampOf(info)
	if was, ok := v.known[path]; ok && was.same(is) {
		v.tally.add(frameFile, path, was.size, was.sum[:])
		v.next[path] = was
		return nil
	}
	f, err := openFile(v.root, path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	fromDisk(f)
	is = stampOf(info)
	if is.sum, err = v.read(f, path, is); err != nil {
		return err
	}
	v.tally.add(frameFile, path, is.size, is.sum[:])
	again, err := v.root.Lstat(path)
	// Only this process writes to the copy, and through no mapping: a later write changes the time of the status.
	before := now().Add(-settledTime)
	if err == nil && stampOf(again).same(is) && time.Unix(is.ctime.Unix()).Before(before) && len(v.next) < maxSeen {
		v.next[path] = is
	}
	return nil
}

// read returns what a file holds.
func (v *verifying) read(f *os.File, path string, is stamp) (sum, error) {
	if v.parts != nil {
		if p, ok := v.parts.of[path]; ok && p.is.same(is) {
			if held, err := v.holds(f, is.size, p.written); err != nil || held {
				return p.is.sum, err
			}
		}
	}
	c := newContent()
	for i := range (is.size + segmentSize - 1) / segmentSize {
		seg, err := readSegment(f, is.size, i, v.buf)
		if err != nil {
			return sum{}, err
		}
		c.add(seg)
	}
	v.reads += is.size
	return c.sum(), nil
}

// holds reports whether blocks hold what was written to them.
func (v *verifying) holds(f *os.File, size int64, blocks []written) (bool, error) {
	for _, w := range blocks {
		b, err := readBlock(f, size, w.block, v.buf)
		if err != nil {
			return false, err
		}
		v.reads += int64(len(b))
		if zero := isZero(b); zero != w.zero || !zero && sha256.Sum256(b) != w.sum {
			return false, nil
		}
	}
	return true, nil
}
