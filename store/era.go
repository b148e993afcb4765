package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Era is the random name of one run of a sender on its data: each start begins another one, and a
// restored backup does not know those that began after it was taken. Zero means that the sender has
// no eras.
type Era uint64

// NewEra returns a random era.
func NewEra() Era {
	for {
		if e := Era(rand.Uint64()); e != 0 {
			return e
		}
	}
}

// Eras are what a sender remembers of its past, oldest first; the last one is that of now.
type Eras []EraStart

// EraStart is where an era began: From is the newest revision of the data at that moment.
type EraStart struct {
	Era  Era
	From int64
}

// NotShared is the answer of Eras.Shared for a history that is not known at all: less than any
// revision.
const NotShared int64 = -2

// Current is the era of now, 0 where there are no eras.
func (e Eras) Current() Era {
	if len(e) == 0 {
		return 0
	}
	return e[len(e)-1].Era
}

// Shared tells how far the history of a receiver in the given era is the history of this sender,
// whose newest revision is head. What a receiver in that era has beyond it comes from other data:
// another run went on after the backup was taken that this sender was restored from.
func (e Eras) Shared(era Era, head int64) int64 {
	if era == 0 || len(e) == 0 {
		return head
	}
	for i := len(e) - 1; i >= 0; i-- {
		if e[i].Era != era {
			continue
		}
		if i == len(e)-1 {
			return head
		}
		return min(head, e[i+1].From)
	}
	return NotShared
}

// MarshalText is the whole position, "incarnation/era@revision", where String is short.
func (p Position) MarshalText() ([]byte, error) {
	era := binary.BigEndian.AppendUint64(nil, uint64(p.Era))
	return fmt.Appendf(nil, "%s/%x@%d", p.Incarnation, era, p.Revision), nil
}

// UnmarshalText is the inverse of MarshalText.
func (p *Position) UnmarshalText(text []byte) error {
	incarnation, rest, _ := strings.Cut(string(text), "/")
	era, revision, ok := strings.Cut(rest, "@")
	var out Position
	err := out.Incarnation.UnmarshalText([]byte(incarnation))
	n, eraErr := strconv.ParseUint(era, 16, 64)
	out.Era = Era(n)
	var revErr error
	out.Revision, revErr = strconv.ParseInt(revision, 10, 64)
	if !ok || err != nil || eraErr != nil || revErr != nil {
		return fmt.Errorf("position %.80q is not of the form incarnation/era@revision", text)
	}
	*p = out
	return nil
}
