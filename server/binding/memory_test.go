package binding_test

import (
	"runtime"
	"testing"

	. "skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store/storetest"
)

// mostPlaceBytes is what a further target of a unit may take in memory, whatever the number of the
// unit's objects.
const mostPlaceBytes = 64

func TestMemoryOfAPlace(t *testing.T) {
	storetest.Figure(t)
	const units, each = 100, 1_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	x := NewIndex()
	before := heap()
	for i := range units {
		b := Binding{Unit: UnitID(uuid(i)), Record: Record{Places: make([]Place, each)}}
		for j := range b.Places {
			b.Places[j].Target = TargetID(j + 1)
		}
		x.PutBinding(b, 1)
	}
	bytes := (heap() - before) / (units * each)
	runtime.KeepAlive(x)
	t.Logf("%d bytes a place", bytes)
	if bytes > mostPlaceBytes {
		t.Errorf("%d bytes a place, at most %d", bytes, mostPlaceBytes)
	}
}
