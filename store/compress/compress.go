package compress

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Bounds of a decoder, which hold whatever the bytes say.
const (
	// MaxDecoded is the most that one frame may decode to. A frame is decoded into one piece of
	// memory that is its window too.
	MaxDecoded = 4 << 20
	// encoderWindow is how far back an encoder looks; it keeps that much memory.
	encoderWindow = 128 << 10
)

// ErrFrame is returned for bytes that are no frame, need another dictionary, or decode to more than
// allowed.
var ErrFrame = errors.New("invalid compressed frame")

//go:embed dictionary.bin
var dictionary []byte

// DictionaryName is the hex of the first 8 bytes of the dictionary's SHA-256. Peers and files name
// it.
func DictionaryName() string {
	h := sha256.Sum256(dictionary)
	return hex.EncodeToString(h[:8])
}

// Codec compresses and decompresses single frames. It may be used concurrently; it keeps one
// encoder and one decoder, so that its memory does not grow with the number of users.
type Codec struct {
	level  zstd.EncoderLevel
	making sync.Mutex
	tools  atomic.Pointer[tools] // nil while the codec rests
	// scratch has *[]byte that frames are made in: the encoder asks for some times the room that a
	// small frame needs in the end.
	scratch sync.Pool
}

// tools are what a Codec works with: about 1 MB.
type tools struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// maxScratch is the largest piece of scratch that is kept.
const maxScratch = 64 << 10

// Default returns the Codec of this process. It is made at first use and lives for ever. Tests in a
// testing/synctest bubble call it once outside first: what is made in a bubble cannot be used in
// another; of Thorough they encode something.
func Default() *Codec { return shared() }

// shared has no state that a user could see: each call of a Codec stands for itself.
var shared = sync.OnceValue(func() *Codec {
	c, err := New()
	if err != nil {
		panic(broken(err))
	}
	return c
})

// broken is said when the embedded dictionary cannot be used, which a test rules out.
func broken(err error) string {
	return fmt.Sprintf("compress: the embedded dictionary is broken: %v", err)
}

// Thorough returns the Codec of this process whose frames are smaller by an eighth, in about three
// times the time: it is for what is compressed once and sent to many. It rests until its first use;
// awake it holds 9 MB, so that it is not for an agent. Like Default it lives for ever.
func Thorough() *Codec { return thorough() }

var thorough = sync.OnceValue(func() *Codec { return asleep(zstd.SpeedBetterCompression) })

// New returns a Codec of its own.
func New() (*Codec, error) { return newCodec(zstd.SpeedFastest) }

func newCodec(level zstd.EncoderLevel) (*Codec, error) {
	t, err := newTools(level)
	if err != nil {
		return nil, err
	}
	c := asleep(level)
	c.tools.Store(t)
	// Both make their tables at first use. Do it here, so that a broken dictionary is found and no
	// user pays for it.
	if _, err := c.Decode(nil, c.Encode(nil, []byte("{}")), 2); err != nil {
		return nil, err
	}
	return c, nil
}

// asleep returns a Codec that rests.
func asleep(level zstd.EncoderLevel) *Codec {
	return &Codec{level: level, scratch: sync.Pool{New: func() any { return new([]byte) }}}
}

func newTools(level zstd.EncoderLevel) (*tools, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderDict(dictionary), zstd.WithEncoderLevel(level),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(encoderWindow),
		zstd.WithSingleSegment(true)) // so that every frame says its size
	if err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderDicts(dictionary),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(MaxDecoded), zstd.WithDecoderMaxWindow(MaxDecoded))
	if err != nil {
		return nil, fmt.Errorf("make decoder: %w", err)
	}
	return &tools{enc, dec}, nil
}

// ReleaseMemory lets go of the memory that the codec works with. The next use takes it again, which
// costs about a millisecond.
func (c *Codec) ReleaseMemory() { c.tools.Store(nil) }

func (c *Codec) wake() *tools {
	if t := c.tools.Load(); t != nil {
		return t
	}
	c.making.Lock()
	defer c.making.Unlock()
	if t := c.tools.Load(); t != nil {
		return t
	}
	t, err := newTools(c.level)
	if err != nil {
		panic(broken(err))
	}
	c.tools.Store(t)
	return t
}

// Encode appends the compressed form of src to dst. Without dst it returns a slice that is hardly
// larger than the frame, to be kept.
func (c *Codec) Encode(dst, src []byte) []byte {
	enc := c.wake().enc
	if cap(dst) > 0 || len(src) == 0 {
		return enc.EncodeAll(src, dst)
	}
	scratch := c.scratch.Get().(*[]byte)
	frame := enc.EncodeAll(src, (*scratch)[:0])
	if cap(frame) <= maxScratch {
		*scratch = frame
		defer c.scratch.Put(scratch)
	}
	return bytes.Clone(frame)
}

// Decode appends the original of a frame to dst. A frame that would give more than limit bytes (and
// at most MaxDecoded) is ErrFrame, and is refused before anything of that size is allocated.
func (c *Codec) Decode(dst, src []byte, limit int) ([]byte, error) {
	limit = min(limit, MaxDecoded)
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if !h.HasFCS || h.FrameContentSize > uint64(limit) {
		return dst, fmt.Errorf("%w: content of %d bytes (known: %t), at most %d", ErrFrame,
			h.FrameContentSize, h.HasFCS, limit)
	}
	if h.Skippable {
		return dst, fmt.Errorf("%w: a skippable frame", ErrFrame)
	}
	out, err := c.wake().dec.DecodeAll(src, dst)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if len(out)-len(dst) != int(h.FrameContentSize) {
		return dst, fmt.Errorf("%w: %d bytes of content instead of %d", ErrFrame, len(out)-len(dst),
			h.FrameContentSize)
	}
	return out, nil
}
