package streams

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// The callers of a Service with session affinity come back to the Pod that has answered them while it is ready, also
// when others become ready. Without, and where nobody knows who calls, nothing is said of the order.
func TestCallersComeBackToTheirPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Site{}
		pods := func(n int) (all []backend) {
			for i := range n {
				all = append(all, backend{uid: fmt.Sprint("4f9d1c3e-", i)})
			}
			return all
		}
		answers := func(caller string, during time.Duration, all []backend) string {
			r := call("80")
			if r.UID = "u-web"; caller != "" {
				r.Caller = exchange.Caller{Address: netip.MustParseAddr(caller)}.Encode()
			}
			answered := s.back(r, during, all)
			answered(all[0])
			return all[0].uid
		}
		first, at := map[string]string{}, map[string]int{}
		for i := range 100 {
			caller := fmt.Sprint("10.42.0.", i+1)
			first[caller] = answers(caller, time.Minute, pods(3))
			at[first[caller]]++
		}
		if len(at) != 3 {
			t.Errorf("100 callers of three Pods: %v", at)
		}
		time.Sleep(50 * time.Second)
		for caller, was := range first {
			all := pods(9)
			slices.Reverse(all)
			if is := answers(caller, time.Minute, all); is != was {
				t.Fatalf("%s was answered by %s, and now that there are more by %s", caller, was, is)
			}
		}
		for caller, was := range first {
			all := slices.DeleteFunc(pods(9), func(b backend) bool { return b.uid == was })
			other := answers(caller, time.Minute, all)
			if is := answers(caller, time.Minute, pods(9)); is != other {
				t.Fatalf("%s was answered by %s last, and now by %s", caller, other, is)
			}
		}
		for name, c := range map[string]struct {
			caller string
			during time.Duration
		}{"no affinity": {"10.42.0.1", 0}, "nobody knows who calls": {"", time.Minute}} {
			for _, b := range pods(3) {
				if is := answers(c.caller, c.during, []backend{b, {uid: "another"}}); is != b.uid {
					t.Errorf("%s: %s comes first instead of %s", name, is, b.uid)
				}
			}
		}
	})
}

// What a Service says of it is read, and holds for who calls.
func TestServeOneCallerByOnePod(t *testing.T) {
	s := newServed(t)
	h := s.handler(t)
	s.api.Put("v1", "Service", "web", "web", m{"spec": m{"sessionAffinity": "ClientIP",
		"sessionAffinityConfig": m{"clientIP": m{"timeoutSeconds": 60}}}})
	r := call("80")
	r.Caller = exchange.Caller{Address: netip.MustParseAddr("10.42.0.9")}.Encode()
	_, end := connect(t, h, r)
	end()
	site := h.Backend.(*Site)
	if uid, known := site.kept.Of(session{"u-web", "10.42.0.9"}); !known || uid != "u-1" {
		t.Errorf("kept to %q, %v", uid, known)
	}
	for text, want := range map[string]time.Duration{"": 0, "None": 0, "ClientIP": usualAffinity} {
		if got := (&serviceSpec{SessionAffinity: text}).affinity(); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
