package bolt_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

const senders = 200

func sender(i int) string { return fmt.Sprintf("site-%03d", i) }

func reportedBy(t *testing.T, f *bolt.File, i int, o bolt.SinkOptions) *bolt.Sink {
	t.Helper()
	s, err := f.Sink(bolt.ReportedBy(sender(i)), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holding has one transaction of the file wait until let go is called, and returns when it does.
func holding(t *testing.T, f *bolt.File) (letGo func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	s := sink(t, f, bolt.SinkOptions{OnStart: func([]store.Key) { close(held); <-free }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		commit(t, s, store.NewIncarnation(), 1, storetest.Value(1, 1, `{}`))
	}()
	<-held
	return sync.OnceFunc(func() { close(free); <-done })
}

// What many senders say while a transaction is under way is made durable by the next one, and each
// finds its own again.
func TestManySenders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	f := open(t, path, bolt.Options{})
	letGo, incarnation := holding(t, f), store.NewIncarnation()
	before := f.Cost().Syncs
	var running sync.WaitGroup
	for i := range senders {
		s := reportedBy(t, f, i, bolt.SinkOptions{})
		running.Go(func() {
			commit(t, s, incarnation, int64(i+1),
				storetest.Value(i, int64(i+1), `{}`))
		})
	}
	for f.Waiting() < senders {
		time.Sleep(time.Millisecond)
	}
	letGo()
	running.Wait()
	if syncs := f.Cost().Syncs - before; syncs != 4 {
		t.Errorf("%d syncs, want those of 2 transactions", syncs)
	}
	if err := f.Drop(bolt.ReportedBy(sender(3))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open(t, path, bolt.Options{})
	had, err := f.Senders()
	if err != nil || len(had) != senders-1 || slices.Contains(had, sender(3)) {
		t.Errorf("copies of %d senders, %v", len(had), err)
	}
	for i := range senders {
		s := reportedBy(t, f, i, bolt.SinkOptions{})
		e, ok, err := s.Get(storetest.Key(i))
		if gone := i == 3; err != nil || ok == gone || !gone &&
			(e.Revision != int64(i+1) || s.Position().Revision != int64(i+1) || s.Len() != 1) {
			t.Errorf("%s: %v %v %v", sender(i), e, ok, err)
		}
	}
	if found, err := f.Check(); err != nil || len(found) > 0 {
		t.Errorf("check: %v %v", found, err)
	}
}

// A write that cannot be done does not fail those that share its transaction.
func TestOneOfManyFails(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "reports.db"), bolt.Options{MaxBytes: 1 << 20})
	letGo, incarnation := holding(t, f), store.NewIncarnation()
	ends, end := context.WithCancel(t.Context())
	huge := make([]byte, 2<<20)
	if _, err := rand.Read(huge); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 20)
	var running, others sync.WaitGroup
	for i := range errs {
		s, group, ctx, body := reportedBy(t, f, i,
			bolt.SinkOptions{}), &others, t.Context(), []byte(`{}`)
		if i == 7 {
			group, ctx, body = &running, ends, huge
		}
		group.Go(func() {
			e := store.Entry{Key: storetest.Key(i), Hash: store.HashBody(1, body), Revision: 1,
				Generation: 1, Body: body}
			at := store.Position{Incarnation: incarnation, Revision: 1}
			errs[i] = s.Commit(ctx, store.Batch{Through: at, Entries: []store.Entry{e}})
		})
	}
	for f.Waiting() < len(errs) {
		time.Sleep(time.Millisecond)
	}
	letGo()
	others.Wait()
	end()
	running.Wait()
	for i, err := range errs {
		if wrong := i == 7; wrong != (err != nil) || wrong && errors.Is(err, bolt.ErrCorrupt) {
			t.Errorf("write %d: %v", i, err)
		}
	}
}
