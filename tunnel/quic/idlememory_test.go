package quic_test

import (
	"runtime"
	"testing"

	"skerry.dev/skerry/store/storetest"
)

// idleCost is what one idle session takes, both halves together.
type idleCost struct {
	connection int // bytes of its bare QUIC connection
	session    int // bytes of all that runs over it, the child's copy included
	goroutines int // of the session, without those of the connection
}

// idleSessions measures sessions of one process that have exchanged some objects and are silent.
func idleSessions(t testing.TB, sites, objects int) idleCost {
	t.Helper()
	warm := newFleet(t, 1, "")
	k, body := deployment(1)
	warm.place(t, k, body)
	bytes, goroutines := inUse(), runtime.NumGoroutine()
	bare := newSite(t)
	for range sites {
		bare.pair(t)
	}
	each := idleCost{connection: (inUse() - bytes) / sites}
	connected := runtime.NumGoroutine() - goroutines
	bytes, goroutines = inUse(), runtime.NumGoroutine()
	f := newFleet(t, sites, "")
	for i := range objects {
		k, body := deployment(i)
		f.place(t, k, body)
	}
	f.settle(t)
	each.session = (inUse()-bytes)/sites - each.connection
	each.goroutines = (runtime.NumGoroutine() - goroutines - connected) / sites
	f.wait()
	warm.wait()
	return each
}

// inUse returns the bytes of heap and stacks that are in use.
func inUse() int {
	runtime.GC()
	runtime.GC() // what is in pools goes the second time
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// TestIdleSessionsShareTheCodec: a center has thousands of idle sessions. None of them keeps an
// encoder or a decoder of its own, nor a goroutine for each object or change. The bounds are far
// above what BenchmarkIdleSession reports, and far below what either would cost.
func TestIdleSessionsShareTheCodec(t *testing.T) {
	storetest.Figure(t)
	const sites, objects = 50, 40
	const codec = 1 << 20 // bytes; see compress.Codec
	each := idleSessions(t, sites, objects)
	if each.session > codec/2 {
		t.Errorf("an idle session keeps %d bytes; a codec of its own would take %d", each.session, codec)
	}
	if each.goroutines > objects/2 {
		t.Errorf("an idle session of %d objects has %d goroutines", objects, each.goroutines)
	}
}

// BenchmarkIdleSession reports what an idle session takes, in both halves.
func BenchmarkIdleSession(b *testing.B) {
	var each idleCost
	for b.Loop() {
		each = idleSessions(b, 100, 20)
	}
	b.ReportMetric(float64(each.connection)/1024, "KiB-connection")
	b.ReportMetric(float64(each.session)/1024, "KiB-session")
	b.ReportMetric(float64(each.goroutines), "goroutines")
}
