package bolt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// SinkOptions say how a Sink treats its sender.
type SinkOptions struct {
	// AcceptNewIncarnation lets a sender of another incarnation continue the copy after a
	// comparison, as a restarted agent does with its reports. Without it that is
	// store.ErrRegressed.
	AcceptNewIncarnation bool
	// KeepRemoved lets a tombstone keep the body that it removes until it is forgotten, so that its
	// consumer knows what it was.
	KeepRemoved bool
	// DropRemoved forgets a tombstone as soon as it has removed its key: for copies without a
	// consumer of tombstones, in which keys come and go for ever.
	DropRemoved bool
	// OnStart is called while a Commit becomes durable, with the keys that it creates. From then on
	// Get returns them, though a crash may still take them. Nil calls nobody.
	OnStart func(keys []store.Key)
	// OnCommit is called after a Commit that changed something, with the keys in the order of the
	// batch, before Commit returns.
	OnCommit func(keys []store.Key)
	// Room returns how many bytes the bodies of the copy may take as they are stored. A body that
	// does not fit is not stored: Get returns its entry as UnknownBody, and the sender need not
	// send it again. Nil is no limit.
	Room func() int64
	// Holds reports whether the consumer has something under a key that the copy does not know. A
	// tombstone of such a key is stored, so that it is carried out. Nil is never.
	Holds func(k store.Key) bool
}

// Sink is the durable copy of one feed. It implements store.Sink and is read by the consumer of the
// copy.
type Sink struct {
	file    *File
	bucket  []byte
	options SinkOptions

	commit sync.Mutex // held for a whole Commit, Forget or Accept
	mu     sync.Mutex // guards what follows; taken inside commit
	state  state
	// starting has the entries that OnStart was told of, while their Commit becomes durable.
	starting map[store.Key]store.Entry
}

var _ store.Sink = (*Sink)(nil)

// Sink opens the copy with this name: "desired", "reported", or what ReportedBy returns. A new copy
// is in the file from its first write on. Each name must be opened once only.
func (f *File) Sink(name string, o SinkOptions) (*Sink, error) {
	if !isCopy([]byte(name)) {
		return nil, fmt.Errorf("open sink: %q is neither desired nor reported", name)
	}
	s := &Sink{file: f, bucket: []byte(name), options: o}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open sink %s: %w", name, err)
	}
	return s, nil
}

// open reads the state.
func (s *Sink) open() error {
	return s.file.view(func(tx *bbolt.Tx) error { return s.state.load(tx, s.bucket) })
}

// Position implements store.Sink.
func (s *Sink) Position() store.Position { return s.snapshot().position }

// Len returns the number of live entries.
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
		return fmt.Errorf("%w: it is incarnation %s, the copy is of %s", store.ErrRegressed,
			head.Incarnation, have.Incarnation)
	case head.Incarnation == have.Incarnation && head.Revision < have.Revision:
		return fmt.Errorf("%w: it is at revision %d, the copy at %d", store.ErrRegressed,
			head.Revision, have.Revision)
	}
	return nil
}

// Accept implements store.Sink.
func (s *Sink) Accept(head store.Position) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	return s.updateLocked(s.file.update, func(_ *bbolt.Bucket, st *state) error {
		st.position = store.Position{Incarnation: head.Incarnation, Era: head.Era,
			Revision: store.Comparing}
		st.epoch++
		return nil
	})
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
	defer s.endStart()
	var changed change
	durably := func(do func(*bbolt.Tx) error) error { return s.file.write(ctx, do) }
	err := s.updateLocked(durably, func(bucket *bbolt.Bucket, st *state) error {
		if b.Through.Incarnation != st.position.Incarnation {
			st.epoch++
		}
		st.position = b.Through
		var err error
		if changed, err = s.write(bucket, st, b.Entries); err == nil {
			s.start(changed)
		}
		return err
	})
	if err == nil && len(changed.keys) > 0 && s.options.OnCommit != nil {
		s.options.OnCommit(changed.keys)
	}
	return err
}

// change is what a Commit does: the keys that it changes, and those of them that it creates.
type change struct {
	keys    []store.Key
	created map[store.Key]store.Entry
}

// start lets the consumer begin with what a Commit creates, while that becomes durable. Where a rule
// changes with it, the consumer would begin by the old one: then all waits for the Commit.
func (s *Sink) start(changed change) {
	created := changed.created
	old := func(k store.Key) bool {
		_, fresh := created[k]
		return k.Class() == store.ClassRule && !fresh
	}
	if s.options.OnStart == nil || len(created) == 0 || slices.ContainsFunc(changed.keys, old) {
		return
	}
	s.mu.Lock()
	s.starting = created
	s.mu.Unlock()
	s.options.OnStart(slices.Collect(maps.Keys(created)))
	// gofail: var startedBeforeCommit struct{}
}

// endStart ends what start began: the entries are in the file, or not at all.
func (s *Sink) endStart() {
	s.mu.Lock()
	s.starting = nil
	s.mu.Unlock()
}

// updateLocked writes what do changes, and the state, in one transaction. The state in memory
// follows once that is durable. s.commit must be held.
func (s *Sink) updateLocked(durably func(func(*bbolt.Tx) error) error,
	do func(*bbolt.Bucket, *state) error) error {
	var after state
	err := durably(func(tx *bbolt.Tx) error {
		after = s.snapshot()
		bucket, err := tx.CreateBucketIfNotExists(s.bucket)
		if err == nil {
			err = do(bucket, &after)
		}
		if err != nil {
			return err
		}
		return after.save(tx, s.bucket)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", s.bucket, err)
	}
	s.mu.Lock()
	s.state = after
	s.mu.Unlock()
	return nil
}
