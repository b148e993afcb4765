package apply

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

func key(resource, namespace, name string) store.Key {
	return store.Key{Space: "s", Resource: resource, Namespace: namespace, Name: name}
}

func take(t *testing.T, q *queue) (store.Key, bool) {
	t.Helper()
	k, ok, _ := q.dequeue()
	return k, ok
}

func TestQueueHandsAKeyToOneWorkerAtATime(t *testing.T) {
	q := newQueue()
	a := key("configmaps", "n", "a")
	q.add(a, false)
	q.add(a, false)
	if k, ok := take(t, q); !ok || k != a {
		t.Fatal("not handed out")
	}
	q.add(a, false)
	if k, ok := take(t, q); ok {
		t.Fatalf("%s handed out twice", k)
	}
	q.done(a, false, 0, 0)
	if k, ok := take(t, q); !ok || k != a {
		t.Fatal("a change while it was running is lost")
	}
	q.done(a, false, 0, 0)
	if _, ok := take(t, q); ok || q.len() != 0 {
		t.Fatal("not done")
	}
}

func TestQueueOrder(t *testing.T) {
	q := newQueue()
	crd := store.Key{
		Space:    "s",
		Group:    "apiextensions.k8s.io",
		Resource: "customresourcedefinitions",
		Name:     "widgets.example.com",
	}
	ns := key("namespaces", "", "n")
	all := []struct {
		key       store.Key
		tombstone bool
	}{
		{
			store.Key{
				Space:    "s",
				Group:    "apiextensions.k8s.io",
				Resource: "customresourcedefinitions",
				Name:     "old.example.com",
			},
			true,
		},
		{
			key("namespaces", "", "old"),
			true,
		}, {key("configmaps", "old", "gone"), true}, {key("configmaps", "", "a"), false}, {ns, false}, {crd, false},
	}
	for _, e := range all {
		q.add(e.key, e.tombstone)
	}
	for i := len(all) - 1; i >= 0; i-- {
		if k, ok := take(t, q); !ok || k != all[i].key {
			t.Errorf("got %s, want %s", k, all[i].key)
		}
	}
}

func TestQueueHoldsBackWhatNeedsARunningKey(t *testing.T) {
	q := newQueue()
	ns := key("namespaces", "", "n")
	crd := store.Key{
		Space:    "s",
		Group:    "apiextensions.k8s.io",
		Resource: "customresourcedefinitions",
		Name:     "widgets.example.com",
	}
	widget := store.Key{Space: "s", Group: "example.com", Resource: "widgets", Namespace: "n", Name: "w"}
	free := key("configmaps", "other", "c")
	for _, k := range []store.Key{widget, free, ns, crd} {
		q.add(k, false)
	}
	var got []store.Key
	for k, ok := take(t, q); ok; k, ok = take(t, q) {
		got = append(got, k)
	}
	if fmt.Sprint(got) != fmt.Sprint([]store.Key{crd, ns, free}) {
		t.Fatalf("handed out %v", got)
	}
	q.done(ns, false, 0, 0)
	if k, ok := take(t, q); ok {
		t.Fatalf("%s before its definition", k)
	}
	q.done(crd, true, time.Hour, time.Hour) // failed: it may never come, and the object may do without
	if k, ok := take(t, q); !ok || k != widget {
		t.Fatal("still held back")
	}
}

func TestQueueRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		a := key("configmaps", "n", "a")
		q.add(a, false)
		var last time.Duration
		for range 8 {
			began := time.Now()
			if _, ok := q.next(context.Background()); !ok {
				t.Fatal("no key")
			}
			last = time.Since(began)
			q.done(a, true, time.Second, 10*time.Second)
		}
		if last < 5*time.Second || last > 10*time.Second {
			t.Errorf("the 8th try came after %v", last)
		}
		began := time.Now()
		q.kick(func(k store.Key) bool { return k == a })
		if _, ok := q.next(context.Background()); !ok || time.Since(began) != 0 {
			t.Errorf("a kick took %v", time.Since(began))
		}
		q.done(a, true, time.Hour, time.Hour)
		q.add(a, false)
		if _, ok := q.next(context.Background()); !ok || time.Since(began) != 0 {
			t.Error("a new desired state waits for the retry of the old one")
		}
	})
}

func TestQueueEndsWithItsContext(t *testing.T) {
	q := newQueue()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() { _, ok := q.next(ctx); ended <- ok }()
	cancel()
	if <-ended {
		t.Error("a key out of an empty queue")
	}
}

func TestContestsSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := conflictBackoff{&tracks{}}
		k := key("configmaps", "n", "a")
		if d := c.wait(k); d != 0 {
			t.Errorf("the first write waits %v", d)
		}
		for range 12 {
			time.Sleep(c.wait(k))
			c.wrote(k)
		}
		if d := c.wait(k); d < 2*time.Minute || d > contestLimit {
			t.Errorf("the 13th write waits %v", d)
		}
		time.Sleep(contestWindow + time.Second)
		if times, _ := c.wrote(k); times != 1 || c.rows.Len() != 1 {
			t.Errorf("after a long time it is write number %d in a row", times)
		}
	})
}

// TestPodsWaitForTheirDefaultAccount: Pods that are made before it says how are made wrong, and stay so.
func TestPodsWaitForTheirDefaultAccount(t *testing.T) {
	q := newQueue()
	web := store.Key{Space: "s", Group: "apps", Resource: "deployments", Namespace: "n", Name: "web"}
	account, elsewhere := key("serviceaccounts", "n", "default"), key("pods", "other", "p")
	q.addAll([]store.Key{web, elsewhere, account})
	for _, want := range []store.Key{elsewhere, account} {
		if k, ok := take(t, q); !ok || k != want {
			t.Fatalf("got %s, want %s", k, want)
		}
	}
	if k, ok := take(t, q); ok {
		t.Fatalf("%s did not wait", k)
	}
	q.done(account, true, time.Hour, time.Hour) // refused: the Pods do without
	if k, ok := take(t, q); !ok || k != web {
		t.Fatalf("got %s, want %s", k, web)
	}
	q.done(web, false, 0, 0)
	q.add(account, true)
	q.add(web, false)
	if k, ok := take(t, q); !ok || k != web {
		t.Fatalf("got %s: a deletion keeps nobody waiting", k)
	}
}
