package mover

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// answer sends what the receiver needs until that has acknowledged.
func (s *sending) answer() error {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(blockSize))
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	a := &answering{sending: s, packer: packer, block: make([]byte, blockSize)}
	for {
		kind, payload, err := s.wire.next()
		switch {
		case err != nil:
			return err
		case kind == frameNeed:
			err = a.need(payload)
		case kind == frameAck:
			return s.acknowledged(payload)
		case kind == frameError:
			return refusal(payload)
		default:
			err = fmt.Errorf("%w: a frame of kind %q", ErrProtocol, kind)
		}
		if err != nil {
			return err
		}
	}
}

// answering is the goroutine of a sender that sends blocks.
type answering struct {
	*sending
	packer        *zstd.Encoder
	block, packed []byte
}

// need sends the blocks of a segment that the receiver lacks.
func (a *answering) need(payload []byte) error {
	f := &fields{rest: payload}
	seq, index, lacks := f.number(), f.number(), f.bytes(segmentBlocks/8)
	if err := f.whole("an answer"); err != nil {
		return err
	}
	var of asked
	select {
	case of = <-a.pending:
	default:
		return fmt.Errorf("%w: it answers what it was not asked", ErrProtocol)
	}
	if of.last {
		defer of.file.Close()
	}
	if of.seq != seq || uint64(of.index) != index {
		return fmt.Errorf("%w: it answers segment %d of file %d, not %d of %d", ErrProtocol, index, seq, of.index, of.seq)
	}
	for i := range blocksIn(of.size, of.index) {
		if lacks[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if err := a.send(of, of.index*segmentBlocks+int64(i)); err != nil {
			return err
		}
	}
	return a.wire.flush()
}

func (a *answering) send(of asked, block int64) error {
	b, err := readBlock(of.file, of.size, block, a.block)
	if err != nil {
		return err
	}
	a.packed = a.packer.EncodeAll(b, a.packed[:0])
	a.sent.Add(int64(len(b)))
	head := binary.AppendUvarint(binary.AppendUvarint(nil, of.seq), uint64(block))
	return a.wire.send(frameBlock, head, a.packed)
}

// acknowledged takes over what the receiver says at the end.
func (s *sending) acknowledged(payload []byte) error {
	f := &fields{rest: payload}
	copy(s.acked[:], f.bytes(sha256.Size))
	s.unkept = readNames(f)
	return f.whole("an acknowledgement")
}

// The errors of a receiver that a sender tells apart.
const (
	refusedStale = "stale"
	refusedOther = "other"
)

func encodeRefusal(err error) []byte {
	kind := refusedOther
	if errors.Is(err, ErrStale) {
		kind = refusedStale
	}
	text := strings.ToValidUTF8(err.Error(), "?")
	return appendText(appendText(nil, kind), text[:min(len(text), maxPath)])
}

func refusal(payload []byte) error {
	f := &fields{rest: payload}
	kind, text := f.text(maxName), f.text(maxPath)
	if err := f.whole("a refusal"); err != nil {
		return err
	}
	if kind == refusedStale {
		return fmt.Errorf("%w: %s", ErrStale, text)
	}
	return fmt.Errorf("the other side: %s", text)
}

func appendNames(b []byte, n Names) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(n.Count)), uint64(len(n.First)))
	for _, name := range n.First {
		b = appendText(b, name)
	}
	return b
}

func readNames(f *fields) (n Names) {
	n.Count = f.size()
	count := f.number()
	if count > maxNamed {
		f.bad = true
		return Names{}
	}
	for range count {
		n.First = append(n.First, f.text(2*maxPath))
	}
	return n
}
