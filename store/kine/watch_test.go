package kine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// collect reads events until there are n.
func collect(t *testing.T, events clientv3.WatchChan, n int) (all []*mvccpb.Event) {
	t.Helper()
	for len(all) < n {
		resp, ok := <-events
		if !ok || resp.Err() != nil {
			t.Fatalf("the watch ended after %d of %d: %v", len(all), n, resp.Err())
		}
		all = append(all, resp.Events...)
	}
	return all
}

// What a watch is told when something is written is what another reads from the database later,
// with the values before.
func TestWatchTellsWhatIsStored(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	from := create(t, s, "/registry/before", "x") + 1
	watch := func() clientv3.WatchChan {
		return s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithRev(from),
			clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	}
	live := watch()
	<-live
	put := func(key, value string, revision int64, lease clientv3.LeaseID) int64 {
		resp, err := s.Client().OptimisticPut(ctx, key, []byte(value), revision,
			kubernetes.PutOptions{LeaseID: lease, GetOnFailure: true})
		if err != nil || !resp.Succeeded {
			t.Fatalf("write %s: %v", key, err)
		}
		return resp.Revision
	}
	remove := func(key string, revision int64) {
		if resp, err := s.Client().OptimisticDelete(ctx, key, revision,
			kubernetes.DeleteOptions{GetOnFailure: true}); err != nil || !resp.Succeeded {
			t.Fatalf("delete %s: %v", key, err)
		}
	}
	for _, key := range []string{"/registry/t/a", "/registry/t/b"} {
		remove(key, put(key, "two", put(key, "one", 0, 0), 3600))
		remove(key, put(key, "", put(key, "again", 0, 3600), 0))
	}
	told := collect(t, live, 12)
	stored := collect(t, watch(), 12)
	for i := range told {
		if got, want := told[i].String(), stored[i].String(); got != want {
			t.Errorf("event %d:\ntold   %s\nstored %s", i, got, want)
		}
	}
	if update, removal := told[1], told[2]; string(update.PrevKv.Value) != "one" ||
		string(removal.PrevKv.Value) != "two" || removal.Type != mvccpb.Event_DELETE {
		t.Errorf("an update and a removal: %s, %s", update, removal)
	}
}

// follower collects what a watch says until it has everything up to a revision, by an event or
// because it was told so, and checks that it had when it was told.
type follower struct {
	events clientv3.WatchChan
	seen   map[int64]bool // the revisions of its events
	// a revision up to which it was told to have all events, and how many it had then
	claims map[int64]int
}

func (f *follower) until(t *testing.T, revision int64) {
	t.Helper()
	for reached := int64(0); reached < revision; {
		resp, ok := <-f.events
		if !ok || resp.Err() != nil {
			t.Fatalf("the watch ended: %v", resp.Err())
		}
		for _, e := range resp.Events {
			for claim := range f.claims {
				if e.Kv.ModRevision <= claim {
					t.Errorf("%s@%d comes after all up to %d was there", e.Kv.Key, e.Kv.ModRevision,
						claim)
				}
			}
			reached = e.Kv.ModRevision // who has seen this one need not be told
			f.seen[reached] = true
		}
		if resp.IsProgressNotify() {
			reached = resp.Header.Revision
			f.claims[reached] = len(f.seen)
		}
	}
}

// Who is told that he has seen everything up to a revision has, while others write and other
// watches of the same stream see more.
func TestProgressComesAfterEvents(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	progressComesAfterEvents(t, s, 5, s)
}

// progressComesAfterEvents watches one store while others, too, write to the same data.
func progressComesAfterEvents(t *testing.T, s *Store, rounds int, writers ...*Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	of := func(prefix string) *follower {
		events := s.Client().Watch(ctx, prefix, clientv3.WithPrefix(),
			clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
		<-events
		return &follower{events, map[int64]bool{}, map[int64]int{}}
	}
	watches := map[string]*follower{"/registry/p/": of("/registry/p/"),
		"/registry/q/": of("/registry/q/"), "/registry/": of("/registry/")}
	plain := s.Client().Watch(ctx, "/registry/p/", clientv3.WithPrefix(),
		clientv3.WithCreatedNotify())
	<-plain
	for round := range rounds {
		var all sync.WaitGroup
		var mu sync.Mutex
		wrote := map[string][]int64{}
		for i := range 40 {
			prefix := []string{"/registry/p/", "/registry/q/"}[i%2]
			all.Go(func() {
				rev := create(t, writers[i/2%len(writers)],
					fmt.Sprintf("%s%d-%d", prefix, round, i), "x")
				mu.Lock()
				defer mu.Unlock()
				wrote[prefix] = append(wrote[prefix], rev)
				wrote["/registry/"] = append(wrote["/registry/"], rev)
			})
		}
		for range 10 { // in the middle of it, too
			if err := s.Client().RequestProgress(ctx); err != nil {
				t.Fatal(err)
			}
		}
		all.Wait()
		newest, err := s.Revision(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Client().RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
		for prefix, f := range watches {
			f.until(t, newest)
			for _, rev := range wrote[prefix] {
				if !f.seen[rev] {
					t.Errorf("round %d: %d was not there when all below %s up to %d was", round,
						rev, prefix, newest)
				}
			}
		}
	}
	for got := 0; got < 20*rounds; {
		resp := <-plain
		// etcd tells all watches of a client when one of them asks.
		told := resp.IsProgressNotify() && s.cluster == nil
		if got += len(resp.Events); told || resp.Err() != nil {
			t.Fatalf("who did not ask for progress is told %+v", resp)
		}
	}
}

// Where progress was told a watch can begin after everything else that it could begin with has been
// compacted.
func TestWatchAfterProgress(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	mine := create(t, s, "/registry/t/mine", "x")
	events := s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithRev(mine+1),
		clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
	<-events
	var writers sync.WaitGroup
	for w := range 64 {
		writers.Go(func() {
			for i := range minRetain/64 + 1 {
				create(t, s, fmt.Sprintf("/registry/u/%d-%d", w, i), "x")
			}
		})
	}
	writers.Wait()
	revision, err := s.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client().RequestProgress(ctx); err != nil {
		t.Fatal(err)
	}
	f := follower{events, map[int64]bool{}, map[int64]int{}}
	f.until(t, revision)
	if _, err := s.backend.compactTo(ctx, revision-minRetain); err != nil {
		t.Fatal(err)
	}
	begin := func(after int64) clientv3.WatchResponse {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return <-s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(),
			clientv3.WithRev(after+1), clientv3.WithProgressNotify())
	}
	if resp := begin(mine); resp.CompactRevision == 0 {
		t.Errorf("after its last event a watch begins with %+v, want that this was compacted", resp)
	}
	if resp := begin(revision); !resp.IsProgressNotify() || resp.Header.Revision != revision {
		t.Errorf("after the progress that it was told of a watch begins with %+v", resp)
	}
}
