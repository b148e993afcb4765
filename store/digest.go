package store

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Fanout is the number of buckets at each of the two levels of a digest.
const Fanout = 64

// Digest is an additive checksum of a set of (key, hash) pairs: the sum modulo 2^128 of a hash of
// each pair. Adding and removing an entry is O(1), and two sets with equal digests are equal but
// for a chance of about n/2^128.
type Digest struct{ Hi, Lo uint64 }

// Add puts one entry into the set.
func (d *Digest) Add(k Key, h Hash) { d.add(pairSum(k, h)) }

// Remove takes one entry out of the set.
func (d *Digest) Remove(k Key, h Hash) { d.sub(pairSum(k, h)) }

func (d *Digest) sub(p Digest) {
	var borrow uint64
	d.Lo, borrow = bits.Sub64(d.Lo, p.Lo, 0)
	d.Hi, _ = bits.Sub64(d.Hi, p.Hi, borrow)
}

// Merge adds all of another set, which must be disjoint from this one.
func (d *Digest) Merge(o Digest) { d.add(o) }

func (d *Digest) add(p Digest) {
	var carry uint64
	d.Lo, carry = bits.Add64(d.Lo, p.Lo, 0)
	d.Hi, _ = bits.Add64(d.Hi, p.Hi, carry)
}

// usualKey is what all but few keys take at most; it needs no memory of its own.
const usualKey = 256

func pairSum(k Key, h Hash) Digest {
	var room [usualKey + len(h)]byte
	b := sha256.Sum256(append(k.AppendTo(room[:0]), h[:]...))
	return Digest{Hi: binary.BigEndian.Uint64(b[:]), Lo: binary.BigEndian.Uint64(b[8:])}
}

// Bucket returns the two bucket numbers of a key, each in [0, Fanout).
func Bucket(k Key) (outer, inner int) {
	var room [usualKey]byte
	b := sha256.Sum256(k.AppendTo(room[:0]))
	return int(b[0]) % Fanout, int(b[1]) % Fanout
}

// KeyHash is one member of a digested set.
type KeyHash struct {
	Key  Key
	Hash Hash
}

// Digested is a set of entries that can be compared with another one in three rounds: the root, the
// buckets that differ, the members of the inner buckets that differ. A sender's Feed and a
// receiver's Sink both are.
type Digested interface {
	// Root is the digest over all live entries.
	Root() Digest
	// Outer returns the digest of each outer bucket.
	Outer() ([Fanout]Digest, error)
	// Inner returns the digest of each inner bucket of one outer bucket.
	Inner(outer int) ([Fanout]Digest, error)
	// Members returns the live entries of one inner bucket, in any order.
	Members(outer, inner int) ([]KeyHash, error)
}
