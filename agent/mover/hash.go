package mover

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

type sum = [sha256.Size]byte

var zeros = make([]byte, blockSize)

// isZero reports whether a block is nothing but zeros.
func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// segment is what one segment of a file holds.
type segment struct {
	zero [segmentBlocks / 8]byte // a bit for each block of zeros
	sums []sum                   // of the other blocks, in their order
}

func (s *segment) isZero(block int) bool { return s.zero[block/8]&(1<<(block%8)) != 0 }
func (s *segment) setZero(block int)     { s.zero[block/8] |= 1 << (block % 8) }

// blocksIn is how many blocks a segment of a file of some size has.
func blocksIn(size int64, index int64) int {
	rest := size - index*segmentSize
	return int(min((rest+blockSize-1)/blockSize, segmentBlocks))
}

// blockLen is how long a block of a file of some size is.
func blockLen(size, block int64) int { return int(min(size-block*blockSize, blockSize)) }

// readSegment reads a segment. What a file has lost since its size was taken counts as zeros.
func readSegment(f *os.File, size, index int64, buf []byte) (s segment, err error) {
	n := blocksIn(size, index)
	if n <= 0 {
		return s, nil
	}
	if !hasData(f, index*segmentSize, min(size, (index+1)*segmentSize)) {
		for i := range n {
			s.setZero(i)
		}
		return s, nil
	}
	for i := range n {
		b, err := readBlock(f, size, index*segmentBlocks+int64(i), buf)
		switch {
		case err != nil:
			return s, err
		case isZero(b):
			s.setZero(i)
		default:
			s.sums = append(s.sums, sha256.Sum256(b))
		}
	}
	return s, nil
}

// readBlock reads a block into buf, which has blockSize bytes.
func readBlock(f *os.File, size, block int64, buf []byte) ([]byte, error) {
	b := buf[:blockLen(size, block)]
	n, err := f.ReadAt(b, block*blockSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	clear(b[n:])
	return b, nil
}

// hasData reports whether the file system has stored anything of a part of a file.
func hasData(f *os.File, from, to int64) bool {
	at, err := unix.Seek(int(f.Fd()), from, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return false
	}
	return err != nil || at < to
}

// content adds up what a file holds.
type content struct{ h hash.Hash }

func newContent() content { return content{sha256.New()} }

func (c content) add(s segment) {
	c.h.Write(s.zero[:])
	for i := range s.sums {
		c.h.Write(s.sums[i][:])
	}
}

func (c content) sum() (out sum) {
	c.h.Sum(out[:0])
	return out
}

// tally adds up a tree: the paths, what the files hold, and where links lead.
type tally struct{ h hash.Hash }

func newTally() tally { return tally{sha256.New()} }

func (t tally) add(kind byte, path string, size int64, what []byte) {
	b := appendText([]byte{kind}, path)
	b = binary.AppendUvarint(b, uint64(size))
	b = binary.AppendUvarint(b, uint64(len(what)))
	t.h.Write(append(b, what...))
}

func (t tally) sum() (out sum) {
	t.h.Sum(out[:0])
	return out
}

// flushDisk has everything of the file system of a volume on its disk.
func flushDisk(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("flush the volume: %w", err)
	}
	return nil
}

// openFile opens a regular file without following a link, and without waiting for the other end of a pipe.
func openFile(root *os.Root, path string, flag int) (*os.File, error) {
	return root.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
