package metrics

import "runtime/metrics"

// Allocated is how many bytes of heap were allocated since the start, garbage or not: how much work there was, whatever it was.
func Allocated() uint64 { return heap("/gc/heap/allocs:bytes") }

// Live is how many bytes of heap the last collection has found in use.
func Live() uint64 { return heap("/gc/heap/live:bytes") }

// Room is how many bytes may be allocated until the heap is collected, at most.
func Room() uint64 {
	goal, now := heap("/gc/heap/goal:bytes"), heap("/memory/classes/heap/objects:bytes")
	return goal - min(goal, now)
}

func heap(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
