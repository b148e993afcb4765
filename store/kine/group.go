package kine

import (
	"context"
	"slices"
	"sync"

	"github.com/k3s-io/kine/pkg/server"
)

const (
	// maxGroup is how many writes one transaction takes at most.
	maxGroup = 256
	// maxGroupBytes bounds the values of a group, except those of its first write.
	maxGroupBytes = 4 << 20
)

// groupCommit is the committer of a file. It buys writes per second: a sync costs more than a
// write, so those that come while one transaction is synced wait, stand together in the next, and
// share its sync. It also hands what it has committed to watches and watermarks from memory.
// Without it a file is written and watched like a shared database, by inserter and poller.
//
// Each write has its own revision or its own error, and a write that is alone waits for nobody.
//
// Lock order: turn, mu, then the locks of watermarks and of the feed.
type groupCommit struct {
	file  *transactions
	marks *watermarks
	feed  *feed
	// turn is held by the one writer that commits what waits, by a compaction and by the
	// checkpointer.
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

func (w *write) size() int { return len(w.event.KV.Value) }

// commit implements committer. A write whose context ends while it waits is not done. Once it
// stands in a group its outcome is waited for, which takes as long as a sync.
func (g *groupCommit) commit(ctx context.Context, event *server.Event) (int64, error) {
	w := &write{ctx: ctx, event: event, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	for {
		select {
		case <-w.done:
			return w.revision, w.err
		case g.turn <- struct{}{}:
			g.commitGroup()
			<-g.turn
		case <-ctx.Done():
			if g.withdraw(w) {
				return 0, ctx.Err()
			}
			<-w.done
			return w.revision, w.err
		}
	}
}

// newest implements committer. What is acknowledged has been published.
func (g *groupCommit) newest(context.Context) (int64, error) { return g.feed.position(), nil }

// alone implements committer. A file has one writer at a time. One that comes by itself waits for
// the others by trying again and again, and may not find the file free for long.
func (g *groupCommit) alone(ctx context.Context, do func() error) error {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.turn }()
	return do()
}

// withdraw takes back a write that waits. It reports false if the write stands in a group already.
func (g *groupCommit) withdraw(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, w)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// dequeue removes the next group from the writes that wait.
func (g *groupCommit) dequeue() (group []*write) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes := 0, 0
	for _, w := range g.waiting {
		if bytes += w.size(); n == maxGroup || n > 0 && bytes > maxGroupBytes {
			break
		}
		n++
	}
	group = slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return group
}

// length returns how many writes wait.
func (g *groupCommit) length() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// commitGroup commits what waits, and answers it. g.turn must be held.
func (g *groupCommit) commitGroup() {
	if g.length() == 0 {
		return
	}
	err := g.file.beginTransaction()
	group := g.dequeue() // not before: another process may have had the database for long
	g.file.commit(group, err)
	g.publish(group)
	for _, w := range group {
		close(w.done)
	}
}

// publish records in watermarks what is known of each write of a group, and hands those that were
// done to watches. Nobody was answered yet.
func (g *groupCommit) publish(group []*write) {
	var done []*server.Event
	for _, w := range group {
		g.marks.note(w.event.KV.Key, outcome{revision: w.revision, written: w.err == nil,
			unsure: w.err != nil && w.unsure})
		if w.err == nil {
			done = append(done, w.committed())
		}
	}
	g.feed.publish(done)
}

// committed is the event of a write that was done, as a read of its row would return it.
func (w *write) committed() *server.Event {
	kv := *w.event.KV
	kv.ModRevision = w.revision
	if w.event.Create {
		kv.CreateRevision = w.revision
		return &server.Event{Create: true, KV: &kv}
	}
	return &server.Event{Delete: w.event.Delete, KV: &kv, PrevKV: &server.KeyValue{
		Key: kv.Key, CreateRevision: kv.CreateRevision, ModRevision: w.event.PrevKV.ModRevision,
		Lease: kv.Lease, Value: w.old}}
}
