package mover

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Kinds of frames. The upper ones come from the sender, the lower ones from the receiver.
const (
	frameHello   = 'H' // version, which copy, flags
	frameDir     = 'D' // an entry: what follows is in it, until its frameLeave
	frameLeave   = 'X'
	frameFile    = 'F' // an entry
	frameSymlink = 'S' // an entry
	frameLink    = 'L' // an entry: a further name of a file that was sent before
	frameHashes  = 'B' // of one segment of a file
	frameBlock   = 'P' // one block of a file
	frameEnd     = 'Z'

	frameNeed  = 'N' // which blocks of a segment differ; one for each frameHashes, in their order
	frameAck   = 'A' // everything is on the disk
	frameError = 'E'
)

const (
	version       = "skerry-volume/2"
	blockSize     = 128 << 10
	segmentBlocks = 256
	segmentSize   = segmentBlocks * blockSize
	// maxFrame is more than any frame has: a block that does not compress, or an entry.
	maxFrame = blockSize + 128<<10
)

// ErrProtocol is returned when the other side says what it must not.
var ErrProtocol = errors.New("the other side of the copy does not keep to the protocol")

// Flags of a frameHello.
const (
	helloVerify = 1 << iota
	helloRelies // what the sender calls unchanged is so since another process of it has sent it
)

// wire is a stream of frames: a byte of kind, the length as a uvarint, and so many bytes.
type wire struct {
	r   *bufio.Reader
	buf []byte

	mu sync.Mutex // guards w
	w  *bufio.Writer
}

func newWire(rw io.ReadWriter) *wire {
	return &wire{r: bufio.NewReaderSize(rw, 64<<10), w: bufio.NewWriterSize(rw, 64<<10)}
}

// send writes one frame of parts. It reaches the other side with the next flush.
func (w *wire) send(kind byte, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	head := binary.AppendUvarint([]byte{kind}, uint64(n))
	if _, err := w.w.Write(head); err != nil {
		return fmt.Errorf("send to the other side: %w", err)
	}
	for _, p := range parts {
		if _, err := w.w.Write(p); err != nil {
			return fmt.Errorf("send to the other side: %w", err)
		}
	}
	return nil
}

func (w *wire) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("send to the other side: %w", err)
	}
	return nil
}

// next reads a frame. Its bytes are valid until the following call.
func (w *wire) next() (kind byte, payload []byte, err error) {
	kind, err = w.r.ReadByte()
	if err != nil {
		return 0, nil, fmt.Errorf("read from the other side: %w", err)
	}
	n, err := binary.ReadUvarint(w.r)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("read from the other side: %w", unexpected(err))
	case n > maxFrame:
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", ErrProtocol, n)
	}
	if uint64(cap(w.buf)) < n {
		w.buf = make([]byte, n, max(n, 16<<10))
	}
	w.buf = w.buf[:n]
	if _, err := io.ReadFull(w.r, w.buf); err != nil {
		return 0, nil, fmt.Errorf("read from the other side: %w", unexpected(err))
	}
	return kind, w.buf, nil
}

// unexpected makes an end within a frame an error of its own.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fields reads what a frame consists of. After the first one that is missing everything is zero, and bad is set.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) number() uint64 { return varint(f, binary.Uvarint) }
func (f *fields) signed() int64  { return varint(f, binary.Varint) }

func varint[N uint64 | int64](f *fields, decode func([]byte) (N, int)) N {
	v, n := decode(f.rest)
	if n <= 0 {
		f.bad, f.rest = true, nil
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

// size is a number of bytes, of a file or of a part of one.
func (f *fields) size() int64 {
	n := f.number()
	if n > 1<<62 {
		f.bad = true
		return 0
	}
	return int64(n)
}

func (f *fields) bytes(n int) []byte {
	if n < 0 || n > len(f.rest) {
		f.bad, f.rest = true, nil
		return nil
	}
	b := f.rest[:n:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) text(most int) string {
	n := f.number()
	if n > uint64(most) {
		f.bad = true
		return ""
	}
	return string(f.bytes(int(n)))
}

// whole returns an error unless a frame had exactly what was read of it.
func (f *fields) whole(what string) error {
	if f.bad || len(f.rest) > 0 {
		return fmt.Errorf("%w: %s cannot be read", ErrProtocol, what)
	}
	return nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
