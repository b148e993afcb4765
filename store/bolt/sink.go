package bolt

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// SinkOptions say how a Sink treats its sender.
type SinkOptions struct {
	// AcceptNewIncarnation takes a sender with another incarnation as normal (reports of a restarted agent): the copy is compared
	// and goes on. Otherwise it is store.ErrRegressed.
	AcceptNewIncarnation bool
	// KeepRemoved lets a tombstone keep the body that it removes until it is forgotten: who carries it out knows what it was.
	KeepRemoved bool
	// OnCommit is called after a Commit that changed something, with the keys in the order of the batch, before Commit returns.
	OnCommit func(keys []store.Key)
}

// Sink is the durable copy of one feed. It implements store.Sink and is read by the consumer of the copy.
type Sink struct {
	file    *File
	bucket  []byte
	options SinkOptions

	commit sync.Mutex // held for a whole Commit, Forget or Accept
	mu     sync.Mutex // guards state; taken inside commit
	state  state
}

var _ store.Sink = (*Sink)(nil)

// Sink returns the copy with this name, "desired" or "reported"; it is created when it is new. Each name is opened once.
func (f *File) Sink(name string, o SinkOptions) (*Sink, error) {
	if name != "desired" && name != "reported" {
		return nil, fmt.Errorf("open sink: %q is neither desired nor reported", name)
	}
	s := &Sink{file: f, bucket: []byte(name), options: o}
	err := guard(func() error { return f.db.Update(s.load) })
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", name, err)
	}
	return s, nil
}

// Position implements store.Sink.
func (s *Sink) Position() store.Position { return s.snapshot().position }

// Len is the number of live entries.
func (s *Sink) Len() int { return int(s.snapshot().live) }

func (s *Sink) snapshot() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Admit implements store.Sink.
func (s *Sink) Admit(head store.Position) error {
	have := s.Position()
	switch {
	case have.Incarnation.IsZero():
		return nil
	case head.Incarnation != have.Incarnation && !s.options.AcceptNewIncarnation:
		return fmt.Errorf("%w: it is incarnation %s, the copy is of %s", store.ErrRegressed, head.Incarnation, have.Incarnation)
	case head.Incarnation == have.Incarnation && head.Revision < have.Revision:
		return fmt.Errorf("%w: it is at revision %d, the copy at %d", store.ErrRegressed, head.Revision, have.Revision)
	}
	return nil
}

// Accept implements store.Sink.
func (s *Sink) Accept(head store.Position) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	next := s.snapshot()
	next.position = store.Position{Incarnation: head.Incarnation, Era: head.Era, Revision: store.Comparing}
	next.epoch++
	return s.update(next, func(*bbolt.Bucket, *state) error { return nil })
}

// Commit implements store.Sink.
func (s *Sink) Commit(ctx context.Context, b store.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if err := s.Admit(b.Through); err != nil {
		return err
	}
	next := s.snapshot()
	if b.Through.Incarnation != next.position.Incarnation {
		next.epoch++
	}
	next.position = b.Through
	var changed []store.Key
	err := s.update(next, func(bucket *bbolt.Bucket, st *state) error {
		var err error
		changed, err = s.write(bucket, st, b.Entries)
		return err
	})
	if err == nil && len(changed) > 0 && s.options.OnCommit != nil {
		s.options.OnCommit(changed)
	}
	return err
}

// update writes what do changes, and the state, in one transaction; memory follows only after it is durable.
func (s *Sink) update(next state, do func(*bbolt.Bucket, *state) error) error {
	err := guard(func() error {
		return s.file.db.Update(func(tx *bbolt.Tx) error {
			if err := do(tx.Bucket(s.bucket), &next); err != nil {
				return err
			}
			return next.save(tx, s.bucket)
		})
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", s.bucket, err)
	}
	s.mu.Lock()
	s.state = next
	s.mu.Unlock()
	return nil
}

// write stores entries and returns the keys that they changed. Values are put in the order of the bucket, so that each page is
// written once.
func (s *Sink) write(bucket *bbolt.Bucket, st *state, entries []store.Entry) ([]store.Key, error) {
	type put struct{ key, value []byte }
	var puts []put
	var changed []store.Key
	pending := map[store.Key]record{}
	for _, e := range entries {
		key := entryKey(e.Key)
		old, known := pending[e.Key]
		if !known {
			var err error
			if old, known, err = get(bucket, key); err != nil {
				return nil, err
			}
		}
		if !supersedes(e, old, known, st.epoch) {
			continue
		}
		if known && !old.Tombstone {
			st.remove(old.Entry)
		}
		if !e.Tombstone {
			st.add(e)
		}
		var r record
		if e.Tombstone {
			r = newTombstone(e, st.epoch, old, s.options.KeepRemoved)
		} else {
			r = s.file.newRecord(e, st.epoch)
		}
		pending[e.Key] = r
		puts = append(puts, put{key, r.encode()})
		changed = append(changed, e.Key)
	}
	slices.SortStableFunc(puts, func(a, b put) int { return slices.Compare(a.key, b.key) })
	for _, p := range puts {
		if err := bucket.Put(p.key, p.value); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// supersedes tells whether an entry changes what is stored under its key. Revisions of another epoch do not compare.
func supersedes(e store.Entry, old record, known bool, epoch uint64) bool {
	switch {
	case !known:
		return !e.Tombstone
	case old.Hash == e.Hash && old.Removal == e.Removal:
		return false
	case old.epoch != epoch:
		return true
	default:
		return e.Revision >= old.Revision
	}
}
