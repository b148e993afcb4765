package mover

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// memory is what one end of a copy knows of files from earlier rounds. It outlives its process in a file outside of the
// volume. It is a short cut and nothing else: who has lost it compares everything, and what it says of a file that has
// another stamp now does not count.
type memory struct {
	// copy names which copy it is about; empty for none. All rounds of one follow each other: what its sender calls
	// unchanged is so since a round that its receiver has acknowledged.
	copy  string
	files map[string]stamp // by path
}

// Bounds of a memory.
const (
	memoryFormat = "skerry-volume-memory/1"
	maxMemory    = 64 << 20 // bytes of the file; of files that have no room in it nothing is known
	maxCopyName  = 64
)

func newMemory() memory { return memory{files: map[string]stamp{}} }

// recall reads a memory. One that is missing, or that cannot be read, is empty.
func recall(path string) memory {
	f, err := os.Open(path)
	if err != nil {
		return newMemory()
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMemory+1))
	if err != nil || len(b) > maxMemory {
		return newMemory()
	}
	m, err := decodeMemory(b)
	if err != nil {
		return newMemory()
	}
	return m
}

// keep writes a memory, so that there is a whole one at any time.
func (m memory) keep(path string) error {
	next := path + ".next"
	if err := os.WriteFile(next, m.encode(), 0o600); err != nil {
		return errors.Join(fmt.Errorf("remember what was copied: %w", err), os.Remove(next))
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("remember what was copied: %w", err)
	}
	return nil
}

func (m memory) encode() []byte {
	b := appendText(appendText(nil, memoryFormat), m.copy)
	for path, s := range m.files {
		const most = 10*binary.MaxVarintLen64 + len(sum{})
		if len(b)+len(path)+most > maxMemory {
			break
		}
		b = appendText(b, path)
		for _, n := range [...]uint64{s.inode.dev, s.inode.ino, uint64(s.size)} {
			b = binary.AppendUvarint(b, n)
		}
		for _, n := range [...]int64{s.mtime.Sec, s.mtime.Nsec, s.ctime.Sec, s.ctime.Nsec} {
			b = binary.AppendVarint(b, n)
		}
		b = append(b, s.sum[:]...)
	}
	return b
}

func decodeMemory(b []byte) (memory, error) {
	f := &fields{rest: b}
	format := f.text(len(memoryFormat))
	m := newMemory()
	m.copy = f.text(maxCopyName)
	for format == memoryFormat && !f.bad && len(f.rest) > 0 {
		path := f.text(maxPath)
		var s stamp
		s.inode = inode{f.number(), f.number()}
		s.size = f.size()
		s.mtime = syscall.Timespec{Sec: f.signed(), Nsec: f.signed()}
		s.ctime = syscall.Timespec{Sec: f.signed(), Nsec: f.signed()}
		copy(s.sum[:], f.bytes(len(s.sum)))
		m.files[path] = s
	}
	if err := f.whole("what was remembered"); err != nil || format != memoryFormat {
		return memory{}, fmt.Errorf("%q: %w", format, ErrProtocol)
	}
	return m, nil
}
