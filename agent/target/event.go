package target

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// EventBody is what only an Event has. In other kinds, where fields of these names may be anything,
// it means nothing.
type EventBody struct {
	InvolvedObject     json.RawMessage `json:"involvedObject,omitempty"`
	Type               json.RawMessage `json:"type,omitempty"`
	Reason             json.RawMessage `json:"reason,omitempty"`
	Message            json.RawMessage `json:"message,omitempty"`
	Source             json.RawMessage `json:"source,omitempty"`
	ReportingComponent json.RawMessage `json:"reportingComponent,omitempty"`
	Count              json.RawMessage `json:"count,omitempty"`
	Series             json.RawMessage `json:"series,omitempty"`
	EventTime          json.RawMessage `json:"eventTime,omitempty"`
	FirstTimestamp     json.RawMessage `json:"firstTimestamp,omitempty"`
	LastTimestamp      json.RawMessage `json:"lastTimestamp,omitempty"`
}

// Event is an Event as both of its APIs write it.
type Event struct {
	// About is what it is about, with the UID that it had.
	About                            struct{ APIVersion, Kind, Namespace, Name, UID, FieldPath string }
	Type, Reason, Message, Component string
	// Reporter is the reporting component, which Component is where the source names none.
	Reporter    string
	Count       int64
	First, Last time.Time
}

// Event reads an object that is an Event.
func (o *Object) Event() (Event, bool) {
	var e Event
	if read(o.InvolvedObject, &e.About); e.About.UID == "" {
		return e, false
	}
	read(o.Type, &e.Type)
	read(o.Reason, &e.Reason)
	read(o.Message, &e.Message)
	e.Message = strings.TrimSpace(e.Message)
	var source struct{ Component string }
	read(o.Source, &source)
	read(o.ReportingComponent, &e.Reporter)
	e.Component = cmp.Or(source.Component, e.Reporter)
	var series struct {
		Count            int64
		LastObservedTime time.Time
	}
	read(o.Series, &series)
	read(o.Count, &e.Count)
	e.Count = max(1, e.Count, series.Count)
	for _, raw := range []json.RawMessage{o.FirstTimestamp, o.EventTime, quoted(o.Metadata.CreationTimestamp)} {
		if e.First.IsZero() {
			read(raw, &e.First)
		}
	}
	e.Last = e.First
	var last time.Time
	read(o.LastTimestamp, &last)
	for _, t := range []time.Time{last, series.LastObservedTime} {
		if t.After(e.Last) {
			e.Last = t
		}
	}
	return e, true
}

// read leaves a value as it is where there is none of its type.
func read(raw json.RawMessage, into any) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, into)
	}
}

func quoted(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(`"` + s + `"`)
}
