package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/apiserver/request"
)

// fakeStore is what storeWatches watch in tests: the last watch of it, and how many there were.
type fakeStore struct {
	in    chan clientv3.WatchResponse
	from  []string
	asked int
}

func (f *fakeStore) watches() *storeWatches {
	named := func(key, version string) (runtime.Object, error) {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key, ResourceVersion: version}}, nil
	}
	return &storeWatches{
		prefix: "/registry/things/",
		watch: func(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
			op := clientv3.OpGet(key, opts...)
			f.from = append(f.from, fmt.Sprint(key, "@", op.Rev()))
			return f.in
		},
		decode: func(_ context.Context, key string, stored []byte, rev int64) (runtime.Object, error) {
			if string(stored) == "broken" {
				return nil, errors.New("cannot be decoded")
			}
			return named(string(stored), strconv.FormatInt(rev, 10))
		},
		bookmark: func(rev int64) (runtime.Object, error) {
			return named("", strconv.FormatInt(rev, 10))
		},
		ask:  func(context.Context) error { f.asked++; return nil },
		open: map[string]*storeWatch{},
	}
}

// changed is what the store says of one change. Without an old value it is a creation, without a
// new one a deletion.
func changed(rev int64, name, old, now string) clientv3.WatchResponse {
	e := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte("/registry/things/a/" + name),
		ModRevision: rev, CreateRevision: 1, Value: []byte(now)}}
	if old == "" {
		e.Kv.CreateRevision = rev
	} else {
		e.PrevKv = &mvccpb.KeyValue{Value: []byte(old)}
	}
	if now == "" {
		e.Type = mvccpb.Event_DELETE
	}
	return clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: rev},
		Events: []*clientv3.Event{e}}
}

func (*fakeStore) join(t *testing.T, s *storeWatches, own watch.Interface,
	p storage.SelectionPredicate) *joiningWatch {
	ctx := request.WithSpace(t.Context(), "a")
	w := &joiningWatch{all: s, ctx: ctx, space: "a", pred: p, own: own, copies: true,
		joined: func() {}, behind: func() {}, sub: newSubscription("/registry/things/a", true, 0),
		out: make(chan watch.Event), done: make(chan struct{})}
	go w.run()
	return w
}

// shared waits until so many watches share the storeWatch. One that joins late gets the same events,
// but other bookmarks.
func shared(t *testing.T, s *storeWatches, watches int) {
	t.Helper()
	have := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		w := s.open["a"]
		if w == nil {
			return 0
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.subscribers)
	}
	for end := time.Now().Add(time.Minute); have() != watches; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d watches share the storeWatch, want %d", have(), watches)
		}
	}
}

func want(t *testing.T, w *joiningWatch, all ...string) {
	t.Helper()
	for _, want := range all {
		got := "nothing"
		select {
		case e, ok := <-w.ResultChan():
			switch o := e.Object.(type) {
			case *corev1.ConfigMap:
				got = string(e.Type) + " " + o.Name + "@" + o.ResourceVersion
			case *metav1.Status:
				got = fmt.Sprint(e.Type, " ", o.Reason)
			}
			if !ok {
				got = "ended"
			}
		case <-time.After(10 * time.Second):
		}
		if got != want {
			t.Errorf("the watch says %q, want %q", got, want)
		}
	}
}

func everything(bookmarks bool) storage.SelectionPredicate {
	p := storage.Everything
	p.AllowWatchBookmarks = bookmarks
	return p
}

func bookmarked(rev int) runtime.Object { return marked(watch.Bookmark, rev, false).Object }

// TestJoinLosesNothing: a watch gets its own events first, and joins where nothing is missing in
// between: what comes twice is told once, and a storeWatch that begins later is not joined.
func TestJoinLosesNothing(t *testing.T) {
	f := &fakeStore{in: make(chan clientv3.WatchResponse)}
	s, all := f.watches(), everything(true)
	one := watch.NewFake()
	a := f.join(t, s, one, all)
	one.Add(marked(watch.Added, 3, false).Object)
	want(t, a, "ADDED @3")
	go one.Action(watch.Bookmark, bookmarked(5))
	want(t, a, "BOOKMARK @5") // and begins the storeWatch there
	shared(t, s, 1)
	f.in <- changed(5, "x", "", "before")
	f.in <- changed(6, "x", "", "x1")
	want(t, a, "ADDED x1@6")

	two, three := watch.NewFake(), watch.NewFake()
	early, late := f.join(t, s, two, all), f.join(t, s, three, everything(false))
	go two.Action(watch.Bookmark, bookmarked(4))
	want(t, early, "BOOKMARK @4")
	go two.Modify(marked(watch.Modified, 6, false).Object) // by its own watch, at which it joins
	want(t, early, "MODIFIED @6")
	shared(t, s, 2)
	go three.Action(watch.Bookmark, bookmarked(5))
	want(t, late, "ADDED x1@6") // which the storeWatch has kept
	f.in <- changed(7, "x", "x1", "x2")
	f.in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 9}}
	f.in <- changed(10, "x", "x2", "")
	for _, w := range []*joiningWatch{a, early} {
		want(t, w, "MODIFIED x2@7", "BOOKMARK @9", "DELETED x2@10")
	}
	want(t, late, "MODIFIED x2@7", "DELETED x2@10")
	f.in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 12}}
	want(t, a, "BOOKMARK @12")
	want(t, early, "BOOKMARK @12")
	// One that begins where nothing has happened since is told so, and joins at once.
	sub := newSubscription("/registry/things/a", true, 11)
	if !s.join("a", sub, 11, false) {
		t.Fatal("not joined at once")
	}
	if events, _ := sub.take(); len(events) != 1 || events[0].revision != 12 || events[0].key != "" {
		t.Errorf("%d events wait for it", len(events))
	}
	sub.leave()
	if len(f.from) != 1 || f.from[0] != "/registry/things/a/@6" {
		t.Errorf("the store is watched from %v", f.from)
	}
	for i, w := range []*joiningWatch{a, early, late} {
		if s.open["a"] == nil {
			t.Errorf("the storeWatch has ended before watch %d", i)
		}
		w.Stop()
		want(t, w, "ended")
	}
	if s.open["a"] != nil {
		t.Error("the storeWatch goes on without a watch")
	}
}

// TestSharedErrors: an error of the store ends all watches that share a storeWatch with what
// upstream tells, one of an event those that it is for, and a watch that does not read only itself.
func TestSharedErrors(t *testing.T) {
	f := &fakeStore{in: make(chan clientv3.WatchResponse)}
	s := f.watches()
	begin := func(nth int) *joiningWatch {
		own := watch.NewFake()
		w := f.join(t, s, own, everything(true))
		go own.Action(watch.Bookmark, bookmarked(5))
		want(t, w, "BOOKMARK @5")
		shared(t, s, nth)
		return w
	}
	a, stuck := begin(1), begin(2)
	other := &subscription{key: "/registry/things/a/other", wake: make(chan struct{}, 1)}
	if !s.join("a", other, 5, false) {
		t.Fatal("not joined")
	}
	behind := make(chan bool, 1)
	stuck.behind = func() { behind <- true }
	// What it has taken before it was stuck does not wait any more, and is maxQueue at most.
	for i := range 2*maxQueue + 10 {
		f.in <- changed(int64(6+i), "x", "x", fmt.Sprint(i))
		want(t, a, fmt.Sprintf("MODIFIED %d@%d", i, 6+i))
	}
	for range stuck.ResultChan() { // what it was about to send
	}
	if !<-behind {
		t.Error("nobody is told that it was too far behind")
	}
	f.in <- changed(5000, "x", "x", "broken")
	want(t, a, "ERROR InternalError", "ended")

	if events, ended := other.take(); len(events) != 0 || ended {
		t.Errorf("%v, %v: not its key", events, ended)
	}
	f.in <- clientv3.WatchResponse{Canceled: true, CompactRevision: 7}
	<-other.wake
	if _, ended := other.take(); !ended || !errors.Is(other.err, rpctypes.ErrCompacted) {
		t.Errorf("ended %v: %v", ended, other.err)
	}
	if status := watchError(other.err).(*metav1.Status); status.Reason != metav1.StatusReasonExpired {
		t.Errorf("too old is told as %v", status)
	}
}
