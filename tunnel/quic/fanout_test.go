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
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// fleet is many sites of one center, all in this process, over QUIC on loopback. What is placed on
// one is placed on all.
type fleet struct {
	bodies  *objects // their own feed is not used
	feeds   []*store.Feed
	conns   []tunnel.Conn // the sites' ends
	acked   []atomic.Int64
	all     chan struct{} // one slot: somebody has acknowledged
	reports atomic.Int64  // that the center has stored
	placed  int64         // changes; each is reported by every site whose copy is durable
	durable bool
	wait    func()
}

// newFleet connects n sites. When dir is given their copies are durable, and each reports what it
// has stored, as an agent does whose target is infinitely fast; the center keeps these reports in
// one file.
func newFleet(t testing.TB, n int, dir string) *fleet {
	t.Helper()
	var inboxes *bolt.File
	if dir != "" {
		inboxes = openFile(t, filepath.Join(dir, "reports.db"))
	}
	s := newSite(t)
	f := &fleet{
		bodies:  newObjects(false),
		acked:   make([]atomic.Int64, n),
		all:     make(chan struct{}, 1),
		durable: dir != "",
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	shared := delta.NewShared()
	for i := range n {
		feed := store.NewFeed(store.NewIncarnation(), 0, f.bodies.Body)
		f.feeds = append(f.feeds, feed)
		child, parent := s.pair(t)
		f.conns = append(f.conns, child)
		var sink, inbox store.Sink = storetest.NewMemory(), storetest.NewMemory()
		reported := newObjects(true)
		if dir != "" {
			sink = openSink(
				t,
				openFile(t, filepath.Join(dir, fmt.Sprint(i, ".db"))),
				"desired",
				bolt.SinkOptions{OnCommit: func(keys []store.Key) {
					for _, k := range keys {
						reported.set(k, applied(int(reported.revision)))
					}
				}},
			)
			inbox = openSink(
				t,
				inboxes,
				bolt.ReportedBy(fmt.Sprint(i)),
				bolt.SinkOptions{AcceptNewIncarnation: true, DropRemoved: true,
					OnCommit: func([]store.Key) { f.reports.Add(1) }},
			)
		}
		cfg := tunneltest.Parent{Feed: feed, Inbox: inbox, OnAck: func(p store.Position) {
			f.acked[i].Store(p.Revision)
			select {
			case f.all <- struct{}{}:
			default:
			}
		}}.Config()
		cfg.Shared = shared
		served.Go(func() {
			_ = tunnel.ServeChild(ctx, child, tunnel.ChildConfig{Desired: sink, Reported: reported.Feed})
		})
		served.Go(func() {
			_ = tunnel.ServeParent(ctx, parent, cfg)
		})
	}
	f.wait = func() { cancel(); served.Wait() }
	return f
}

func openFile(t testing.TB, path string) *bolt.File {
	t.Helper()
	file, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func openSink(t testing.TB, file *bolt.File, name string, o bolt.SinkOptions) store.Sink {
	t.Helper()
	sink, err := file.Sink(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// place changes an object on all sites and returns how long it takes until all of them have stored
// it.
func (f *fleet) place(t testing.TB, k store.Key, body []byte) time.Duration {
	t.Helper()
	f.placed++
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

// applied is what an agent reports of an object whose target reports no status.
func applied(version int) []byte {
	return fmt.Appendf(
		nil,
		`{"originUID":"9b2f7a40-1111-4222-a333-123456789abc","generation":1,"applied":"%x","at":%d}`,
		random(version)[:16],
		1764000000000+version,
	)
}

// settle waits until what was placed is reported by all sites, and the last datagrams have been
// acknowledged.
func (f *fleet) settle(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(time.Minute); f.durable &&
		f.reports.Load() < f.placed*int64(len(f.feeds)); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d reports of %d changes by %d sites", f.reports.Load(), f.placed, len(f.feeds))
		}
	}
	time.Sleep(100 * time.Millisecond)
}

func (f *fleet) reached(revision int64) bool {
	for i := range f.acked {
		if f.acked[i].Load() < revision {
			return false
		}
	}
	return true
}

// packets is how many datagrams all sites have received and sent.
func (f *fleet) packets() (down, up uint64) {
	for _, c := range f.conns {
		sent, received := quic.Packets(c)
		down, up = down+received, up+sent
	}
	return down, up
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOneChangeToAllSites tells how long one change takes to be stored by all sites, whose
// half of the work is done in this process, too, and what it costs: CPU and memory of both halves,
// datagrams in both directions, until everything that follows from it is over. With durable copies,
// and reports that come back, the disk of this machine does what those of all sites do.
func BenchmarkOneChangeToAllSites(b *testing.B) {
	for _, sites := range []int{200, 1000} {
		for _, durable := range []bool{false, true} {
			b.Run(
				fmt.Sprintf("sites=%d/durable=%t", sites, durable),
				func(b *testing.B) { oneChange(b, sites, durable) },
			)
		}
	}
}

func oneChange(b *testing.B, sites int, durable bool) {
	dir := ""
	if durable {
		dir = b.TempDir()
	}
	f := newFleet(b, sites, dir)
	defer f.wait()
	k, body := deployment(1)
	f.place(b, k, body)
	f.settle(b)
	var took []time.Duration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	down, up := f.packets()
	used := cpu()
	for i := 0; b.Loop(); i++ {
		took = append(
			took,
			f.place(b, k, []byte(strings.Replace(string(body), `"replicas":3`, fmt.Sprintf(`"replicas":%d`, i+4), 1))),
		)
		f.settle(b)
	}
	used = cpu() - used
	runtime.ReadMemStats(&after)
	nowDown, nowUp := f.packets()
	each := func(n uint64) float64 { return float64(n) / float64(sites*len(took)) }
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms-max")
	b.ReportMetric(each(uint64(used.Microseconds())), "cpu-µs/site")
	b.ReportMetric(each(after.Mallocs-before.Mallocs), "allocs/site")
	b.ReportMetric(each(after.TotalAlloc-before.TotalAlloc), "alloc-B/site")
	b.ReportMetric(each(nowDown-down), "datagrams-down/site")
	b.ReportMetric(each(nowUp-up), "datagrams-up/site")
}
