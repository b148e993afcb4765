package compactmap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
)

type thing struct {
	name  string
	value int
}

func keyOf(t *thing) *string { return &t.name }

// Both do what a map does, whatever the order of calls, also when all values have few hashes.
func TestLikeAMap(t *testing.T) {
	for _, hashes := range []uint64{0, 3} {
		r := rand.New(rand.NewPCG(1, 2))
		want, m, x := map[string]int{}, Map[string, int]{}, NewIndex(keyOf)
		if hash := x.hash; hashes > 0 {
			x.hash = func(k string) uint64 { return hash(k) % hashes }
		}
		for i := range 20_000 {
			k := fmt.Sprint(r.IntN(20 + i%400))
			if r.IntN(2) == 0 {
				want[k] = i
				m.Put(k, i)
				x.Put(&thing{k, i})
			} else {
				delete(want, k)
				m.Delete(k)
				x.Delete(k)
			}
			k = fmt.Sprint(r.IntN(400))
			v, ok := want[k]
			if got, has := m.Find(k); got != v || has != ok || m.Has(k) != ok || m.Get(k) != v {
				t.Fatalf("the map has %d, %t for %s, want %d, %t", got, has, k, v, ok)
			}
			if got := x.Get(k); (got != nil) != ok || ok && got.value != v {
				t.Fatalf("the index has %v for %s, want %d, %t", got, k, v, ok)
			}
			if m.Len() != len(want) || x.Len() != len(want) {
				t.Fatalf("%d and %d entries, want %d", m.Len(), x.Len(), len(want))
			}
		}
		got := map[string]int{}
		for v := range x.All() {
			got[v.name] = v.value
		}
		if !maps.Equal(got, want) || !maps.Equal(maps.Collect(m.All()), want) {
			t.Error("what is visited is not what there is")
		}
	}
}

// What is deleted in a loop is not visited any more, and everything else is, once.
func TestDeletedWhileVisited(t *testing.T) {
	m, x := Map[int, int]{}, NewIndex(keyOf)
	const all = 10 * fewest
	for i := range all {
		m.Put(i, i)
		x.Put(&thing{fmt.Sprint(i), i})
	}
	seen, gone := map[int]bool{}, map[int]bool{}
	for k := range m.All() {
		if gone[k] || seen[k] {
			t.Fatalf("%d is visited after it was deleted, or twice", k)
		}
		seen[k] = true
		for other := range all {
			if other%20 != 0 && other/20 == k/20 && !seen[other] {
				m.Delete(other)
				gone[other] = true
			}
		}
	}
	if len(seen)+len(gone) != all || m.gone >= max(fewest, m.Len()) {
		t.Errorf("%d visited and %d deleted of %d; %d went since the map was made", len(seen),
			len(gone), all, m.gone)
	}
	for v := range x.All() {
		x.Delete(v.name)
	}
	if x.Len() > 0 {
		t.Errorf("%d are left", x.Len())
	}
}

// What is put in a loop so that the index grows neither ends the loop nor hides what was there, and what is
// deleted after that is not visited.
func TestGrownWhileVisited(t *testing.T) {
	x := NewIndex(keyOf)
	const all = 1000
	for i := range all {
		x.Put(&thing{fmt.Sprint(i), i})
	}
	seen, deleted := map[int]int{}, map[int]bool{}
	for v := range x.All() {
		if seen[v.value]++; deleted[v.value] {
			t.Fatalf("%d is visited after it was deleted", v.value)
		}
		if len(seen) == all/2 {
			for i := range 10 * all {
				x.Put(&thing{fmt.Sprint("new", i), all + i})
			}
			for i := range all / 2 {
				if seen[i] == 0 {
					x.Delete(fmt.Sprint(i))
					deleted[i] = true
				}
			}
		}
	}
	for i := range all {
		if seen[i] != 1 && !deleted[i] {
			t.Fatalf("%d is visited %d times", i, seen[i])
		}
	}
	if len(deleted) == 0 || x.Len() != 11*all-len(deleted) {
		t.Errorf("%d deleted, %d are there", len(deleted), x.Len())
	}
}

// live is the size of the live heap.
func live() float64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}

// The memory is that of what is in it, whatever was before, and however often everything was
// another.
func TestMemoryFollowsTheLength(t *testing.T) {
	type key [5]string
	type value struct{ k key }
	const few = 1000
	names := make([]string, 40*few)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	for what, fill := range map[string]func() (put, drop func(name string), keep any){
		"a map": func() (put, drop func(name string), keep any) {
			m := &Map[key, *value]{}
			return func(n string) {
				m.Put(key{4: n},
					nil)
			}, func(n string) { m.Delete(key{4: n}) }, m
		},
		"an index": func() (put, drop func(name string), keep any) {
			x := NewIndex(func(v *value) *key { return &v.k })
			return func(n string) { x.Put(&value{key{4: n}}) },
				func(n string) { x.Delete(key{4: n}) }, x
		},
	} {
		t.Run(what, func(t *testing.T) {
			before := live()
			put, drop, keep := fill()
			size := func() float64 { return live() - before }
			for _, n := range names[:few] {
				put(n)
			}
			first := size()
			for _, n := range names[few : 10*few] {
				put(n)
			}
			most := size()
			for _, n := range names[few : 10*few] {
				drop(n)
			}
			shrunk := size()
			for i := range names[:39*few] {
				put(names[i+few])
				drop(names[i])
			}
			churned := size()
			t.Logf("%.0f KB with %d, %.0f with ten times as many, %.0f without them, %.0f after "+
				"39 generations", first/1e3, few, most/1e3, shrunk/1e3, churned/1e3)
			if most < 5*first {
				t.Error("the burst costs nothing: nothing is measured")
			}
			if shrunk > 1.1*first || churned > 2.1*first {
				t.Error("it does not shrink")
			}
			runtime.KeepAlive(keep)
		})
	}
}

// TestFindingAllocatesNothing: a key on the stack stays there.
func TestFindingAllocatesNothing(t *testing.T) {
	x := NewIndex(keyOf)
	x.Put(&thing{"a", 1})
	if n := testing.AllocsPerRun(100, func() {
		if x.Get("a") == nil || x.Get("b") != nil {
			t.Fatal("not found")
		}
	}); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkGet(b *testing.B) {
	type key [5]string
	type value struct{ k key }
	x := NewIndex(func(v *value) *key { return &v.k })
	m := map[key]*value{}
	keys := make([]key, 3000)
	for i := range keys {
		keys[i] = key{"space", "apps", "deployments", "default", fmt.Sprint("web-", i)}
		v := &value{keys[i]}
		x.Put(v)
		m[keys[i]] = v
	}
	b.Run("index", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if x.Get(keys[i%3000]) == nil {
				b.Fatal("not found")
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if m[keys[i%3000]] == nil {
				b.Fatal("not found")
			}
		}
	})
}
