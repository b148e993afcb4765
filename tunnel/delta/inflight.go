package delta

import (
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// inFlight has the batches that are not acknowledged yet, oldest first.
type inFlight struct {
	maxBatches int
	onAck      func(store.Position)
	settle     func(store.Cursor)
	meter      *traffic.Meter
	landed     func() // there is room again
	terms      *Regulator
	stalled    func() // nothing was for long; nil is nobody

	mu       sync.Mutex
	batches  []sentBatch
	bytes    int
	full     bool // there was no room when it was asked for
	alarm    *time.Timer
	patience time.Duration // until the next alarm
	over     bool
}

// A batch that is not acknowledged after firstAlarm is told, then after twice as long each time, at
// most after longestAlarm.
const (
	firstAlarm   = 5 * time.Second
	longestAlarm = 5 * time.Minute
)

type sentBatch struct {
	bytes   int
	through store.Position
	cursor  store.Cursor // of the sender, when it has sent everything up to it
	partial bool
	at      time.Time
	spans   []Span // of its entries that are followed
}

func newInFlight(feed *store.Feed, o SendOptions, landed func()) *inFlight {
	return &inFlight{
		maxBatches: o.MaxInFlightBatches,
		onAck:      o.OnAck,
		settle:     feed.Acknowledge,
		meter:      o.Meter,
		landed:     landed,
		terms:      o.Policy,
		stalled:    o.OnStalled,
	}
}

// room reports whether another batch may be sent while at most maxBytes may be in flight. One batch
// is always allowed, however large. If there is no room, landed is called at the next
// acknowledgement.
func (f *inFlight) room(maxBytes int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.batches)
	f.full = n > 0 && (f.bytes >= maxBytes || f.maxBatches > 0 && n >= f.maxBatches)
	return !f.full
}

func (f *inFlight) sent(b sentBatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, b)
	f.bytes += b.bytes
	f.terms.flying.Store(int64(f.bytes))
	if len(f.batches) == 1 {
		f.watchLocked()
	}
}

// watchLocked waits for the acknowledgement of the oldest batch.
func (f *inFlight) watchLocked() {
	if f.stalled == nil || f.over {
		return
	}
	if f.patience = firstAlarm; f.alarm == nil {
		f.alarm = time.AfterFunc(f.patience, f.late)
	} else {
		f.alarm.Reset(f.patience)
	}
}

// late is called when the oldest batch has waited long.
func (f *inFlight) late() {
	f.mu.Lock()
	waits := len(f.batches) > 0 && !f.over
	if waits {
		f.patience = min(2*f.patience, longestAlarm)
		f.alarm.Reset(f.patience)
	}
	f.mu.Unlock()
	if waits {
		f.stalled()
	}
}

// end stops the watch, and ends the spans of what is not acknowledged.
func (f *inFlight) end() {
	var spans []Span
	defer func() { endSpans(spans, errUnacknowledged) }()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.batches {
		spans = append(spans, f.batches[i].spans...)
		f.batches[i].spans = nil
	}
	if f.over = true; f.alarm != nil {
		f.alarm.Stop()
	}
}

// ack removes the acknowledged batches. It returns an error for an acknowledgement of what was
// never sent.
func (f *inFlight) ack(a wire.Ack) error {
	f.mu.Lock()
	if a.Frames > len(f.batches) {
		f.mu.Unlock()
		return fmt.Errorf("%w: %d batches acknowledged, %d were sent", wire.ErrMalformed, a.Frames, len(f.batches))
	}
	var reached sentBatch
	var spans []Span
	whole := false
	for _, b := range f.batches[:a.Frames] {
		f.bytes -= b.bytes
		spans = append(spans, b.spans...)
		f.meter.Acknowledged(time.Since(b.at))
		if !b.partial {
			reached, whole = b, true
		}
	}
	if f.batches = append(f.batches[:0], f.batches[a.Frames:]...); len(f.batches) > 0 {
		f.watchLocked()
	} else if f.batches = nil; f.alarm != nil {
		f.alarm.Stop()
	}
	f.terms.flying.Store(int64(f.bytes))
	full := f.full
	f.full = false
	f.mu.Unlock()
	endSpans(spans, nil)
	if full {
		f.landed()
	}
	if !whole {
		return nil
	}
	f.settle(reached.cursor)
	if f.onAck != nil {
		f.onAck(reached.through)
	}
	return nil
}
