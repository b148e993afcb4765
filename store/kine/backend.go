package kine

import (
	"context"
	"log/slog"
	"time"

	"github.com/k3s-io/kine/pkg/server"
	"github.com/k3s-io/kine/pkg/ttl"
)

// committer makes writes durable. A file has a groupCommit; a shared database has an inserter.
type committer interface {
	// commit writes a row and returns its revision when it is durable. It returns
	// server.ErrKeyExists if the key has a newer row than e.PrevKV. After any other error it is
	// not known whether the row is there.
	commit(ctx context.Context, e *server.Event) (revision int64, err error)
	// newest returns the revision of the newest row that was acknowledged.
	newest(ctx context.Context) (int64, error)
	// alone runs do while it commits nothing, where two writers would only be in each other's way.
	alone(ctx context.Context, do func() error) error
}

// backend is etcd's model of keys and revisions over the table kine: one row a revision, and the
// newest row of a key is its value. It implements kine's server.Backend, of which kine's etcd
// service (server.New) makes use. kine's own backend is not used: it takes every failed write for
// a conflict and a read that breaks off for a whole one, and ends the process when a compaction
// cannot be committed.
type backend struct {
	table     *table
	committer committer
	feed      *feed
	log       *slog.Logger
}

// Start implements server.Backend. It creates the row that kine's statements expect, and the key
// that an API server's health check reads.
func (b *backend) Start(ctx context.Context) error {
	if _, err := b.table.DB.ExecContext(ctx, compactionRowSQL); err != nil {
		return err
	}
	_, err := b.Create(ctx, server.HealthKey, []byte(server.HealthVal), 0)
	if err == server.ErrKeyExists {
		return nil
	}
	return err
}

// Create implements server.Backend. With server.ErrKeyExists it returns a revision at which the key
// exists.
func (b *backend) Create(ctx context.Context, key string, value []byte, lease int64) (int64,
	error) {
	at, last, err := b.last(ctx, key, true)
	if err != nil {
		return 0, err
	}
	e := &server.Event{
		Create: true,
		KV:     &server.KeyValue{Key: key, Value: value, Lease: lease},
		PrevKV: &server.KeyValue{},
	}
	if last != nil {
		if !last.Delete {
			return at, server.ErrKeyExists
		}
		e.PrevKV.ModRevision = last.KV.ModRevision
	}
	revision, err := b.committer.commit(ctx, e)
	if err == server.ErrKeyExists {
		if revision, err = b.table.newest(ctx); err == nil {
			err = server.ErrKeyExists
		}
	}
	return revision, err
}

// Update implements server.Backend. A write that is refused returns what is there in place of old.
func (b *backend) Update(ctx context.Context, key string, value []byte, old, lease int64) (int64,
	*server.KeyValue, bool, error) {
	at, last, err := b.last(ctx, key, false)
	if err != nil {
		return 0, nil, false, err
	}
	if last == nil || last.Delete || last.KV.ModRevision != old {
		return at, present(last), false, nil
	}
	e := &server.Event{
		KV: &server.KeyValue{Key: key, CreateRevision: last.KV.CreateRevision, Value: value,
			Lease: lease},
		PrevKV: &server.KeyValue{ModRevision: last.KV.ModRevision},
	}
	revision, err := b.committer.commit(ctx, e)
	if err == server.ErrKeyExists {
		at, last, err = b.last(ctx, key, false)
		return at, present(last), false, err
	}
	if err != nil {
		return 0, nil, false, err
	}
	e.KV.ModRevision = revision
	return revision, e.KV, true, nil
}

// Delete implements server.Backend; old is 0 to delete whatever is there. It returns what it has
// deleted. A delete that is refused returns what is there in place of old.
func (b *backend) Delete(ctx context.Context, key string, old int64) (int64, *server.KeyValue, bool,
	error) {
	at, last, err := b.last(ctx, key, false)
	switch {
	case err != nil:
		return 0, nil, false, err
	case last == nil:
		return at, nil, true, nil
	case last.Delete:
		return at, nil, false, nil
	case old != 0 && last.KV.ModRevision != old:
		return at, last.KV, false, nil
	}
	revision, err := b.committer.commit(ctx, &server.Event{
		Delete: true,
		KV:     &server.KeyValue{Key: key},
		PrevKV: &server.KeyValue{ModRevision: last.KV.ModRevision},
	})
	if err == server.ErrKeyExists {
		at, last, err = b.last(ctx, key, false)
		return at, present(last), false, err
	}
	if err != nil {
		return 0, nil, false, err
	}
	return revision, last.KV, true, nil
}

// present returns the value of a key by its newest row, nil if there is none or it is deleted.
func present(last *server.Event) *server.KeyValue {
	if last == nil || last.Delete {
		return nil
	}
	return last.KV
}

// CurrentRevision implements server.Backend.
func (b *backend) CurrentRevision(ctx context.Context) (int64, error) {
	return b.committer.newest(ctx)
}

// Compact implements server.Backend and does nothing: revisions are compacted by their age,
// whatever a client asks for.
func (b *backend) Compact(ctx context.Context, _ int64) (int64, error) {
	return b.CurrentRevision(ctx)
}

// DbSize implements server.Backend.
func (b *backend) DbSize(ctx context.Context) (int64, error) { return b.table.GetSize(ctx) }

// Watch implements server.Backend for the end of leases (ttl.Run), its one caller.
func (b *backend) Watch(ctx context.Context, from int64) server.WatchResult {
	batches, errs := make(chan server.EventBatch), make(chan error, 1)
	w := b.feed.watch("", "", false)
	go func() {
		defer close(batches)
		defer w.stop()
		if err := b.follow(ctx, w, from, func(n news) {
			select {
			case batches <- server.EventBatch{Events: n.events}:
			case <-ctx.Done():
			}
		}); err != nil {
			errs <- err
		}
	}()
	return server.WatchResult{Eventc: batches, Errorc: errs}
}

// follow sends what was written to w's range from a revision on, and then what is written, in order
// and each event once. It returns nil when ctx or the watch ends. w must be registered before: so
// nothing falls between the past, which is read here, and what the feed hands over.
func (b *backend) follow(ctx context.Context, w *watch, from int64, send func(news)) error {
	upTo, past, err := b.past(ctx, w.key, w.end, from)
	if err != nil {
		return err
	}
	if len(past) > 0 {
		send(news{events: past})
	}
	for {
		n, ok := w.next(ctx)
		if !ok {
			return nil
		}
		for len(n.events) > 0 && n.events[0].KV.ModRevision <= upTo {
			n.events = n.events[1:]
		}
		if n.progress < upTo {
			n.progress = 0
		}
		if n.progress > 0 || len(n.events) > 0 {
			send(n)
		}
	}
}

// expire deletes keys whose lease has ended, until ctx ends. kine's ttl.Run returns when its watch
// ends; a new one reads all leases again.
func (b *backend) expire(ctx context.Context) {
	for ctx.Err() == nil {
		ttl.Run(ctx, b)
		pause(ctx, time.Second)
	}
}

// pause waits for a duration or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// compactedError is returned by past if some of what is asked for has been compacted.
type compactedError struct{ current, compact int64 }

func (*compactedError) Error() string { return server.ErrCompacted.Error() }

// past reads what was written to a range of keys from a revision on (0 and 1 are the beginning),
// and returns the revision up to which nothing is missing. It returns a *compactedError if
// something is.
func (b *backend) past(ctx context.Context, key, end string, from int64) (upTo int64,
	events []*server.Event, err error) {
	after := from
	if after > 1 {
		after--
	}
	r, err := b.table.after(ctx, key, end, after, 0)
	if err != nil {
		return 0, nil, err
	}
	if after > 0 && after < r.compact {
		return 0, nil, &compactedError{r.current, r.compact}
	}
	if len(r.events) > 0 {
		after = r.current
	}
	return after, r.events, nil
}
