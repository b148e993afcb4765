package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"skerry.dev/skerry/server/placement"
)

// shortAbove is the number of targets above which a derived annotation names only their count and a
// key.
const shortAbove = 8

// set is an interned list of targets, in order: two equal lists are one pointer. Nil is the empty
// list. Thousands of objects share a few.
type set struct {
	names []string
	text  string
}

// sets interns.
type sets map[string]*set

func (s sets) of(names []string) *set {
	if len(names) == 0 {
		return nil
	}
	return s.parse(placement.Join(names))
}

// parse interns an annotation. The short form has no names.
func (s sets) parse(text string) *set {
	if text == "" {
		return nil
	}
	if e, ok := s[text]; ok {
		return e
	}
	e := &set{names: placement.Split(text), text: text}
	s[text] = e
	return e
}

func (s sets) union(a, b *set) *set {
	if a == b || b.len() == 0 {
		return a
	}
	if a.len() == 0 {
		return b
	}
	return s.of(placement.Union(a.names, b.names))
}

// minus returns a's targets that are not in b.
func (s sets) minus(a, b *set) *set {
	if a == b || a.len() == 0 {
		return nil
	}
	var out []string
	for _, n := range a.names {
		if !b.has(n) {
			out = append(out, n)
		}
	}
	return s.of(out)
}

func (s *set) len() int {
	if s == nil {
		return 0
	}
	return len(s.names)
}

func (s *set) list() []string {
	if s == nil {
		return nil
	}
	return s.names
}

func (s *set) has(name string) bool {
	for _, n := range s.list() {
		if n == name {
			return true
		}
	}
	return false
}

// record is the annotation of a record: all names.
func (s *set) record() string {
	if s == nil {
		return ""
	}
	return s.text
}

// derived is the annotation of an object that follows a record.
func (s *set) derived() string {
	if s.len() <= shortAbove {
		return s.record()
	}
	sum := sha256.Sum256([]byte(s.text))
	return strconv.Itoa(len(s.names)) + ":" + hex.EncodeToString(sum[:4])
}
