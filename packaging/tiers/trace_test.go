package tiers

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// traced calls the Service as the agent of the site does.
func (c *tier) traced(ctx context.Context, r *exchange.Request, live *target.Object) (*exchange.Traced, error) {
	ctx, trace := exchange.Tracing(ctx)
	caller := exchange.Caller{Namespace: "app", Labels: map[string]string{"app": "front"},
		Address: netip.MustParseAddr("10.42.0.5")}
	if r.Query.Get(exchange.OptionAs) != "" {
		caller.Labels = nil // whom the policies keep out
	}
	conn, err := upward.Call(ctx, c.call, r.Space, "", upward.ServiceCall{Namespace: r.Namespace, Service: r.Pod,
		UID: c.parent.uid(), Port: 80, Caller: caller.Encode()})
	is := exchange.HopOf(".", err, time.Millisecond)
	if err == nil {
		conn.Close()
	}
	here := exchange.Hop{At: ".", Reason: exchange.Gateway}
	return &exchange.Traced{Reason: is.Reason, Message: is.Message, Hops: append([]exchange.Hop{here}, trace.Hops()...)}, nil
}

func (f fleet) review(t *testing.T, from, as string) (*v1alpha1.ServiceReviewStatus, error) {
	t.Helper()
	return f["top"].services.Review(t.Context(), space, v1alpha1.ServiceReviewSpec{Namespace: "app", Service: service,
		From: from, Pod: as})
}

// way is what the places on the way decided, in order.
func way(s *v1alpha1.ServiceReviewStatus) string {
	var b strings.Builder
	for _, hop := range s.Hops {
		fmt.Fprintf(&b, "%s:%s ", hop.At, hop.Reason)
	}
	return strings.TrimSpace(b.String())
}

// A trace shows the way that a connection has taken, through each tier, with the names that the center has for them.
func TestATraceShowsTheWay(t *testing.T) {
	for _, c := range []struct{ from, at, way string }{
		{"direct", "oslo", "direct:Gateway .:Asks nordic:Asks nordic/oslo:Answered"},
		{"nordic/bergen", "direct", "nordic/bergen:Gateway nordic:Asks nordic/oslo:NoReadyPod .:Asks direct:Answered"},
		{"nordic/deep/edge", "rome", "nordic/deep/edge:Gateway nordic/deep:Asks nordic:Asks nordic/oslo:NoReadyPod .:Asks south:Asks " +
			"south/rome:Answered"},
		{"nordic/bergen", "oslo", "nordic/bergen:Gateway nordic:Asks nordic/oslo:Answered"},
		{"south", "edge", "south/rome:Gateway south:Asks .:Asks nordic:Asks nordic/deep:Asks nordic/deep/edge:Answered"},
	} {
		t.Run(c.from+" to "+c.at, func(t *testing.T) {
			f := newFleet(t)
			f[c.at].runs(t, f[c.at].greets)
			s, err := f.review(t, c.from, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := way(s); got != c.way || !s.Answered || !strings.HasSuffix("/"+s.Site, "/"+c.at) || s.Pod != "web-1" {
				t.Errorf("%+v\n%s, want\n%s", s, got, c.way)
			}
		})
	}
}

// Where nothing answers the trace says who refused and why: no ready Pod, a policy, a way that is closed.
func TestATraceSaysWhoRefused(t *testing.T) {
	for name, c := range map[string]struct {
		as, closed, want, reason, says string
	}{
		"no Pod":   {reason: exchange.NoReadyPod, want: "direct:Gateway .:Asks nordic:Asks nordic/oslo:NoReadyPod", says: "none of its pods is ready"},
		"policy":   {as: "app/stranger", reason: exchange.Denied, want: "direct:Gateway .:Asks nordic:Asks nordic/oslo:DeniedByNetworkPolicy", says: "NetworkPolicy callers"},
		"a closed": {closed: "oslo/services", reason: exchange.Closed, want: "direct:Gateway .:Asks nordic:Asks nordic/oslo:Closed", says: "spec.allow.services of SyncTarget oslo is false"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			if name != "no Pod" {
				f["oslo"].runs(t, f["oslo"].greets)
			}
			f["top"].on, f["nordic"].closed = []string{"nordic"}, []string{c.closed}
			s, err := f.review(t, "direct", c.as)
			if err != nil {
				t.Fatal(err)
			}
			last := s.Hops[len(s.Hops)-1]
			if s.Answered || way(s) != c.want || last.Reason != c.reason || !strings.Contains(last.Message, c.says) || s.Site != "" {
				t.Errorf("%+v\n%s", s, way(s))
			}
		})
	}
}

// How many Pods are ready comes up with the answer, through each tier.
func TestHowManyAreReady(t *testing.T) {
	f := newFleet(t)
	f["edge"].runs(t, f["edge"].greets)
	r := exchange.ToService(space, "app", service, "", 80)
	r.Origin = "top-web"
	r.Caller = exchange.Caller{Namespace: "app", Labels: map[string]string{"app": "front"},
		Address: netip.MustParseAddr("10.42.0.5")}.Encode()
	resp, err := f["top"].services.Answer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n := exchange.ReadyIn(resp.Header); n != 1 {
		t.Errorf("%d are ready", n)
	}
}

// A trace of another space, of another Service, or of a space that was made again, gets to no site. A site below a relay
// is asked for by its path.
func TestATraceOfAnotherSpace(t *testing.T) {
	f := newFleet(t)
	f["oslo"].runs(t, f["oslo"].greets)
	call := func(space, uid string, path ...string) *exchange.Request {
		return &exchange.Request{Space: space, Namespace: "app", Pod: service, Resource: exchange.Services, Verb: exchange.Call,
			Origin: uid, Path: path}
	}
	ask := func(r *exchange.Request) string {
		resp, err := f["top"].services.Call(t.Context(), r)
		if err != nil {
			return err.Error()
		}
		found, err := exchange.ReadTraced("x", resp)
		if err != nil {
			return err.Error()
		}
		return found.Reason + " " + found.Message
	}
	for name, c := range map[string]struct {
		r    *exchange.Request
		says string
	}{
		"another space":      {call("team", "top-web", "direct"), "NoName"},
		"another Service":    {call(space, "top-other", "direct"), "NoName"},
		"a site of no name":  {call(space, "top-web", "south2"), "NoName"},
		"a relay's sites":    {call(space, "top-web", "nordic"), "bergen, deep, oslo below it"},
		"below a site":       {call(space, "top-web", "direct", "more"), "nothing below it"},
		"no site of a relay": {call(space, "top-web", "nordic", "rome"), "NoName"},
	} {
		if got := ask(c.r); !strings.Contains(got, c.says) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := joined(f["top"].log.take()); strings.Contains(got, "bergen") || strings.Contains(got, "oslo") {
		t.Errorf("asked %s", got)
	}
	f["top"].spaceUID = "s-again"
	if got := ask(call(space, "top-web", "direct")); !strings.Contains(got, "NoName") {
		t.Errorf("a space that was made again: %s", got)
	}
}
