package compress

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Bounds of a decoder, which hold whatever the bytes say.
const (
	// MaxDecoded is the most that one frame may decode to. A frame is decoded into one piece of memory that is its window too.
	MaxDecoded = 4 << 20
	// encoderWindow is how far back an encoder looks; it keeps that much memory.
	encoderWindow = 128 << 10
)

// ErrFrame is returned for bytes that are no frame, need another dictionary, or decode to more than allowed.
var ErrFrame = errors.New("invalid compressed frame")

//go:embed dictionary.bin
var dictionary []byte

// DictionaryName is the hex of the first 8 bytes of the dictionary's SHA-256. Peers and files name it.
func DictionaryName() string {
	h := sha256.Sum256(dictionary)
	return hex.EncodeToString(h[:8])
}

// Codec compresses and decompresses single frames. It may be used concurrently; it keeps one encoder and one decoder, so that
// its memory does not grow with the number of users.
type Codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// Default returns the Codec of this process. It is made at first use and lives for ever. Tests in a testing/synctest bubble call it
// once outside first: what is made in a bubble cannot be used in another.
func Default() *Codec { return shared() }

// shared has no state that a user could see: each call of a Codec stands for itself.
var shared = sync.OnceValue(func() *Codec {
	c, err := New()
	if err != nil {
		panic(fmt.Sprintf("compress: the embedded dictionary is broken: %v", err)) // held by a test
	}
	return c
})

// New returns a Codec of its own.
func New() (*Codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderDict(dictionary), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(encoderWindow),
		zstd.WithSingleSegment(true)) // so that every frame says its size
	if err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderDicts(dictionary), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(MaxDecoded), zstd.WithDecoderMaxWindow(MaxDecoded))
	if err != nil {
		return nil, fmt.Errorf("make decoder: %w", err)
	}
	c := &Codec{enc: enc, dec: dec}
	// Both make their tables at first use. Do it here, so that a broken dictionary is found and no user pays for it.
	if _, err := c.Decode(nil, c.Encode(nil, []byte("{}")), 2); err != nil {
		return nil, err
	}
	return c, nil
}

// Encode appends the compressed form of src to dst.
func (c *Codec) Encode(dst, src []byte) []byte { return c.enc.EncodeAll(src, dst) }

// Decode appends the original of a frame to dst. A frame that would give more than limit bytes (and at most MaxDecoded) is
// ErrFrame, and is refused before anything of that size is allocated.
func (c *Codec) Decode(dst, src []byte, limit int) ([]byte, error) {
	limit = min(limit, MaxDecoded)
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if !h.HasFCS || h.FrameContentSize > uint64(limit) {
		return dst, fmt.Errorf("%w: content of %d bytes (known: %t), at most %d", ErrFrame, h.FrameContentSize, h.HasFCS, limit)
	}
	if h.Skippable {
		return dst, fmt.Errorf("%w: a skippable frame", ErrFrame)
	}
	out, err := c.dec.DecodeAll(src, dst)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if len(out)-len(dst) != int(h.FrameContentSize) {
		return dst, fmt.Errorf("%w: %d bytes of content instead of %d", ErrFrame, len(out)-len(dst), h.FrameContentSize)
	}
	return out, nil
}
