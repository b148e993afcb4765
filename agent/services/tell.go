package services

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/exchange"
)

// Why callers of a Service are reset is told in the log, and by an Event about the Service, which its space shows:
// whoever uses a space has no other way to know. Each is told once a minute.

const (
	tellEvery = time.Minute
	// tellTime bounds the write of an Event.
	tellTime = 3 * time.Second
	// component is who tells. The space hears it as it hears what controllers of the site say.
	component = "skerry-services"
	// mostTold is how much of the reason an Event says, in bytes: an API server takes 1024.
	mostTold = 900
)

// telling is what is told of callers of a Service who are reset for one reason. The zero value has told nothing.
type telling struct {
	mu    sync.Mutex
	until time.Time
	why   string
	first time.Time
	count int
}

// over reports whether it may be told now, and how often it was told since when, this time included. The next one
// begins tellEvery later. Another word is told as a new one.
func (t *telling) over(now time.Time, why string) (first time.Time, count int, is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.until) {
		return t.first, t.count, false
	}
	if t.until = now.Add(tellEvery); t.why != why {
		t.why, t.first, t.count = why, now, 0
	}
	t.count++
	return t.first, t.count, true
}

// refusedBy is the reason of a caller that is reset because of an error.
func refusedBy(err error) string {
	if exchange.IsDenied(err) {
		return refusedPolicy
	}
	return refusedNowhere
}

// tell tells why callers are reset.
func (s *Services) tell(e *entry, err error) {
	of := &e.nowhere
	says, what := "AnswersNowhere", "a Service answers at no other site; its callers are reset"
	if exchange.IsDenied(err) {
		of = &e.denied
		says, what = exchange.Denied, "NetworkPolicies elsewhere keep callers of a Service out"
	}
	now := time.Now()
	first, count, is := of.over(now, err.Error())
	if !is {
		return
	}
	s.Log.Info(what, "space", e.of.key.Space, "namespace", e.of.key.Namespace, "service", e.of.key.Name, "err", err)
	ctx, cancel := context.WithTimeout(e.ctx, tellTime)
	defer cancel()
	event := target.Recorded{
		About: target.Involved{APIVersion: "v1", Kind: "Service", Namespace: e.of.at.namespace, Name: e.of.at.service,
			UID: e.of.uid},
		Name: eventName(e.of, says, first), Type: "Warning", Reason: says,
		Message: "pods of this site that call it are reset: " + clip.Text(err.Error(), mostTold), First: first, Last: now,
		Count: count, Component: component,
	}
	if err := s.client.RecordEvent(ctx, event); err != nil {
		s.Log.Debug("cannot write an Event about a Service", "service", e.of.key.Name, "err", err)
	}
}

// eventName is that of what is told of a Service since a time.
func eventName(of callee, reason string, since time.Time) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", of.uid, reason, since.UnixNano())
	return fmt.Sprintf("%s.%x", of.at.service, h.Sum64())
}
