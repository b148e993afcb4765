package metrics

import "runtime/metrics"

// Allocated returns how many bytes of heap were allocated since the start, garbage included. It
// measures how much work there was.
func Allocated() uint64 { return heap("/gc/heap/allocs:bytes") }

// Live returns how many bytes of heap the last collection has found in use.
func Live() uint64 { return heap("/gc/heap/live:bytes") }

// Room returns how many bytes may be allocated, at most, until the heap is collected.
func Room() uint64 {
	goal, now := heap("/gc/heap/goal:bytes"), heap("/memory/classes/heap/objects:bytes")
	return goal - min(goal, now)
}

func heap(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
