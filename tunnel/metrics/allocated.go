package metrics

import "runtime/metrics"

// Allocated is how many bytes of heap were allocated since the start, garbage or not: how much work there was, whatever it was.
func Allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
