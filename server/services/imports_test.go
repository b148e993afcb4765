package services

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

func offered(space string) store.Key {
	return store.Key{Space: space, Resource: "services", Namespace: "app", Name: "db"}
}

// An import is answered by the Services that it leads to, of whatever spaces: at the site that asks, then at the nearest
// one. Another space hears of the caller's address alone.
func TestAnImportLeadsToWhatIsOffered(t *testing.T) {
	known := exchange.Caller{Namespace: "front", Labels: map[string]string{"app": "front"},
		NamespaceLabels: map[string]string{"team": "a"}, Address: netip.MustParseAddr("10.42.0.5")}
	address := exchange.Caller{Address: known.Address}.Encode()
	busy := map[string]error{"paris": errBusy, "oslo": errBusy, "rome": errBusy}
	for name, c := range map[string]struct {
		at      map[store.Key][]string
		offers  []string
		caller  string
		answer  map[string]error
		want    string
		asked   []string
		callers []string
	}{
		"of another space": {at: map[store.Key][]string{offered("base"): {"oslo"}}, offers: []string{"base"}, caller: known.Encode(),
			want: "db of oslo, port 80, base of-base", asked: []string{"oslo"}, callers: []string{address}},
		"of its own": {at: map[store.Key][]string{offered("shop"): {"oslo"}}, offers: []string{"shop"}, caller: known.Encode(),
			want: "db of oslo, port 80", asked: []string{"oslo"}, callers: []string{known.Encode()}},
		"by nobody knows whom": {at: map[store.Key][]string{offered("base"): {"oslo"}}, offers: []string{"base"},
			want: "db of oslo, port 80, base of-base", asked: []string{"oslo"}, callers: []string{""}},
		"at the site that asks": {at: map[store.Key][]string{offered("base"): {"oslo"}, offered("more"): {"paris"}},
			offers: []string{"base", "more"}, want: "db of paris, port 80, more of-more", asked: []string{"paris"}, callers: []string{""}},
		"the nearest of all": {at: map[store.Key][]string{offered("base"): {"rome"}, offered("more"): {"oslo"}}, answer: busy,
			offers: []string{"base", "more"}, asked: []string{"oslo", "rome"}, callers: []string{"", ""}},
		"it is not there any more": {offers: []string{"base"}},
		"nothing is offered":       {at: map[store.Key][]string{offered("base"): {"oslo"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{at: []string{"oslo"}, offered: c.at, answer: c.answer,
				rtt: map[string]time.Duration{"rome": 2 * time.Millisecond, "oslo": time.Millisecond, "paris": time.Second}}
			for _, space := range c.offers {
				w.offers = append(w.offers, Offer{offered(space), "of-" + space})
			}
			is := call
			is.Service, is.Caller = "derived", c.caller
			text, err := w.ask(t, is)
			if text != c.want || (err == nil) != (c.want != "") || !slices.Equal(w.asked, c.asked) ||
				!slices.Equal(w.callers, c.callers) {
				t.Errorf("%q, %v, asked %v, of %q", text, err, w.asked, w.callers)
			}
			if err != nil && !strings.Contains(err.Error(), "Service app/db of space shop answers nowhere") {
				t.Errorf("nobody knows that name: %v", err)
			}
		})
	}
}

// Callers of an import wait while what it leads to is on its way.
func TestAnImportMovesAsWhatItLeadsToDoes(t *testing.T) {
	w := &world{offers: []Offer{{offered("base"), "u"}, {offered("more"), "u"}}, offered: map[store.Key][]string{
		offered("base"): {}, offered("more"): {}}}
	is := call
	is.Service = "derived"
	if _, err := w.ask(t, is); err == nil || exchange.IsMoving(err) {
		t.Errorf("nothing moves: %v", err)
	}
	w.moving = map[string]bool{"more": true}
	if _, err := w.ask(t, is); !exchange.IsMoving(err) {
		t.Errorf("one of them moves: %v", err)
	}
}

// Callers of another space hear that it answers, or why not, and nothing of its sites, Pods and policies.
func TestASpaceKeepsItsPlacesToItself(t *testing.T) {
	denied := &exchange.Fault{Code: http.StatusForbidden, Reason: exchange.Denied, Message: "guard at oslo lets nobody in"}
	for name, c := range map[string]struct {
		answer     error
		says, hops string
	}{
		"it answers":     {nil, "", "Asks it asks space base|Answered space base answers"},
		"its policies":   {denied, "space base: its NetworkPolicies let in no caller", "|DeniedByNetworkPolicy space base: its NetworkPolicies"},
		"anything else":  {errBusy, "space base: no pod of it is ready", "|Limited space base: no pod of it is ready"},
		"what is moving": {&exchange.Fault{Code: 503, Reason: exchange.Moving, Message: "oslo"}, "space base: what answers is on", "|Moving"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{offers: []Offer{{offered("base"), "u"}}, offered: map[store.Key][]string{offered("base"): {"oslo"}},
				answer: map[string]error{"oslo": c.answer}}
			is := call
			is.Service = "derived"
			ctx, trace := exchange.Tracing(t.Context())
			resp, err := w.services().connect(ctx, "paris", "paris", "shop", is)
			if err == nil {
				resp.Body.Close()
			} else if !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v", err)
			}
			var hops []string
			for _, h := range trace.Hops() {
				hops = append(hops, h.Reason+" "+h.Message)
				if h.Pod != "" || h.At != "." {
					t.Errorf("a hop tells a place: %+v", h)
				}
			}
			text := strings.Join(hops, "|")
			if (err == nil) != (c.says == "") || !strings.Contains(text, c.hops) {
				t.Errorf("%v, hops %s", err, text)
			}
			for _, secret := range []string{"oslo", "guard"} {
				if strings.Contains(text, secret) || err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s is told: %v, %s", secret, err, text)
				}
			}
		})
	}
}

// A site that asks for itself hears what answers there, so that it needs not ask again. One below a relay does not, nor
// one whose callers are to come back to where they were. What the target that answers says of it is told nobody.
func TestASiteHearsOfWhatIsThere(t *testing.T) {
	at := map[store.Key][]string{offered("base"): {"oslo", "paris"}, offered("more"): {"oslo"}, offered("shop"): {"paris"}}
	for name, c := range map[string]struct {
		site   string
		keeps  time.Duration
		answer map[string]error
		want   string
	}{
		"the site":         {site: "paris", want: "base/of-base shop/of-shop"},
		"another answers":  {site: "paris", answer: map[string]error{"paris": errBusy}, want: "base/of-base shop/of-shop"},
		"below a relay":    {site: "paris/lyon"},
		"callers are kept": {site: "paris", keeps: time.Minute},
	} {
		w := &world{offered: at, keeps: c.keeps, answer: c.answer}
		for _, space := range []string{"base", "more", "shop"} {
			w.offers = append(w.offers, Offer{offered(space), "of-" + space})
		}
		is := call
		is.Service, is.Caller = "derived", exchange.Caller{Address: netip.MustParseAddr("10.42.0.5")}.Encode()
		resp, err := w.services().connect(t.Context(), "paris", c.site, "shop", is)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		var got []string
		for _, h := range upward.ReadHere(resp.Header) {
			got = append(got, h.Space+"/"+h.UID)
			if h.Namespace != "app" || h.Service != "db" {
				t.Errorf("%s: %+v", name, h)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
