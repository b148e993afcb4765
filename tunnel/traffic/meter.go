package traffic

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Link is a connection whose transport counts the bytes itself: tunnel.Conn is one.
type Link interface {
	// Crossed returns how many bytes were sent and received so far, the transport's own included.
	Crossed() (sent, received uint64)
}

// Meter counts for one side of its links. An agent has one link at a time, a center one for each
// target. It implements prometheus.Collector. A nil Meter counts nothing. Its methods may be called
// concurrently.
type Meter struct {
	whole   *Meter // counts too what this one counts; nil for none
	counts  [directions][purposes]count
	batches [directions]atomic.Uint64
	failed  atomic.Uint64 // dials
	waited  prometheus.Histogram

	mu        sync.Mutex
	links     map[Link]struct{}  // sessions
	others    map[Link]struct{}  // connections that are no sessions
	ended     [directions]uint64 // bytes of links that have ended
	transport [directions]uint64 // as told last
	ends      map[string]uint64  // sessions that have ended, by reason
}

type count struct{ bytes, frames atomic.Uint64 }

// New returns a Meter.
func New() *Meter {
	return &Meter{
		links:  map[Link]struct{}{},
		others: map[Link]struct{}{},
		ends:   map[string]uint64{},
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "skerry_link_acknowledge_seconds", Help: "From sending a batch until its receiver has stored it durably.",
			Buckets: prometheus.ExponentialBuckets(0.002, 4, 9)}),
	}
}

// Part returns a Meter of one link of many. What it counts is counted by m as well, which alone
// knows what the transports add.
func (m *Meter) Part() *Meter {
	if m == nil {
		return nil
	}
	return &Meter{whole: m}
}

// Counted returns how many bytes were counted for a purpose, in both directions together. Transport
// is never counted here.
func (m *Meter) Counted(p Purpose) uint64 {
	if m == nil {
		return 0
	}
	return m.counts[Sent][p].bytes.Load() + m.counts[Received][p].bytes.Load()
}

// Add counts one frame, or a part of one with frames 0.
func (m *Meter) Add(d Direction, p Purpose, frames, bytes int) {
	if m == nil {
		return
	}
	c := &m.counts[d][p]
	c.frames.Add(uint64(frames))
	c.bytes.Add(uint64(bytes))
	m.whole.Add(d, p, frames, bytes)
}

// Batch counts a batch of entries.
func (m *Meter) Batch(d Direction) {
	if m != nil {
		m.batches[d].Add(1)
		m.whole.Batch(d)
	}
}

// Acknowledged records how long a batch has waited for its acknowledgement.
func (m *Meter) Acknowledged(after time.Duration) {
	switch {
	case m == nil:
	case m.whole != nil:
		m.whole.Acknowledged(after)
	case m.waited != nil:
		m.waited.Observe(after.Seconds())
	}
}

// Open counts a session from now on.
func (m *Meter) Open(l Link) {
	if m == nil {
		return
	}
	if m.whole != nil {
		m.whole.Open(l)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links[l] = struct{}{}
}

// OpenOther counts the bytes of a connection that is no session, from now on.
func (m *Meter) OpenOther(l Link) {
	switch {
	case m == nil:
	case m.whole != nil:
		m.whole.OpenOther(l)
	default:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.others[l] = struct{}{}
	}
}

// EndedOther notes that a connection of OpenOther has ended.
func (m *Meter) EndedOther(l Link) {
	switch {
	case m == nil:
	case m.whole != nil:
		m.whole.EndedOther(l)
	default:
		m.mu.Lock()
		defer m.mu.Unlock()
		if _, ok := m.others[l]; ok {
			delete(m.others, l)
			m.overLocked(l)
		}
	}
}

// overLocked keeps the bytes of a connection that has ended.
func (m *Meter) overLocked(l Link) {
	sent, received := l.Crossed()
	m.ended[Sent] += sent
	m.ended[Received] += received
}

// DialFailed counts a dial that made no connection.
func (m *Meter) DialFailed() {
	if m != nil {
		m.failed.Add(1)
	}
}

// Ended records that a session has ended. reason is one word of few.
func (m *Meter) Ended(l Link, reason string) {
	if m == nil {
		return
	}
	if m.whole != nil {
		m.whole.Ended(l, reason)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.links[l]; !ok {
		return
	}
	delete(m.links, l)
	m.overLocked(l)
	m.ends[reason]++
}

// Bytes returns how many bytes were counted for a purpose. Transport has what no other purpose
// accounts for. It never decreases, although what is written to a stream may not have left yet.
func (m *Meter) Bytes(d Direction, p Purpose) uint64 {
	if m == nil {
		return 0
	}
	if p != Transport {
		return m.counts[d][p].bytes.Load()
	}
	known := uint64(0)
	for p := range Transport {
		known += m.counts[d][p].bytes.Load()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.totalLocked(d)
	m.transport[d] = max(m.transport[d], total-min(known, total))
	return m.transport[d]
}

// Total returns how many bytes crossed all links.
func (m *Meter) Total(d Direction) uint64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.totalLocked(d)
}

func (m *Meter) totalLocked(d Direction) uint64 {
	total := m.ended[d]
	for _, links := range []map[Link]struct{}{m.links, m.others} {
		for l := range links {
			crossed := [directions]uint64{}
			crossed[Sent], crossed[Received] = l.Crossed()
			total += crossed[d]
		}
	}
	return total
}
