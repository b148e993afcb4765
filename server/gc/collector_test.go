package gc

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store/storetest"
)

// collecting runs do beside a collector that has first been given what before has made.
func collecting(t *testing.T, before, do func(c *cluster), then func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		if before != nil {
			before(c)
		}
		c.collector = New(Config{API: c, Log: slog.New(slog.DiscardHandler)})
		c.collector.Reset(c.revision, storetest.Listing(c.all()))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- c.collector.Run(ctx) }()
		time.Sleep(time.Minute)
		if do != nil {
			do(c)
		}
		time.Sleep(time.Minute)
		then(t, c)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// show is the objects of a space as "name<owner,owner".
func show(c *cluster, space string) string {
	names := c.names(space)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if owners := names[name]; len(owners) > 0 {
			name += "<" + strings.Join(owners, ",")
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestCollect(t *testing.T) {
	family := func(c *cluster) {
		c.put("a", "app")
		c.put("a", "set", "app!")
		c.put("a", "pod", "set!")
		c.put("a", "alone")
		c.put("b", "app") // the same names in another space
		c.put("b", "set", "app")
	}
	for name, tc := range map[string]struct {
		before, do func(c *cluster)
		want       string
	}{
		"background":     {family, func(c *cluster) { c.remove("a", "app", "Background") }, "alone"},
		"foreground":     {family, func(c *cluster) { c.remove("a", "app", "Foreground") }, "alone"},
		"orphan":         {family, func(c *cluster) { c.remove("a", "app", "Orphan") }, "alone pod<set set"},
		"middle":         {family, func(c *cluster) { c.remove("a", "set", "Background") }, "alone app"},
		"nothing":        {family, nil, "alone app pod<set set<app"},
		"gone meanwhile": {func(c *cluster) { c.put("a", "set", "app"); c.put("a", "pod", "set") }, nil, ""},
		"comes too late": {nil, func(c *cluster) { c.put("a", "set", "app") }, ""},
		"two owners": {func(c *cluster) { c.put("a", "one"); c.put("a", "two"); c.put("a", "both", "one", "two") },
			func(c *cluster) { c.remove("a", "one", "Background") }, "both<two two"},
		"last of two": {func(c *cluster) { c.put("a", "one"); c.put("a", "two"); c.put("a", "both", "one", "two") },
			func(c *cluster) { c.remove("a", "one", "Background"); c.remove("a", "two", "Background") }, ""},
		"owner made anew": {family, func(c *cluster) {
			c.remove("a", "app", "Background")
			c.mu.Lock()
			k := key("a", "app")
			c.write(k, map[string]any{"metadata": map[string]any{"name": "app", "uid": "another"}})
			c.mu.Unlock()
		}, "alone app"},
		"foreground waits for what blocks": {func(c *cluster) {
			family(c)
			c.mu.Lock()
			obj := spaceapitest.Clone(c.objects[key("a", "set")])
			obj["metadata"].(map[string]any)["finalizers"] = []any{"example.com/hold"}
			c.write(key("a", "set"), obj)
			c.mu.Unlock()
		}, func(c *cluster) { c.remove("a", "app", "Foreground") }, "alone app set<app"},
		"foreground does not wait for others": {func(c *cluster) {
			c.put("a", "app")
			c.put("a", "set", "app")
			c.mu.Lock()
			obj := spaceapitest.Clone(c.objects[key("a", "set")])
			obj["metadata"].(map[string]any)["finalizers"] = []any{"example.com/hold"}
			c.write(key("a", "set"), obj)
			c.mu.Unlock()
		}, func(c *cluster) { c.remove("a", "app", "Foreground") }, "set<app"},
		"a mirror is not its business": {func(c *cluster) { family(c); c.mark("a", "pod") },
			func(c *cluster) { c.remove("a", "app", "Foreground") }, "alone pod<set"},
		"a mirror with an owner in the space": {func(c *cluster) { family(c); c.markOwned("a", "pod") },
			func(c *cluster) { c.remove("a", "app", "Foreground") }, "alone"},
		"owned by a mirror": {func(c *cluster) { c.put("a", "pod"); c.mark("a", "pod"); c.put("a", "set", "pod!") },
			func(c *cluster) { c.remove("a", "pod", "Background") }, ""},
		"owned by a mirror that is there": {func(c *cluster) { c.put("a", "pod"); c.mark("a", "pod") },
			func(c *cluster) { c.put("a", "set", "pod!") }, "pod set<pod"},
		"an owner of an unknown kind": {
			func(c *cluster) { c.hidden["Thing"] = true; c.put("a", "set", "app") },
			nil,
			"set<app",
		},
		"a circle": {func(c *cluster) { c.put("a", "one", "two!"); c.put("a", "two", "one!") },
			func(c *cluster) { c.remove("a", "one", "Foreground") }, ""},
		"orphaned before the start": {
			func(c *cluster) { family(c); c.remove("a", "app", "Orphan") },
			nil,
			"alone pod<set set",
		},
		"foreground before the start": {func(c *cluster) { family(c); c.remove("a", "app", "Foreground") }, nil, "alone"},
	} {
		t.Run(name, func(t *testing.T) {
			collecting(t, tc.before, tc.do, func(t *testing.T, c *cluster) {
				if got := show(c, "a"); got != tc.want {
					t.Errorf("left: %s\nwant: %s", got, tc.want)
				}
				if got := show(c, "b"); len(c.names("b")) > 0 && got != "app set<app" {
					t.Errorf("the other space has %s", got)
				}
			})
		})
	}
}

// TestCollectRandomly deletes at random in a random hierarchy of two spaces and compares with the
// definition: what has owners lives as long as one of them does.
func TestCollectRandomly(t *testing.T) {
	for seed := range uint64(30) {
		const n = 60
		r := rand.New(rand.NewPCG(seed, 1))
		owners, alive := make([][]string, n), map[string]bool{}
		for i := range n {
			for range r.IntN(3) {
				if i > 0 {
					owners[i] = append(owners[i], fmt.Sprintf("n%d", r.IntN(i)))
				}
			}
			slices.Sort(owners[i])
			owners[i] = slices.Compact(owners[i])
		}
		deleted := map[string]bool{}
		collecting(t, nil, func(c *cluster) {
			for i := range n {
				for _, space := range []string{"a", "b"} {
					c.put(space, fmt.Sprintf("n%d", i), owners[i]...)
				}
			}
			for range 15 {
				name := fmt.Sprintf("n%d", r.IntN(n))
				if c.remove("a", name, []string{"Background", "Foreground"}[r.IntN(2)]) {
					deleted[name] = true
				}
				if r.IntN(2) == 0 {
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
				}
			}
		}, func(t *testing.T, c *cluster) {
			var want []string
			for i := range n {
				name := fmt.Sprintf("n%d", i)
				alive[name] = !deleted[name] &&
					(len(owners[i]) == 0 || slices.ContainsFunc(owners[i], func(o string) bool { return alive[o] }))
				if !alive[name] {
					continue
				}
				if left := slices.DeleteFunc(slices.Clone(owners[i]), func(o string) bool { return !alive[o] }); len(
					left,
				) > 0 {
					name += "<" + strings.Join(left, ",")
				}
				want = append(want, name)
			}
			slices.Sort(want)
			if got := show(c, "a"); got != strings.Join(want, " ") {
				t.Errorf("seed %d: left %s\nwant %s", seed, got, strings.Join(want, " "))
			}
			if left := len(c.names("b")); left != n {
				t.Errorf("seed %d: the other space has %d of %d objects", seed, left, n)
			}
			c.collector.graph.mu.Lock()
			defer c.collector.graph.mu.Unlock()
			for i, node := range c.collector.graph.nodes {
				if i.space == "a" && (node.gone || len(node.owners)+len(node.dependents) == 0) {
					t.Errorf("seed %d: node %s is kept for nothing", seed, i.uid)
				}
			}
		})
	}
}
