package storetest

import (
	"context"
	"fmt"
	"sync"

	"skerry.dev/skerry/store"
)

// Memory is a Sink that keeps everything in a map: for tests, and as the plainest statement of what
// a Sink does.
type Memory struct {
	// AcceptNewIncarnation is as in bolt.SinkOptions. Set it before use.
	AcceptNewIncarnation bool
	// KeepRemoved is as in bolt.SinkOptions. Set it before use.
	KeepRemoved bool
	// DropRemoved is as in bolt.SinkOptions. Set it before use.
	DropRemoved bool
	// OnCommit is called with every batch that was stored. Set it before use.
	OnCommit func(store.Batch)

	mu       sync.Mutex
	position store.Position
	entries  map[store.Key]store.Entry
	fresh    map[store.Key]bool // written in this incarnation
}

var _ store.Sink = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{entries: map[store.Key]store.Entry{}, fresh: map[store.Key]bool{}}
}

// Position implements store.Sink.
func (m *Memory) Position() store.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.position
}

// Admit implements store.Sink.
func (m *Memory) Admit(head store.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.admitLocked(head)
}

func (m *Memory) admitLocked(head store.Position) error {
	have := m.position
	if have.Incarnation.IsZero() {
		return nil
	}
	if head.Incarnation != have.Incarnation && !m.AcceptNewIncarnation ||
		head.Incarnation == have.Incarnation && head.Revision < have.Revision {
		return fmt.Errorf("%w: it is at %s, the copy at %s", store.ErrRegressed, head, have)
	}
	return nil
}

// Accept implements store.Sink.
func (m *Memory) Accept(head store.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.position = store.Position{Incarnation: head.Incarnation, Era: head.Era,
		Revision: store.Comparing}
	m.fresh = map[store.Key]bool{}
	return nil
}

// Commit implements store.Sink.
func (m *Memory) Commit(ctx context.Context, b store.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.commit(b); err != nil {
		return err
	}
	if m.OnCommit != nil {
		m.OnCommit(b)
	}
	return nil
}

func (m *Memory) commit(b store.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.admitLocked(b.Through); err != nil {
		return err
	}
	if b.Through.Incarnation != m.position.Incarnation {
		m.fresh = map[store.Key]bool{}
	}
	m.position = b.Through
	var gone []store.Key
	for _, e := range b.Entries {
		old, known := m.entries[e.Key]
		same := known && old.Hash == e.Hash && old.Removal == e.Removal &&
			old.Intended == e.Intended
		if !known && e.Tombstone || same || known && m.fresh[e.Key] && e.Revision < old.Revision {
			continue
		}
		if e.Tombstone && m.KeepRemoved {
			e.Body = old.Body
		}
		if m.entries[e.Key], m.fresh[e.Key] = e, true; e.Tombstone && m.DropRemoved {
			gone = append(gone, e.Key)
		}
	}
	for _, k := range gone {
		if m.entries[k].Tombstone {
			delete(m.entries, k)
			delete(m.fresh, k)
		}
	}
	return nil
}

// Get returns what is stored under a key.
func (m *Memory) Get(k store.Key) (store.Entry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[k]
	return e, ok, nil
}

// Live returns the hashes of all live entries.
func (m *Memory) Live() map[store.Key]store.Hash {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[store.Key]store.Hash{}
	for k, e := range m.entries {
		if !e.Tombstone {
			out[k] = e.Hash
		}
	}
	return out
}

// Root implements store.Digested.
func (m *Memory) Root() store.Digest {
	var d store.Digest
	for k, h := range m.Live() {
		d.Add(k, h)
	}
	return d
}

// Outer implements store.Digested.
func (m *Memory) Outer() ([store.Fanout]store.Digest, error) {
	var out [store.Fanout]store.Digest
	for k, h := range m.Live() {
		outer, _ := store.Bucket(k)
		out[outer].Add(k, h)
	}
	return out, nil
}

// Inner implements store.Digested.
func (m *Memory) Inner(outer int) ([store.Fanout]store.Digest, error) {
	var out [store.Fanout]store.Digest
	for k, h := range m.Live() {
		if o, in := store.Bucket(k); o == outer {
			out[in].Add(k, h)
		}
	}
	return out, nil
}

// Members implements store.Digested.
func (m *Memory) Members(outer, inner int) ([]store.KeyHash, error) {
	var out []store.KeyHash
	for k, h := range m.Live() {
		if o, in := store.Bucket(k); o == outer && in == inner {
			out = append(out, store.KeyHash{Key: k, Hash: h})
		}
	}
	return out, nil
}

// Lose drops a key as damage would: the position stays.
func (m *Memory) Lose(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, k)
}
