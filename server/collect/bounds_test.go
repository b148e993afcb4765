package collect

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// A space has so many collectors, each of which keeps reports in memory, and another one when one goes.
func TestASpaceHasSoManyCollectors(t *testing.T) {
	c := New(Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	defer c.queue.ShutDown()
	put := func(space string, n int, generation int64) {
		k := ours("statuscollectors", fmt.Sprintf("c%03d", n))
		k.Space = space
		o := object("StatusCollector", k.Name, map[string]any{"generation": generation}, "spec", byPhase()["spec"])
		if generation == 0 {
			o = nil
		}
		c.Apply(store.Write{Key: k, Object: o, Revision: generation})
	}
	folds := func(space string, n int) bool {
		k := ours("statuscollectors", fmt.Sprintf("c%03d", n))
		k.Space = space
		return c.bySpace[space][k] != nil && c.collectors[k].program != nil
	}
	expect := func(what string, is bool) {
		t.Helper()
		if !is || len(c.bySpace["shop"]) > maxCollectors {
			t.Errorf("not so: %s; %d are folded", what, len(c.bySpace["shop"]))
		}
	}
	for n := range maxCollectors + 2 {
		put("shop", n, 1)
	}
	put("desk", 0, 1)
	expect("the last one", folds("shop", maxCollectors-1))
	expect("one too many", !folds("shop", maxCollectors))
	expect("of another space", folds("desk", 0))
	put("shop", 0, 2)
	expect("changed, it goes on", folds("shop", 0) && !folds("shop", maxCollectors))
	put("shop", maxCollectors, 2)
	expect("changed, it waits on", !folds("shop", maxCollectors))
	put("shop", 5, 0)
	expect("there is room", folds("shop", maxCollectors) && !folds("shop", maxCollectors+1))
	for n := range maxCollectors + 2 {
		put("shop", n, 0)
	}
	expect("nothing is remembered", len(c.bySpace) == 1 && len(c.collectors) == 1 && len(c.kept) <= 1)
}

// The collectors of a space keep so many reports together. One that goes gives its room back.
func TestACollectorSaysThatThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		c.place("web", "", "paris")
		c.start()
		c.c.mu.Lock()
		c.c.kept["shop"] = maxOfSpace - 1 // of another collector
		c.c.mu.Unlock()
		for _, name := range []string{"p1", "p2", "p3"} {
			c.pod("paris", name, "web", "Running")
		}
		k := ours("statuscollectors", "mine")
		c.Put(k, object("StatusCollector", "mine", nil, "spec", byPhase()["spec"]))
		c.rows("mine", "mine", []string{"Running", "1"})
		synctest.Wait()
		for cond := range fields.Maps(c.Object(k), "status", "conditions") {
			if fields.String(cond, "reason") != "TooManyReports" {
				t.Errorf("it says %v", cond)
			}
		}
		c.Put(k, nil)
		synctest.Wait()
		c.c.mu.Lock()
		defer c.c.mu.Unlock()
		if n := c.c.kept["shop"]; n != 0 && n != maxOfSpace-1 {
			t.Errorf("%d reports are kept of none", n)
		}
	})
}
