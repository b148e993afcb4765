package services

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// answeredBy has a caller at a site call the import, and returns the target that answers.
func answeredBy(t *testing.T, w *world, s *Services, site, address string) string {
	t.Helper()
	is := call
	is.Service, is.Caller = "derived", ""
	if address != "" {
		is.Caller = exchange.Caller{Address: netip.MustParseAddr(address)}.Encode()
	}
	before := len(w.asked)
	resp, err := s.connect(t.Context(), "paris", site, "shop", is)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(w.asked) == before {
		t.Fatal("nobody was asked")
	}
	return w.asked[len(w.asked)-1]
}

func spread(keeps time.Duration) *world {
	at := []string{"oslo", "rome", "bern"}
	return &world{keeps: keeps, offers: []Offer{{offered("base"), "u"}},
		offered: map[store.Key][]string{offered("base"): at},
		rtt:     map[string]time.Duration{"oslo": time.Millisecond, "rome": time.Millisecond, "bern": time.Millisecond}}
}

// Callers of a Service with session affinity come back to where they were answered, whatever is nearer meanwhile, while
// that answers and for as long as the Service says. Others do not.
func TestCallersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spread(time.Minute)
		s := w.services()
		at, first := map[string]bool{}, map[string]string{}
		for i := range 64 {
			caller := fmt.Sprint("10.42.0.", i+1)
			first[caller] = answeredBy(t, w, s, "paris", caller)
			at[first[caller]] = true
		}
		if len(at) != 3 {
			t.Errorf("64 callers are answered at %v alone", at)
		}
		back := func(what string) {
			t.Helper()
			for caller, was := range first {
				if is := answeredBy(t, w, s, "paris", caller); is != was {
					t.Fatalf("%s: %s was answered by %s, and by %s now", what, caller, was, is)
				}
			}
		}
		time.Sleep(50 * time.Second)
		back("in time")
		w.rtt["oslo"], w.rtt["rome"] = 9*time.Millisecond, 90*time.Millisecond
		time.Sleep(50 * time.Second)
		back("another one is nearer")
		const caller = "10.42.0.1"
		w.answer = map[string]error{first[caller]: errBusy}
		other := answeredBy(t, w, s, "paris", caller)
		w.answer = nil
		if is := answeredBy(t, w, s, "paris", caller); is != other {
			t.Errorf("it was answered by %s last, and by %s now", other, is)
		}
		time.Sleep(time.Minute)
		for caller := range first {
			if is := answeredBy(t, w, s, "paris", caller); is != "bern" {
				t.Fatalf("its time is over, and %s answers instead of the nearest", is)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			keeps  time.Duration
			caller string
		}{"no affinity": {0, "10.42.0.1"}, "nobody knows who calls": {time.Minute, ""}} {
			w, at := spread(c.keeps), map[string]bool{}
			s := w.services()
			for range 200 {
				at[answeredBy(t, w, s, "paris", c.caller)] = true
			}
			if len(at) != 3 {
				t.Errorf("%s: answered at %v alone", name, at)
			}
		}
	})
}

// A center that forgets, as one that starts, has callers come back as long as nothing else has changed.
func TestCallersComeBackToAnotherCenter(t *testing.T) {
	w := spread(time.Minute)
	for i := range 32 {
		caller := fmt.Sprint("10.42.0.", i+1)
		if a, b := answeredBy(t, w, w.services(), "paris", caller), answeredBy(t, w, w.services(), "paris", caller); a != b {
			t.Errorf("%s is answered by %s, then %s", caller, a, b)
		}
	}
}
