package kine

import (
	"strings"
	"sync"
)

// A Watermark is the revision of the newest write below one prefix of keys. A cache that has all
// changes up to it has every acknowledged write below the prefix, and can answer as of now without
// asking the database. It works because this process is the only writer of its file.
type Watermark struct {
	prefix string

	mu       sync.Mutex
	revision int64
	// unsure is set while it is not known whether a write took place: the disk refused to make it
	// durable.
	unsure bool
}

// Revision returns the watermark, 0 if nothing was written since Store.Watermark. ok is false while
// it is not known whether a write took place.
func (w *Watermark) Revision() (revision int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.revision, !w.unsure
}

// note takes the outcome of a write. They come in the order of revisions, so a later one that took
// place settles what an earlier one left open.
func (w *Watermark) note(o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case o.written:
		w.revision, w.unsure = max(w.revision, o.revision), false
	case o.unsure:
		w.unsure = true
	}
}

// outcome is what is known of a write when it is answered.
type outcome struct {
	revision        int64
	written, unsure bool
}

// watermarks are those that were asked for, by prefix.
type watermarks struct {
	mu  sync.RWMutex
	all map[string]*Watermark
}

// get returns the watermark of a prefix, which ends with a slash.
func (m *watermarks) get(prefix string) *Watermark {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]*Watermark{}
	}
	if m.all[prefix] == nil {
		m.all[prefix] = &Watermark{prefix: prefix}
	}
	return m.all[prefix]
}

// note tells every watermark above a key what became of a write.
func (m *watermarks) note(key string, o outcome) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i := range key {
		if key[i] == '/' {
			if w := m.all[key[:i+1]]; w != nil {
				w.note(o)
			}
		}
	}
}

// Watermark returns the watermark of a prefix of keys, from now on. In a shared database it is
// never ok, because others write, too.
func (s *Store) Watermark(prefix string) *Watermark {
	if s.file == nil {
		return &Watermark{prefix: prefix, unsure: true}
	}
	return s.file.marks.get(strings.TrimSuffix(prefix, "/") + "/")
}
