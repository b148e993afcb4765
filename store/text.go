package store

import (
	"encoding/hex"
	"fmt"
)

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return fmt.Errorf("read hash: %d digits instead of %d", len(b), 2*len(h))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// MarshalText writes the incarnation in hex.
func (i Incarnation) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (i *Incarnation) UnmarshalText(b []byte) error { return (*Hash)(i).UnmarshalText(b) }
