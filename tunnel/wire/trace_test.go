package wire

import (
	"errors"
	"reflect"
	"testing"
)

func traceOf(entry int, id byte) Trace {
	return Trace{Entry: entry, TraceIDs: TraceIDs{Trace: [16]byte{id}, Span: [8]byte{7: id}}}
}

func TestTraces(t *testing.T) {
	list := []Trace{traceOf(0, 1), traceOf(3, 2), traceOf(MaxEntries-1, 3)}
	got, err := DecodeTraces(EncodeTraces(list))
	if err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("%v, %v", got, err)
	}
	many := make([]Trace, MaxTraces+1)
	for i := range many {
		many[i] = traceOf(i, 1)
	}
	whole := EncodeTraces(list)
	for what, b := range map[string][]byte{
		"too many":    EncodeTraces(many),
		"no trace ID": EncodeTraces([]Trace{{TraceIDs: TraceIDs{Span: [8]byte{1}}}}),
		"no span ID":  EncodeTraces([]Trace{{TraceIDs: TraceIDs{Trace: [16]byte{1}}}}),
		"twice":       EncodeTraces([]Trace{traceOf(1, 1), traceOf(1, 1)}),
		"far away":    EncodeTraces([]Trace{traceOf(MaxEntries, 1)}),
		"cut off":     whole[:len(whole)-1],
		"too long":    append(whole[:len(whole):len(whole)], 0),
		"empty":       nil,
	} {
		if got, err := DecodeTraces(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

func FuzzTraces(f *testing.F) {
	f.Add(EncodeTraces([]Trace{traceOf(0, 1), traceOf(3, 2)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := DecodeTraces(b)
		if err != nil {
			return
		}
		again, err := DecodeTraces(EncodeTraces(list))
		if err != nil || !reflect.DeepEqual(again, list) {
			t.Errorf("%v, then %v, %v", list, again, err)
		}
	})
}
