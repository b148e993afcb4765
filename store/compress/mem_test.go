package compress

import (
	"runtime"
	"testing"

	"skerry.dev/skerry/store/storetest"
)

// A Codec must fit into an agent of 15 MB.
func TestMemory(t *testing.T) {
	storetest.Figure(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	c.Encode(nil, make([]byte, 1<<20))
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 2<<20 {
		t.Errorf("a Codec holds %d KiB, at most 2048", held>>10)
	} else {
		t.Logf("%d KiB", held>>10)
	}
	c.ReleaseMemory()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 100<<10 {
		t.Errorf("a Codec at rest holds %d KiB, at most 100", held>>10)
	}
	if got, err := c.Decode(nil, c.Encode(nil, []byte("again")), 5); err != nil ||
		string(got) != "again" {
		t.Errorf("after a rest: %q, %v", got, err)
	}
	runtime.KeepAlive(c)
}

// What is kept by the thousand must not carry the room that the encoder worked in.
func TestFrameFits(t *testing.T) {
	c := Default()
	for _, n := range []int{100, 2000, 30000} {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i * i >> 3)
		}
		if frame := c.Encode(nil, src); cap(frame) > len(frame)+len(frame)/4+64 {
			t.Errorf("a frame of %d bytes takes %d", len(frame), cap(frame))
		}
	}
}

func BenchmarkWake(b *testing.B) {
	c, err := New()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.ReleaseMemory()
		c.Encode(nil, []byte("{}"))
	}
}
