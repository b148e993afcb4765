package services

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// relaying is a relay with an import that base offers at some of its own sites, and whose parent answers.
func relaying(t *testing.T, a *above, at ...string) *world {
	w := &world{up: a.opener(t), offers: []Offer{{offered("base"), "of-base"}},
		offered: map[store.Key][]string{offered("base"): at}}
	for i, site := range at {
		if w.rtt == nil {
			w.rtt = map[string]time.Duration{}
		}
		w.rtt[site] = time.Duration(i+1) * time.Second
	}
	return w
}

// A relay leads callers of an import to what is offered at its own sites, whether its parent is there or not. It asks
// its parent last, by the UID that the import has there, and says that its own were asked.
func TestARelayAnswersForAnImport(t *testing.T) {
	for name, c := range map[string]struct {
		at      []string
		answer  map[string]error
		refuses bool
		want    string
		asked   []string
		above   []string
	}{
		"at a site of its own":          {at: []string{"oslo", "rome"}, want: "db of oslo, port 80, base of-base", asked: []string{"oslo"}},
		"at the site that asks":         {at: []string{"oslo", "paris"}, want: "db of paris, port 80, base of-base", asked: []string{"paris"}},
		"its own are busy":              {at: []string{"oslo"}, answer: map[string]error{"oslo": errBusy}, want: "from above", asked: []string{"oslo"}, above: []string{"asked"}},
		"it is not there":               {want: "from above", above: []string{"asked"}},
		"and the parent has none, too":  {at: []string{"oslo"}, answer: map[string]error{"oslo": errBusy}, refuses: true, asked: []string{"oslo"}, above: []string{"asked"}},
		"what the parent's word is for": {at: []string{"oslo"}, refuses: true, want: "db of oslo, port 80, base of-base", asked: []string{"oslo"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &above{refuses: c.refuses}
			w := relaying(t, a, c.at...)
			w.answer = c.answer
			is := call
			is.Service = "derived"
			text, err := w.ask(t, is)
			if text != c.want || (err == nil) != (c.want != "") || !slices.Equal(w.asked, c.asked) || len(a.calls) != len(c.above) {
				t.Errorf("%q, %v; asked %v, above %v", text, err, w.asked, a.calls)
			}
			for _, says := range a.calls {
				if says != "nordic/paris of shop: app/derived/u-above/80, its own asked" {
					t.Errorf("above: %s", says)
				}
			}
			if err != nil && strings.Contains(err.Error(), "oslo") {
				t.Errorf("another space's site is told: %v", err)
			}
		})
	}
}

// A relay that is cut off answers for an import, and says of one that is elsewhere why nobody does.
func TestARelayThatIsCutOffAnswersForAnImport(t *testing.T) {
	w := relaying(t, &above{}, "oslo")
	w.up = refusing{errors.New("cut off")}
	is := call
	is.Service = "derived"
	if text, err := w.ask(t, is); text != "db of oslo, port 80, base of-base" {
		t.Errorf("%q, %v", text, err)
	}
	w.answer = map[string]error{"oslo": errBusy}
	if text, err := w.ask(t, is); err == nil || !strings.Contains(err.Error(), "the parent cannot be reached") {
		t.Errorf("%q, %v", text, err)
	}
}

// A relay that has asked its own sites is asked last: others are nearer to a Pod.
func TestARelayIsNotAskedAgainFirst(t *testing.T) {
	w := &world{offers: []Offer{{offered("base"), "of-base"}}, answer: map[string]error{"rome": errBusy},
		offered: map[store.Key][]string{offered("base"): {"paris", "rome", "oslo"}},
		rtt:     map[string]time.Duration{"rome": time.Second, "oslo": 2 * time.Second}}
	for own, want := range map[bool][]string{true: {"rome", "oslo"}, false: {"paris"}} {
		w.asked = nil
		is := call
		is.Service, is.Own = "derived", own
		if text, err := w.ask(t, is); err != nil || !slices.Equal(w.asked, want) {
			t.Errorf("its own asked %v: asked %v, %q, %v", own, w.asked, text, err)
		}
	}
	w.answer["oslo"] = errBusy
	w.asked = nil
	is := call
	is.Service, is.Own = "derived", true
	if text, err := w.ask(t, is); err != nil || !slices.Equal(w.asked, []string{"rome", "oslo", "paris"}) {
		t.Errorf("nobody else: asked %v, %q, %v", w.asked, text, err)
	}
}

// A caller whom the parent's side has answered comes back there, while that answers.
func TestACallerComesBackAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &above{}
		w := relaying(t, a, "oslo")
		w.keeps, w.answer = time.Hour, map[string]error{"oslo": errBusy}
		s := w.services()
		defer s.up.CloseIdleConnections()
		is := call
		is.Service, is.Caller = "derived", exchange.Caller{Address: netip.MustParseAddr("10.42.0.5")}.Encode()
		calls := func(asked, over int) {
			t.Helper()
			w.asked, a.calls = nil, nil
			resp, err := s.connect(t.Context(), "paris", "paris", "shop", is)
			if err == nil {
				resp.Body.Close()
			}
			if err != nil || len(w.asked) != asked || len(a.calls) != over {
				t.Errorf("%v: asked %v, above %v", err, w.asked, a.calls)
			}
		}
		calls(1, 1)
		w.answer = nil
		calls(0, 1)
		if says := a.calls; len(says) != 1 || strings.Contains(says[0], "its own asked") {
			t.Errorf("above hears %v", says)
		}
		a.refuses = true
		calls(1, 1)
		a.refuses = false
		calls(1, 0)
	})
}

// refusing is a parent to whom no stream comes.
type refusing struct{ err error }

func (r refusing) OpenStream(context.Context) (tunnel.Stream, error) { return nil, r.err }
