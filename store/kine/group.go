package kine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/k3s-io/kine/pkg/logstructured/sqllog"
	"github.com/k3s-io/kine/pkg/server"
)

const (
	// maxGroup is how many writes one transaction takes at most.
	maxGroup = 256
	// maxGroupBytes bounds the values of a group, but for its first write.
	maxGroupBytes = 4 << 20
)

// groupLog is kine's log of a file, to which writes are appended in groups: those that come while one transaction is made durable wait, stand
// together in the next, and share its sync. Each has its own revision or its own error. A write that is alone waits for nobody.
//
// Below it kine sees one append at a time, as if the whole group were one: what it remembers of the newest revision is true only then.
type groupLog struct {
	*sqllog.SQLLog
	// note is told what became of a write before anybody else is; in the order of revisions.
	note func(key string, o outcome)
	feed *feed
	// turn is held by the one writer that commits what waits.
	turn chan struct{}

	mu      sync.Mutex
	waiting []*write
}

// write is one that waits, or stands in a group.
type write struct {
	ctx   context.Context
	event *server.Event
	done  chan struct{} // closed when the rest is known

	revision int64
	old      []byte // the value that it replaces
	err      error
	// unsure is set when err does not tell whether the write will be there after a crash.
	unsure bool
}

// previous is the revision that it replaces, or 0.
func (w *write) previous() int64 {
	if w.event.PrevKV == nil {
		return 0
	}
	return w.event.PrevKV.ModRevision
}

func (w *write) size() int { return len(w.event.KV.Value) }

// Append returns when the write is durable, or was refused. A write whose context ends while it waits is not done; once it stands in a group its
// outcome is waited for, which takes as long as a sync.
func (l *groupLog) Append(ctx context.Context, event *server.Event) (int64, error) {
	w := &write{ctx: ctx, event: event, done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	for {
		select {
		case <-w.done:
			return w.revision, told(ctx, w.err)
		case l.turn <- struct{}{}:
			l.commitGroup()
			<-l.turn
		case <-ctx.Done():
			if l.leave(w) {
				return 0, told(ctx, ctx.Err())
			}
			<-w.done
			return w.revision, told(ctx, w.err)
		}
	}
}

// leave takes back a write that waits. One that stands in a group already cannot be.
func (l *groupLog) leave(w *write) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// take removes the next group from those that wait.
func (l *groupLog) take() (group []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, bytes := 0, 0
	for _, w := range l.waiting {
		if bytes += w.size(); n == maxGroup || n > 0 && bytes > maxGroupBytes {
			break
		}
		n++
	}
	group = slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return group
}

// errNothingWritten is what kine is told of a group of which nothing was written.
var errNothingWritten = errors.New("nothing was written")

// inGroup is the key of a context whose insert is a whole group.
type inGroup struct{}

// committing is a group under way.
type committing struct {
	take   func() []*write
	note   func(key string, o outcome)
	feed   *feed
	writes []*write
}

// commitGroup commits what waits, and answers it. The caller has the turn.
func (l *groupLog) commitGroup() {
	l.mu.Lock()
	idle := len(l.waiting) == 0
	l.mu.Unlock()
	if idle {
		return
	}
	c := &committing{take: l.take, note: l.note, feed: l.feed}
	// Nobody's context: the group is not given up because one of its writers is.
	ctx := context.WithValue(context.Background(), inGroup{}, c)
	_, _ = l.SQLLog.Append(ctx, &server.Event{}) // each write has its own error
	for _, w := range c.writes {
		close(w.done)
	}
}

// tell says of a group what is known of each write, and hands those that were done to watches.
func (c *committing) tell() {
	var done server.Events
	for _, w := range c.writes {
		c.note(w.event.KV.Key, outcome{revision: w.revision, written: w.err == nil, unsure: w.err != nil && w.unsure})
		if w.err == nil {
			done = append(done, w.committed())
		}
	}
	c.feed.publish(done)
}

// committed is the event of a write that was done, as kine would read it from the database.
func (w *write) committed() *server.Event {
	kv := *w.event.KV
	kv.ModRevision = w.revision
	if w.event.Create {
		kv.CreateRevision = w.revision
		return &server.Event{Create: true, KV: &kv}
	}
	return &server.Event{Delete: w.event.Delete, KV: &kv, PrevKV: &server.KeyValue{
		Key: kv.Key, CreateRevision: kv.CreateRevision, ModRevision: w.previous(), Lease: kv.Lease, Value: w.old}}
}

// newest is the revision of the newest write of a group.
func (c *committing) newest() (revision int64, err error) {
	for _, w := range c.writes {
		if w.err == nil {
			revision = max(revision, w.revision)
		}
	}
	if revision == 0 {
		return 0, errNothingWritten
	}
	return revision, nil
}
