package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"skerry.dev/skerry/store"
)

// Version is the protocol version, the first byte of every stream.
const Version = 1

// Limits of what is read from a peer.
const (
	// MaxFrame bounds the payload of a frame: one object that does not compress, and its envelope.
	MaxFrame = store.MaxBodyBytes + 64<<10
	// MaxControl bounds the payload of a frame of the control stream.
	MaxControl = 64 << 10
	// MaxRaw bounds a batch before compression.
	MaxRaw = 4 << 20
	// MaxEntries bounds the entries of one batch, and the members in one answer.
	MaxEntries = 16 << 10
)

// ErrMalformed is returned for bytes that break the protocol. Only the peer that sent them is
// dropped.
var ErrMalformed = errors.New("malformed message")

// Type says what the payload of a frame is.
type Type byte

// The frames of a delta stream, see tunnel/PROTOCOL.md. Receiver to sender: Resume, Ack, Answer,
// Compare, Hold. Sender to receiver: Start, Batch, Ask, Trace. The frames of a control stream begin at 32.
const (
	TypeResume Type = iota + 1
	TypeStart
	TypeBatch
	TypeAck
	TypeAsk
	TypeAnswer
	TypeCompare
	TypeHold
	TypeTrace
)

// AppendFrame appends a whole frame: type, length as a varint, payload.
func AppendFrame(dst []byte, t Type, payload []byte) []byte {
	dst = append(dst, byte(t))
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	return append(dst, payload...)
}

// FrameSize returns how many bytes a frame with a payload of n bytes takes.
func FrameSize(n int) int {
	size := 2 + n
	for rest := uint(n) >> 7; rest > 0; rest >>= 7 {
		size++
	}
	return size
}

// WriteFrame writes a whole frame in one call.
func WriteFrame(w io.Writer, t Type, payload []byte) error {
	_, err := w.Write(AppendFrame(make([]byte, 0, len(payload)+6), t, payload))
	return err
}

// ReadFrame reads one frame whose payload has at most limit bytes. It returns io.EOF only between
// two frames.
func ReadFrame(r *bufio.Reader, limit int) (Type, []byte, error) {
	t, err := r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, nil, noEOF(err)
	}
	if n > uint64(limit) {
		return 0, nil, fmt.Errorf("%w: frame type %d of %d bytes, at most %d", ErrMalformed, t, n, limit)
	}
	payload, err := readN(r, int(n))
	return Type(t), payload, err
}

// readN reads n bytes and allocates as they come. So a length alone costs the receiver at most 64
// KiB.
func readN(r io.Reader, n int) ([]byte, error) {
	const step = 64 << 10
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		have := len(b)
		grow := min(n-have, max(step, have))
		b = slices.Grow(b, grow)[:have+grow]
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return b, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
