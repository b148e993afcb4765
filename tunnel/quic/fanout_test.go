package quic_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

// fleet is many sites of one center, all in this process, over QUIC on loopback. What is placed on one is placed on all.
type fleet struct {
	bodies *objects // their own feed is not used
	feeds  []*store.Feed
	acked  []atomic.Int64
	all    chan struct{} // one slot: somebody has acknowledged
	wait   func()
}

// newFleet connects n sites whose copies are durable when dir is given.
func newFleet(t testing.TB, n int, dir string) *fleet {
	t.Helper()
	s := newSite(t)
	f := &fleet{bodies: newObjects(false), acked: make([]atomic.Int64, n), all: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	shared := delta.NewShared()
	for i := range n {
		feed := store.NewFeed(store.NewIncarnation(), 0, f.bodies.Body)
		f.feeds = append(f.feeds, feed)
		child, parent := s.pair(t)
		var sink store.Sink = storetest.NewMemory()
		if dir != "" {
			file, err := bolt.Open(filepath.Join(dir, fmt.Sprint(i, ".db")), bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { file.Close() })
			if sink, err = file.Sink("desired", bolt.SinkOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		served.Go(func() {
			_ = tunnel.ServeChild(ctx, child, tunnel.ChildConfig{Desired: sink, Reported: newObjects(true).Feed})
		})
		served.Go(func() {
			_ = tunnel.ServeParent(ctx, parent, tunnel.ParentConfig{Shared: shared,
				OnAck: func(p store.Position) {
					f.acked[i].Store(p.Revision)
					select {
					case f.all <- struct{}{}:
					default:
					}
				},
				Admit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
					return tunnel.Admission{Feed: feed, Inbox: storetest.NewMemory()}, nil
				}})
		})
	}
	f.wait = func() { cancel(); served.Wait() }
	return f
}

// place changes an object on all sites and returns how long it takes until all of them have stored it.
func (f *fleet) place(t testing.TB, k store.Key, body []byte) time.Duration {
	t.Helper()
	f.bodies.set(k, body)
	revision, began := f.bodies.Head().Revision, time.Now()
	for _, feed := range f.feeds {
		feed.Apply(revision, store.Change{Key: k, Hash: store.HashBody(1, body), Generation: 1})
	}
	for end := time.After(time.Minute); ; {
		select {
		case <-f.all:
		case <-end:
			t.Fatal("not all sites have it after a minute")
		}
		if f.reached(revision) {
			return time.Since(began)
		}
	}
}

func (f *fleet) reached(revision int64) bool {
	for i := range f.acked {
		if f.acked[i].Load() < revision {
			return false
		}
	}
	return true
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOneChangeToAllSites tells how long one change takes to be stored by 1,000 sites, whose half of the work is done in this
// process, too. With durable copies the disk of this machine does what those of 1,000 sites do.
func BenchmarkOneChangeToAllSites(b *testing.B) {
	const sites = 1000
	for _, durable := range []bool{false, true} {
		b.Run(fmt.Sprintf("durable=%t", durable), func(b *testing.B) {
			dir := ""
			if durable {
				dir = b.TempDir()
			}
			f := newFleet(b, sites, dir)
			defer f.wait()
			k, body := deployment(1)
			f.place(b, k, body)
			var took []time.Duration
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			used := cpu()
			for i := 0; b.Loop(); i++ {
				took = append(took, f.place(b, k, []byte(strings.Replace(string(body), `"replicas":3`, fmt.Sprintf(`"replicas":%d`, i+4), 1))))
			}
			used = cpu() - used
			runtime.ReadMemStats(&after)
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
			b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms-max")
			b.ReportMetric(float64(used.Microseconds())/float64(sites*len(took)), "cpu-µs/site")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(sites*len(took)), "allocs/site")
		})
	}
}

// TestMemoryOfIdleSessions holds what an idle session keeps in memory: no codec, which would be 160 KiB for a decoder and more for an encoder.
// Both halves of a session are in this process, each with a QUIC connection (62 to 66 KiB of a bare one at the center) and a
// goroutine for each of its streams; the copy that the child has is here, too. The limit leaves room for the race detector (250 KiB without).
func TestMemoryOfIdleSessions(t *testing.T) {
	const sites, limit = 100, 370 << 10
	held := func() uint64 {
		runtime.GC()
		runtime.GC() // what is in pools goes the second time
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	warm := newFleet(t, 1, "")
	k, body := deployment(1)
	warm.place(t, k, body)
	before := held()
	f := newFleet(t, sites, "")
	for i := range 20 {
		k, body := deployment(i)
		f.place(t, k, body)
	}
	for end := time.Now().Add(time.Minute); parentGoroutines() != 3*(sites+1); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d idle sessions have %d goroutines at the parent, want one for each stream of three", sites+1, parentGoroutines())
		}
	}
	each := (held() - before) / sites
	t.Logf("an idle session holds %d KiB in both halves together (limit %d)", each>>10, limit>>10)
	if each > limit {
		t.Errorf("an idle session holds %d bytes, at most %d", each, limit)
	}
	f.wait()
	warm.wait()
}

// parentGoroutines counts the goroutines that sessions have at the parent, but for those of QUIC and of ServeParent's callers.
func parentGoroutines() (n int) {
	stacks := make([]byte, 16<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "tunnel.(*parent)") || strings.Contains(stack, "created by skerry.dev/skerry/tunnel/delta.Start") || strings.Contains(stack, "tunnel/work.") {
			n++
		}
	}
	return n
}
