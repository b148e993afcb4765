package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
)

// MaxBodyBytes is the greatest size of one object's body, uncompressed (the limit of the Kubernetes
// API). MaxObjectBytes is what users may write of that: the rest is for what rendering adds, at
// each tier.
const (
	MaxBodyBytes   = 1536 << 10
	MaxObjectBytes = MaxBodyBytes - 64<<10
)

// Hash is the first 16 bytes of the SHA-256 over an entry's generation and body. A tombstone has
// the zero Hash.
type Hash [16]byte

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashBody returns the Hash of an entry with this generation and body. The generation is part of
// it, so that a receiver always knows which generation of the source it holds, even when the
// content went back and forth.
func HashBody(generation int64, body []byte) Hash {
	h := sha256.New()
	var g [8]byte
	binary.BigEndian.PutUint64(g[:], uint64(generation))
	h.Write(g[:])
	h.Write(body)
	var sum [sha256.Size]byte
	return Hash(h.Sum(sum[:0]))
}

// HashReport is HashBody of a Report's JSON with its last member, the time, left out. json.Marshal
// writes it last.
func HashReport(generation int64, body []byte) Hash {
	return HashBody(generation, withoutTime(body))
}

// withoutTime cuts `,"at":<digits>` off the end of a JSON object. Anything else is returned as it
// is.
func withoutTime(body []byte) []byte {
	i := bytes.LastIndex(body, []byte(`,"at":`))
	if i < 0 || body[len(body)-1] != '}' {
		return body
	}
	for _, c := range body[i+len(`,"at":`) : len(body)-1] {
		if c < '0' || c > '9' {
			return body
		}
	}
	return append(slices.Clone(body[:i]), '}')
}

// Priority tells which entries go first where a link is narrow, and which may wait where it is
// dear: the smaller, the more urgent. The zero value is what most entries have.
type Priority int8

// The priorities.
const (
	// PriorityError is a refusal, a failure or a conflict at the target, the end of one, and every
	// tombstone.
	PriorityError Priority = iota - 2
	// PriorityCondition is a status whose conditions say something else than before.
	PriorityCondition
	// PriorityState is a desired object, or the status of one.
	PriorityState
	// PriorityAssociated is an object that belongs to a placed one: a Pod.
	PriorityAssociated
	// PriorityEvent is what happened at the target.
	PriorityEvent
)

// Entry is the last value of one key in a feed, or the order to remove it.
type Entry struct {
	Key Key
	// Revision is the sender's revision of the change. Several entries of one decision share a
	// revision.
	Revision int64
	// Hash is HashBody of the value; zero for a tombstone.
	Hash Hash
	// Generation is metadata.generation of the source object, 0 where the kind has none.
	Generation int64
	// Priority is the sender's; of a received entry only its class is known: PriorityCondition
	// comes as PriorityState.
	Priority Priority
	// Tombstone is the explicit order to delete. Nothing else deletes.
	Tombstone bool
	// Removal says what a tombstone does with the object on the target. It is RemoveDelete in a
	// live entry.
	Removal Removal
	// UnknownBody is true for a key whose object is on the target while its body is unknown: it was
	// lost. Hash then equals no other, so that a comparison asks the sender, and Body is nil.
	UnknownBody bool
	// Intended is true for a tombstone that is no mistake: the object moves to another target, a
	// user deleted it by name, or an admin empties its site. Intended tombstones do not count
	// against a limit of deletions.
	Intended bool
	// Body is the value as canonical JSON. It is nil in a feed's listing (bodies are rendered when
	// sent) and in tombstones on their way; the tombstone in a receiver's copy may still have the
	// value that it removed.
	Body []byte
}

// Incarnation is the random identity of one life of a sender's data. A sender whose data is new, or
// went back, has another incarnation, and a receiver does not obey it until a person says so.
type Incarnation [16]byte

// NewIncarnation returns a random incarnation.
func NewIncarnation() Incarnation {
	var i Incarnation
	rand.Read(i[:]) // never fails, see crypto/rand
	return i
}

// String returns the incarnation in hex.
func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }

// IsZero reports whether no incarnation is known yet.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

// Position is how far a receiver has durably got in a sender's feed, and the era of the sender in
// which it got there.
type Position struct {
	Incarnation Incarnation
	Era         Era
	Revision    int64
}

// String returns incarnation@revision, the incarnation shortened to 8 digits.
func (p Position) String() string { return fmt.Sprintf("%.8s@%d", p.Incarnation, p.Revision) }

// Batch is what one acknowledgement covers: entries of a feed, in the order of application, and the
// revision that the receiver has reached once they are stored. Through is the position before the
// batch when more entries of the same revision are still to come, so that a decision is never half
// reached.
type Batch struct {
	Entries []Entry
	Through Position
	// More is true when it is so.
	More bool
}

// Rank is an entry's place in the order of application: rules, CRDs, Namespaces, everything else,
// then tombstones the other way round.
func (e Entry) Rank() int {
	if e.Tombstone {
		return 2*int(ClassOther) + 1 - int(e.Key.Class())
	}
	return int(e.Key.Class())
}
