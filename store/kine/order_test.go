package kine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store/storetest"
)

const (
	orderPrefix  = "/registry/order/"
	orderWriters = 16
	roundTime    = 4 * time.Second
	forever      = 1000 * time.Hour
)

// orderTime is how long the order is tried: `make stress ORDER=1h`.
func orderTime(t *testing.T) time.Duration {
	d, err := time.ParseDuration(os.Getenv("SKERRY_ORDER"))
	if err != nil && os.Getenv("SKERRY_ORDER") != "" {
		t.Fatal(err)
	}
	return max(d, 2*roundTime)
}

// orderLoad keeps processes busy beside the test, as many as SKERRY_ORDER_LOAD says.
func orderLoad(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SKERRY_ORDER_LOAD"))
	for range n {
		busy := exec.CommandContext(t.Context(), "nice", "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { busy.Process.Kill(); busy.Wait() })
	}
}

// Sixteen write and eight watch. No event is lost, doubled or out of order, each has the value
// before; no read is older than a write that was acknowledged; and what is listed at a revision is
// what the events up to it make.
func TestOrder(t *testing.T) {
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), CompactInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tryOrder(t, s)
}

// The same through two replicas at once.
func TestOrderOnPostgres(t *testing.T) {
	p := storetest.StartPostgres(t)
	var stores []*Store
	for range 2 {
		s, err := Open(t.Context(), Config{Endpoint: p.Endpoint, CompactInterval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	tryOrder(t, stores...)
}

// ordering is one trial. It goes on in rounds, so that what a round has to remember is bounded.
type ordering struct {
	t      *testing.T
	stores []*Store
	state  map[string]pair // at the end of the last round
	lasts  map[string]int64

	mu     sync.Mutex
	writes []change
	lists  []listed
	losses int // requests that failed as their connection to a shared database did
}

func tryOrder(t *testing.T, stores ...*Store) {
	o := &ordering{t: t, stores: stores, state: map[string]pair{}, lasts: map[string]int64{}}
	orderLoad(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follower := o.follow(ctx, 0, orderPrefix, 1, forever) // through all rounds
	var all trial
	for end := time.Now().Add(orderTime(t)); time.Now().Before(end) && !t.Failed(); {
		all.add(o.round(follower))
	}
	t.Logf("%d writes, %d events told, %d lists, %d watches begun, %d of them from what was "+
		"compacted; %d requests failed",
		all.writes, all.events, all.lists, all.watches, all.skipped, o.losses)
	if o.losses > 2+all.writes/1000 {
		t.Errorf("%d requests failed", o.losses)
	}
	if all.writes == 0 || all.events < 3*all.writes || all.lists == 0 {
		t.Error("that tries nothing")
	}
}

// round has all write, watch and list for a while, and compares what they saw when the last write
// was seen.
func (o *ordering) round(always *watcher) trial {
	ctx, cancel := context.WithTimeout(o.t.Context(), roundTime+5*time.Minute)
	defer cancel()
	o.writes, o.lists = nil, nil
	begin := o.newest(ctx)
	var writing, reading sync.WaitGroup
	over := time.Now().Add(roundTime)
	for w := range orderWriters {
		writing.Go(func() { o.write(ctx, w, over) })
	}
	watchers := []*watcher{always}
	for i, prefix := range []string{orderPrefix, orderPrefix + "a/", orderPrefix + "b/",
		orderPrefix + "none"} {
		watchers = append(watchers, o.follow(ctx, i, prefix, begin+1, forever))
	}
	for i, prefix := range []string{orderPrefix, orderPrefix + "a/"} {
		watchers = append(watchers, o.follow(ctx, i, prefix, begin+1, 200*time.Millisecond))
	}
	time.Sleep(rand.N(roundTime))
	watchers = append(watchers, o.follow(ctx, 1, orderPrefix,
		begin+1+rand.Int64N(o.newest(ctx)-begin+1), forever))
	for r := range 2 {
		reading.Go(func() { o.list(ctx, r, over) })
	}
	writing.Wait()
	reading.Wait()
	return o.compare(begin, watchers)
}

func (o *ordering) store(i int) *Store { return o.stores[i%len(o.stores)] }

// write changes a few keys that nobody else writes, and asks now and then whether that is there.
func (o *ordering) write(ctx context.Context, w int, until time.Time) {
	for n := 0; time.Now().Before(until) && !o.t.Failed(); n++ {
		key := fmt.Sprintf("%s%c/%d-%d", orderPrefix, "ab"[w%2], w, rand.IntN(4))
		if rand.IntN(4) == 0 { // its prefix is empty without it
			key = fmt.Sprintf("%sblink%d/x", orderPrefix, w)
		}
		c := change{key: key, value: fmt.Sprint(w, "-", n, "-", time.Now().UnixNano())}
		if err := o.change(ctx, o.store(w), &c); err != nil {
			o.t.Errorf("write %s: %v", key, err)
			return
		}
		o.mu.Lock()
		o.writes = append(o.writes, c)
		o.lasts[key] = c.after()
		o.mu.Unlock()
		if rand.IntN(4) == 0 {
			o.readBack(ctx, o.store(rand.IntN(2)), c)
		}
	}
}

// change deletes a key that is there one time of three, and writes its value otherwise.
func (o *ordering) change(ctx context.Context, s *Store, c *change) error {
	o.mu.Lock()
	last := o.lasts[c.key]
	o.mu.Unlock()
	if last > 0 && rand.IntN(3) == 0 {
		c.deleted, c.value = true, ""
	}
	for {
		done, err := c.try(ctx, s, last)
		switch {
		case err == nil && done.succeeded:
			c.revision = done.revision
			return nil
		case o.lost(s, err) || err == nil && done.there != nil && done.there.ModRevision == last &&
			o.lost(s, errToldAsConflict):
			continue
		case err != nil:
			return err
		case s.Shared() && c.deleted:
			c.revision = deletedAt(ctx, s, c.key, last)
			return nil
		case s.Shared() && done.there != nil && string(done.there.Value) == c.value:
			c.revision = done.there.ModRevision
			return nil
		}
		return fmt.Errorf("it was not as acknowledged at %d but %v", last, done.there)
	}
}

// readBack checks that a read is not older than a write that was acknowledged before.
func (o *ordering) readBack(ctx context.Context, s *Store, c change) {
	newest, err := s.Revision(ctx)
	if !o.lost(s, err) && (err != nil || newest < c.revision) {
		o.t.Errorf("the store is at %d, %v after a write at %d", newest, err, c.revision)
	}
	got, err := s.Client().Get(ctx, c.key, kubernetes.GetOptions{})
	switch {
	case o.lost(s, err):
	case err != nil || got.Revision < c.revision:
		o.t.Errorf("%s is read at %d, %v after its write at %d", c.key, got.Revision, err,
			c.revision)
	case got.KV == nil != c.deleted || got.KV != nil &&
		(got.KV.ModRevision != c.revision || string(got.KV.Value) != c.value):
		o.t.Errorf("%s is read as %v after its write at %d", c.key, got.KV, c.revision)
	}
	o.listOnce(ctx, s, c.key[:len(orderPrefix)+2], kubernetes.ListOptions{}, c.revision)
}

// list reads what is there now and what was at an earlier revision, whole and in pages.
func (o *ordering) list(ctx context.Context, r int, until time.Time) {
	begin := o.newest(ctx)
	for n := 0; time.Now().Before(until) && !o.t.Failed(); n++ {
		s := o.store(r + n)
		blink := fmt.Sprintf("%sblink%d/", orderPrefix, n%orderWriters)
		o.listOnce(ctx, s, blink, kubernetes.ListOptions{}, 0)
		o.listOnce(ctx, s, orderPrefix+"a/", kubernetes.ListOptions{Limit: 3}, 0)
		past := begin + rand.Int64N(o.newest(ctx)-begin+1)
		o.listOnce(ctx, s, orderPrefix, kubernetes.ListOptions{Revision: past}, 0)
		o.listOnce(ctx, s, blink, kubernetes.ListOptions{Revision: past}, 0)
	}
}

// listOnce remembers a list for when all writes are known. It may not be older than a revision.
func (o *ordering) listOnce(ctx context.Context, s *Store, prefix string,
	options kubernetes.ListOptions, least int64) {
	got, err := s.Client().List(ctx, prefix, options)
	if errors.Is(err, rpctypes.ErrCompacted) || o.lost(s, err) {
		return
	}
	if err != nil || got.Revision < least {
		o.t.Errorf("%s is listed at %d, %v after %d", prefix, got.Revision, err, least)
		return
	}
	l := listed{prefix: prefix, limit: int(options.Limit), revision: got.Revision,
		count: int(got.Count)}
	if options.Revision > 0 {
		l.revision = options.Revision
	}
	for _, kv := range got.Kvs {
		l.found = append(l.found, pair{string(kv.Key), string(kv.Value), kv.ModRevision})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lists = append(o.lists, l)
}
