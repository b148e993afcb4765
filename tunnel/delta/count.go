package delta

import (
	"io"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// counter counts the frames of one end of a stream.
type counter struct {
	meter   *traffic.Meter
	purpose func(store.Entry) traffic.Purpose
}

// write sends a frame without objects.
func (c counter) write(w io.Writer, t wire.Type, payload []byte) error {
	c.position(traffic.Sent, payload)
	return wire.WriteFrame(w, t, payload)
}

// position counts a frame without objects.
func (c counter) position(d traffic.Direction, payload []byte) {
	c.meter.Add(d, traffic.Positions, 1, wire.FrameSize(len(payload)))
}

// batch counts a batch of n entries. Its bytes are divided among the purposes of its entries, in
// proportion to their sizes before compression. at returns an entry and that size.
func (c counter) batch(d traffic.Direction, payload []byte, n int, at func(i int) (store.Entry, int)) {
	if c.meter == nil {
		return
	}
	c.meter.Batch(d)
	bytes := wire.FrameSize(len(payload))
	if n == 0 || c.purpose == nil {
		c.meter.Add(d, traffic.Positions, 1, bytes)
		return
	}
	var each [traffic.Transport]int
	sum, first := 0, traffic.Transport
	for i := range n {
		e, size := at(i)
		p := c.purpose(e)
		each[p] += size
		sum += size
		first = min(first, p)
	}
	rest := bytes
	for p, size := range each {
		if part := bytes * size / sum; part > 0 {
			c.meter.Add(d, traffic.Purpose(p), 0, part)
			rest -= part
		}
	}
	c.meter.Add(d, first, 1, rest)
}
