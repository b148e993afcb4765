package delta

import (
	"errors"
	"fmt"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// errUnacknowledged ends the spans of what was on its way when a stream ended.
var errUnacknowledged = errors.New("the stream ended before the receiver acknowledged this")

// Tracer follows single entries. Its methods must not wait.
type Tracer interface {
	// Sending is called for each entry that is about to be sent. It returns nil for one that is not
	// followed.
	Sending(e store.Entry) Span
}

// Span is the sending of one entry, until the receiver has stored it durably.
type Span interface {
	// IDs are told to the receiver.
	IDs() wire.TraceIDs
	// End is called once; err says that the stream ended first.
	End(err error)
}

// trace begins the spans of what is about to be sent, and tells the receiver of them.
func (s *sender) trace(items []wire.Item) ([]Span, error) {
	if s.tracer == nil {
		return nil, nil
	}
	var spans []Span
	var traces []wire.Trace
	for i := range items {
		if len(spans) == wire.MaxTraces {
			break
		}
		if span := s.tracer.Sending(items[i].Entry); span != nil {
			spans = append(spans, span)
			traces = append(traces, wire.Trace{Entry: i, TraceIDs: span.IDs()})
		}
	}
	if len(traces) == 0 || !s.resume.Traces {
		return spans, nil
	}
	if err := s.counter.write(s.stream, wire.TypeTrace, wire.EncodeTraces(traces)); err != nil {
		endSpans(spans, err)
		return nil, fmt.Errorf("send traces: %w", err)
	}
	return spans, nil
}

func endSpans(spans []Span, err error) {
	for _, span := range spans {
		span.End(err)
	}
}

// traced takes the traces of the next batch.
func (r *receiver) traced(payload []byte) error {
	if r.onTraced == nil || len(r.traces) > 0 {
		return fmt.Errorf("%w: traces that were not asked for", wire.ErrMalformed)
	}
	r.counter.position(traffic.Received, payload)
	var err error
	r.traces, err = wire.DecodeTraces(payload)
	return err
}

// tellTraced tells which of the entries of a batch are followed, before they are stored.
func (r *receiver) tellTraced(entries []store.Entry) error {
	for _, t := range r.traces {
		if t.Entry >= len(entries) {
			return fmt.Errorf("%w: a trace of entry %d of %d", wire.ErrMalformed, t.Entry, len(entries))
		}
		r.onTraced(entries[t.Entry].Key, t.TraceIDs)
	}
	r.traces = nil
	return nil
}
