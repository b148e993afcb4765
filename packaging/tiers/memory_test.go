package tiers

import (
	"io"
	"runtime"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// BenchmarkIdleConnections tells what a connection that says nothing costs all tiers on its way together: two sites, and
// the relays and the center between them.
func BenchmarkIdleConnections(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f := newFleet(b)
		f["edge"].runs(b, f["edge"].greets)
		if _, err := f["rome"].ask(b, "hello"); err != nil {
			b.Fatal(err)
		}
		before := used()
		var open []io.Closer
		b.StartTimer()
		for range exchange.MostServicesOfSpace {
			conn, err := f["rome"].dial(b)
			if err != nil {
				b.Fatal(err)
			}
			open = append(open, conn)
		}
		b.StopTimer()
		b.ReportMetric(float64(used()-before)/float64(len(open)), "B/conn")
		for _, conn := range open {
			conn.Close()
		}
		b.StartTimer()
	}
}

// used is how much memory is in use, in bytes.
func used() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
