package services

import (
	"errors"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// Why callers are reset is told in the log and by an Event about the Service, once for all of a minute.
func TestWhyCallersAreReset(t *testing.T) {
	s := newSite(t)
	eventually(t, "the caller is known", s.isKnown)
	s.up.mu.Lock()
	s.up.cut = true
	s.up.mu.Unlock()
	for range 3 {
		if !isReset(s.dial(t, "http")) {
			t.Fatal("it is answered")
		}
	}
	eventually(t, "there is an Event", func() bool { return len(s.api.Objects("", "events", "app")) > 0 })
	if n := s.log.count("namespace=app service=web err=\"the parent cannot be reached from this site now: cut off"); n != 1 {
		t.Errorf("told %d times in the log", n)
	}
	s.up.mu.Lock()
	s.up.cut = false
	s.up.mu.Unlock()
	s.up.refuse(exchange.Denied)
	if !isReset(s.dial(t, "http")) {
		t.Fatal("it is answered")
	}
	eventually(t, "there is another Event", func() bool { return len(s.api.Objects("", "events", "app")) == 2 })
	reasons := map[string]bool{}
	for _, o := range s.api.Objects("", "events", "app") {
		about := o["involvedObject"].(m)
		if about["kind"] != "Service" || about["name"] != "web" || about["uid"] != s.uid || o["type"] != "Warning" ||
			o["reportingComponent"] == target.FieldManager || // which is not reported
			!strings.HasPrefix(o["message"].(string), "pods of this site that call it are reset: ") {
			t.Errorf("told by %v", o)
		}
		reasons[o["reason"].(string)] = true
	}
	if !reasons["AnswersNowhere"] || !reasons[exchange.Denied] {
		t.Errorf("told for %v", reasons)
	}
}

// The same word is told once a minute, and counted; another one is a new one.
func TestTellingOnceAMinute(t *testing.T) {
	var told telling
	began := time.Now()
	for _, c := range []struct {
		after time.Duration
		why   string
		count int // 0 for what is not told
		first time.Duration
	}{{0, "a", 1, 0}, {time.Second, "a", 0, 0}, {59 * time.Second, "b", 0, 0}, {time.Minute, "a", 2, 0}, {61 * time.Second, "a", 0, 0},
		{2 * time.Minute, "b", 1, 2 * time.Minute}, {3 * time.Minute, "b", 2, 2 * time.Minute}} {
		first, count, is := told.over(began.Add(c.after), c.why)
		if is != (c.count > 0) || is && (count != c.count || !first.Equal(began.Add(c.first))) {
			t.Errorf("%s after %s: told %t, %d times since %s", c.why, c.after, is, count, first.Sub(began))
		}
	}
}

// What an Event says is bounded, as an API server has it.
func TestALongReason(t *testing.T) {
	s := newSite(t)
	eventually(t, "the name leads to the agent", s.ready)
	s.mu.Lock()
	e := s.entries[name{"app", "web"}]
	s.mu.Unlock()
	s.tell(e, errors.New(strings.Repeat("why ", 1000)))
	events := s.api.Objects("", "events", "app")
	if len(events) != 1 || len(events[0]["message"].(string)) > 1024 {
		t.Errorf("told by %v", events)
	}
}
