package mux

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"skerry.dev/skerry/tunnel"
)

// A frame is its type (1 byte) and fields as unsigned varints; Data and Close end with as many
// bytes as the last field says.
const (
	frameData   byte = iota + 1 // stream, length, bytes. The first frame of a stream opens it
	frameEnd                    // stream: no more data comes on it
	frameReset                  // stream: both halves are given up
	frameCredit                 // stream, or 0 for the connection; how many more bytes may be sent
	framePing                   // is answered by Pong
	framePong
	frameClose // code, length, text: why the connection ends
)

// Limits of a frame, checked before anything is read into memory.
const (
	maxData   = 16 << 10
	sentData  = maxData - 16 // what a frame carries that this side sends: with its head one TLS record
	maxReason = 256
	maxNumber = 1<<31 - 1
)

// errFrame ends a connection with a frame that breaks a limit or has no known type.
var errFrame = fmt.Errorf("%w: a frame that is none", tunnel.ErrProtocol)

// frame is the head of a frame. What Data and Close carry follows it in the reader.
type frame struct {
	kind   byte
	stream uint32 // for Close: the code
	value  int    // credit, or the length of what follows
}

// append encodes the head behind b.
func (f frame) append(b []byte) []byte {
	b = append(b, f.kind)
	switch f.kind {
	case frameEnd, frameReset:
		b = binary.AppendUvarint(b, uint64(f.stream))
	case frameData, frameCredit, frameClose:
		b = binary.AppendUvarint(b, uint64(f.stream))
		b = binary.AppendUvarint(b, uint64(f.value))
	}
	return b
}

// readFrame reads one head. It returns io.EOF only before the first byte.
func readFrame(r *bufio.Reader) (f frame, err error) {
	if f.kind, err = r.ReadByte(); err != nil {
		return f, err
	}
	fields, limit := 2, uint64(maxNumber)
	switch f.kind {
	case frameData:
		limit = maxData
	case frameClose:
		limit = maxReason
	case frameCredit:
	case frameEnd, frameReset:
		fields = 1
	case framePing, framePong:
		return f, nil
	default:
		return f, fmt.Errorf("%w: type %d", errFrame, f.kind)
	}
	number, err := readNumber(r, maxNumber)
	if err != nil {
		return f, err
	}
	f.stream = uint32(number)
	if fields == 2 {
		number, err = readNumber(r, limit)
		f.value = int(number)
	}
	return f, err
}

// readNumber reads a varint of at most five bytes.
func readNumber(r *bufio.Reader, limit uint64) (n uint64, err error) {
	for shift := 0; shift <= 28; shift += 7 {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF
		} else if err != nil {
			return 0, err
		}
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			if n > limit {
				return 0, fmt.Errorf("%w: %d is more than %d", errFrame, n, limit)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: a number without an end", errFrame)
}

// size is how many bytes the frame has, with what follows its head.
func (f frame) size() int {
	var head [1 + 2*binary.MaxVarintLen32]byte
	n := len(f.append(head[:0]))
	if f.kind == frameData || f.kind == frameClose {
		n += f.value
	}
	return n
}
