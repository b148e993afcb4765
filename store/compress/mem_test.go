package compress

import (
	"runtime"
	"testing"
)

// A Codec must fit into an agent of 15 MB.
func TestMemory(t *testing.T) {
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
	runtime.KeepAlive(c)
}
