package events

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/exchange"
)

// Limits of an answer.
const (
	// MaxEvents is how many Events of one object a target tells, the latest.
	MaxEvents = 100
	// maxAnswer bounds the answer of one target, in bytes.
	maxAnswer = 128 << 10
	// maxMessage and maxWord bound the texts of an Event, in bytes.
	maxMessage = 1024
	maxWord    = 253
)

// Event is what a target says of an object.
type Event struct {
	// Name is its own name at whoever tells it.
	Name string `json:"name"`
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Component is who says it, as "kubelet".
	Component string `json:"component,omitempty"`
	// FieldPath is the part of the object that it is about, as "spec.containers{web}".
	FieldPath string    `json:"fieldPath,omitempty"`
	Count     int64     `json:"count"` // 1 at least
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}

// Fit returns the Event within the limits of an answer.
func (e Event) Fit() Event {
	if e.Type != "Warning" {
		e.Type = "Normal"
	}
	e.Message, e.Count = clip.Text(e.Message, maxMessage), max(1, e.Count)
	for _, word := range []*string{&e.Reason, &e.Component, &e.FieldPath} {
		*word = clip.Text(*word, maxWord)
	}
	return e
}

// check returns an error for what no Fit Event is.
func (e *Event) check() error {
	switch {
	case e.Name == "" || len(e.Name) > maxWord:
		return fmt.Errorf("an event with the name %.80q", e.Name)
	case e.Type != "Normal" && e.Type != "Warning":
		return fmt.Errorf("an event of type %.80q", e.Type)
	case len(e.Message) > maxMessage || !utf8.ValidString(e.Message):
		return fmt.Errorf("an event with a message of %d bytes", len(e.Message))
	case e.Count < 1:
		return fmt.Errorf("an event with the count %d", e.Count)
	}
	for _, word := range []string{e.Reason, e.Component, e.FieldPath} {
		if len(word) > maxWord || !utf8.ValidString(word) {
			return fmt.Errorf("an event with a field of %d bytes", len(word))
		}
	}
	return nil
}

// kindOfList tells the answer from another document.
const kindOfList = "SkerryEvents"

type document struct {
	Kind  string  `json:"kind"`
	Items []Event `json:"items"`
}

// Encode returns a list as a view has it.
func Encode(all []Event) ([]byte, error) {
	return json.Marshal(document{Kind: kindOfList, Items: all})
}

// Decode reads a list. Its error wraps exchange.ErrAnswer.
func Decode(text []byte) ([]Event, error) {
	var all document
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%w: no list of events: %w", exchange.ErrAnswer, err)
	}
	if all.Kind != kindOfList || len(all.Items) > MaxEvents {
		return nil, fmt.Errorf("%w: %d events in a %.80q", exchange.ErrAnswer, len(all.Items), all.Kind)
	}
	for i := range all.Items {
		if err := all.Items[i].check(); err != nil {
			return nil, fmt.Errorf("%w: %w", exchange.ErrAnswer, err)
		}
	}
	return all.Items, nil
}
