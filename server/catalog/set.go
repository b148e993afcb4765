package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"weak"

	"skerry.dev/skerry/server/placement"
)

// shortAbove is the number of targets above which a derived annotation names only their count and a
// key.
const shortAbove = 8

// Set is an interned list of targets, in order: two equal lists are one pointer. Nil is the empty
// list. Thousands of objects share a few.
type Set struct {
	Names []string
	text  string
}

// sets interns. It keeps no set that nothing else has: over the months far more of them come and go than
// there are at any time.
type sets struct {
	known map[string]weak.Pointer[Set]
	limit int // of known, before the next sweep
}

// leastSets is how many sets are known before the first sweep.
const leastSets = 1000

func newSets() sets { return sets{known: map[string]weak.Pointer[Set]{}, limit: leastSets} }

// Of interns a list of names, which is sorted and has no name twice.
func (s *sets) Of(names []string) *Set {
	if len(names) == 0 {
		return nil
	}
	return s.Parse(placement.Join(names))
}

// Parse interns an annotation. The short form has no names.
func (s *sets) Parse(text string) *Set {
	if text == "" {
		return nil
	}
	if e := s.known[text].Value(); e != nil {
		return e
	}
	e := &Set{Names: placement.Split(text), text: text}
	s.known[text] = weak.Make(e)
	if len(s.known) > s.limit {
		maps.DeleteFunc(s.known, func(_ string, e weak.Pointer[Set]) bool { return e.Value() == nil })
		s.limit = max(leastSets, 2*len(s.known))
	}
	return e
}

// Union returns the targets that are in any of two sets.
func (s *sets) Union(a, b *Set) *Set {
	if a == b || b.Len() == 0 {
		return a
	}
	if a.Len() == 0 {
		return b
	}
	return s.Of(placement.Union(a.Names, b.Names))
}

// Minus returns a's targets that are not in b.
func (s *sets) Minus(a, b *Set) *Set {
	if a == b || a.Len() == 0 {
		return nil
	}
	var out []string
	for _, n := range a.Names {
		if !b.Has(n) {
			out = append(out, n)
		}
	}
	return s.Of(out)
}

// Both returns a's targets that are in b.
func (s *sets) Both(a, b *Set) *Set { return s.Minus(a, s.Minus(a, b)) }

// Len is how many targets it has.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.Names)
}

// List returns the names. The caller must not change them.
func (s *Set) List() []string {
	if s == nil {
		return nil
	}
	return s.Names
}

// Has reports whether it has a target.
func (s *Set) Has(name string) bool {
	for _, n := range s.List() {
		if n == name {
			return true
		}
	}
	return false
}

// Record is the annotation of a record: all names.
func (s *Set) Record() string {
	if s == nil {
		return ""
	}
	return s.text
}

// Derived is the annotation of an object that follows a record.
func (s *Set) Derived() string {
	if s.Len() <= shortAbove {
		return s.Record()
	}
	sum := sha256.Sum256([]byte(s.text))
	return strconv.Itoa(len(s.Names)) + ":" + hex.EncodeToString(sum[:4])
}
