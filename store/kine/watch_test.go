package kine

import (
	"context"
	"fmt"
	"slices"
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
		for _, e := range resp.Events {
			all = append(all, (*mvccpb.Event)(e))
		}
	}
	return all
}

// What a watch is told when something is written is what another reads from the database later, with the values before.
func TestWatchTellsWhatIsStored(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	from := create(t, s, "/registry/before", "x") + 1
	watch := func() clientv3.WatchChan {
		return s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithRev(from), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	}
	live := watch()
	<-live
	put := func(key, value string, revision int64, lease clientv3.LeaseID) int64 {
		resp, err := s.Client().OptimisticPut(ctx, key, []byte(value), revision, kubernetes.PutOptions{LeaseID: lease, GetOnFailure: true})
		if err != nil || !resp.Succeeded {
			t.Fatalf("write %s: %v", key, err)
		}
		return resp.Revision
	}
	remove := func(key string, revision int64) {
		if resp, err := s.Client().OptimisticDelete(ctx, key, revision, kubernetes.DeleteOptions{GetOnFailure: true}); err != nil || !resp.Succeeded {
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
	if update, removal := told[1], told[2]; string(update.PrevKv.Value) != "one" || string(removal.PrevKv.Value) != "two" || removal.Type != mvccpb.DELETE {
		t.Errorf("an update and a removal: %s, %s", update, removal)
	}
}

// Who is told that he has seen everything up to a revision has, while others write.
func TestProgressComesAfterEvents(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
	<-events
	var seen []int64
	for round := range 5 {
		var all sync.WaitGroup
		var mu sync.Mutex
		var wrote []int64
		for i := range 40 {
			all.Go(func() {
				rev := create(t, s, fmt.Sprintf("/registry/t/%d-%d", round, i), "x")
				mu.Lock()
				defer mu.Unlock()
				wrote = append(wrote, rev)
			})
		}
		if err := s.Client().RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
		told, had := int64(0), 0
		for told == 0 {
			resp, ok := <-events
			if !ok || resp.Err() != nil {
				t.Fatalf("the watch ended: %v", resp.Err())
			}
			for _, e := range resp.Events {
				seen = append(seen, e.Kv.ModRevision)
			}
			if resp.IsProgressNotify() {
				told, had = resp.Header.Revision, len(seen)
			}
		}
		all.Wait()
		for _, rev := range wrote {
			if rev <= told && !slices.Contains(seen[:had], rev) {
				t.Errorf("round %d: %d was not there when all up to %d was", round, rev, told)
			}
		}
	}
}
