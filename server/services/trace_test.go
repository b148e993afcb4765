package services

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/exchange"
)

func said(hops []exchange.Hop) string {
	var all []string
	for _, hop := range hops {
		all = append(all, hop.At+":"+hop.Reason)
	}
	return strings.Join(all, " ")
}

// A trace says whom the center asks, in which order, and whom it does not; where a target says nothing of itself, what
// came of asking it.
func TestATraceSaysWhomTheCenterAsks(t *testing.T) {
	away := &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "away"}
	for name, c := range map[string]struct {
		w    *world
		want string
		says string
	}{
		"nearest first": {&world{at: []string{"rome", "oslo"}, answer: map[string]error{"oslo": away},
			rtt: map[string]time.Duration{"oslo": 12 * time.Millisecond}}, ".:Asks oslo:Unreachable rome:Answered",
			"it asks oslo (12ms away), then rome"},
		"busy":    {&world{at: []string{"oslo"}, answer: map[string]error{"oslo": errBusy}}, ".:Asks oslo:Limited", "it asks oslo"},
		"closed":  {&world{closed: []string{"bern"}}, ".:Closed", "spec.allow.services of SyncTarget bern is false"},
		"nowhere": {&world{}, ".:Refused", "no other target has what answers for it"},
	} {
		ctx, trace := exchange.Tracing(t.Context())
		resp, err := c.w.services().connect(ctx, "paris", "paris", "shop", call)
		if err == nil {
			resp.Body.Close()
		}
		if hops := trace.Hops(); said(hops) != c.want || !strings.Contains(hops[0].Message, c.says) {
			t.Errorf("%s: %+v", name, hops)
		}
	}
	ctx, trace := exchange.Tracing(t.Context())
	other := call
	other.UID = "u-2"
	if _, err := (&world{at: []string{"oslo"}}).services().connect(ctx, "paris", "paris", "shop", other); err == nil ||
		said(trace.Hops()) != ".:NoName" {
		t.Errorf("%v: %+v", err, trace.Hops())
	}
}

// Of a target that does not have the name nobody is asked, and one that cannot be asked is a finding.
func TestAReviewOfASiteThatCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		from   string
		answer error
		reason string
		says   string
		asked  int
	}{
		"no name": {"rome", nil, exchange.NoName, "not even the name", 0},
		"away": {"paris", &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "paris is away"}, exchange.Unreachable,
			"says nothing of its pods: paris is away", 1},
		"closed": {"paris", &exchange.Fault{Code: http.StatusForbidden, Message: "no view"}, exchange.Closed, "no view", 1},
		"older":  {"paris", &exchange.Fault{Code: http.StatusBadRequest, Message: `there is no verb "call"`}, "", "upgrade it", 1},
	} {
		w := &world{at: []string{"oslo"}, answer: map[string]error{"paris": c.answer}}
		s, err := w.services().Review(t.Context(), "shop", v1alpha1.ServiceReviewSpec{Namespace: "app", Service: "web", From: c.from})
		switch {
		case len(w.asked) != c.asked:
			t.Errorf("%s: asked %v", name, w.asked)
		case c.reason == "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %+v, %v", name, s, err)
		case c.reason != "" && (err != nil || s.Reason != c.reason || s.Answered || !strings.Contains(s.Message, c.says) || len(s.Hops) != 1):
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}
