package rollout

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"skerry.dev/skerry/store"
)

// MaxContent is how large a content may be before it is compressed, in bytes.
const MaxContent = 32 << 20

// Content is what a release has: objects in the order of their keys.
type Content struct {
	Objects []Object `json:"objects"`
}

// Object is one object of a release, as it is sent.
type Object struct {
	Key        store.Key `json:"key"`
	UID        string    `json:"uid"`
	Generation int64     `json:"generation"`
	// Digest is that of what of the object makes a release.
	Digest uint64 `json:"digest"`
	// Replicas that the object asks for.
	Replicas int64 `json:"replicas,omitempty"`
	// Joined: it was placed before it came to the unit. Targets whose release is older than the first one
	// that has it do not lose it.
	Joined bool            `json:"joined,omitempty"`
	Body   json.RawMessage `json:"body"`
}

// Sum is the digest of objects by their keys, UIDs and digests, in any order.
func Sum(objects []Object) (sum uint64) {
	for _, o := range objects {
		h := fnv.New64a()
		h.Write([]byte(o.Key.Encode() + "\x00" + o.UID + "\x00"))
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], o.Digest)
		h.Write(b[:])
		sum += h.Sum64()
	}
	return sum
}

// Pack returns the stored form. It returns ErrTooLarge for a content that does not fit into a value of the
// store.
func (c Content) Pack() ([]byte, error) {
	slices.SortFunc(c.Objects, func(a, b Object) int { return strings.Compare(a.Key.Encode(), b.Key.Encode()) })
	raw, err := json.Marshal(c)
	if err == nil && len(raw) > MaxContent {
		err = fmt.Errorf("%d bytes: %w", len(raw), ErrTooLarge)
	}
	if err != nil {
		return nil, fmt.Errorf("pack release: %w", err)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return nil, fmt.Errorf("pack release: %w", err)
	}
	packed := w.EncodeAll(raw, nil)
	if len(packed) > MaxStored {
		return nil, fmt.Errorf("pack release: %d bytes: %w", len(packed), ErrTooLarge)
	}
	return packed, nil
}

// Unpack reads the stored form. It returns ErrStored for what is none.
func Unpack(packed []byte) (c Content, err error) {
	var h zstd.Header
	switch err := h.Decode(packed); {
	case len(packed) > MaxStored:
		return c, fmt.Errorf("%w: it is longer than 1 MiB", ErrStored)
	case err != nil:
		return c, fmt.Errorf("%w: %w", ErrStored, err)
	case h.HasFCS && h.FrameContentSize > MaxContent: // a small one does not say it; the reader has a limit, too
		return c, fmt.Errorf("%w: its content is larger than 32 MiB", ErrStored)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxContent))
	if err != nil {
		return c, fmt.Errorf("unpack release: %w", err)
	}
	defer r.Close()
	raw, err := r.DecodeAll(packed, nil)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrStored, err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Content{}, fmt.Errorf("%w: %w", ErrStored, err)
	}
	return c, nil
}
