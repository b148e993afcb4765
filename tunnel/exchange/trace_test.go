package exchange

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What a place says of itself and of what is behind it comes to whoever asked it, by their own names.
func TestHopsAreSeenFromWhereTheyAreRead(t *testing.T) {
	said := []Hop{{At: ".", Reason: Asks}, {At: "oslo", Reason: Answered, Pod: "web-1", Micros: 7}, {At: "deep/edge", Reason: Late}}
	for from, want := range map[string][]string{
		"nordic": {"nordic", "nordic/oslo", "nordic/deep/edge"},
		"..":     {"..", "../oslo", "../deep/edge"},
	} {
		h := http.Header{}
		there := &Trace{}
		there.Add(said...)
		there.Tell(h)
		here := &Trace{}
		here.Take(from, h)
		got := here.Hops()
		for i := range got {
			if got[i].At != want[i] || got[i].Reason != said[i].Reason || got[i].Pod != said[i].Pod || got[i].Micros != said[i].Micros {
				t.Errorf("from %s: %+v, want at %s", from, got[i], want[i])
			}
		}
		if len(got) != len(want) || h.Get(HeaderTrace) != "" {
			t.Errorf("from %s: %+v; what is left: %s", from, got, h)
		}
	}
}

// A target says nothing in the name of another place, nothing that has no end, and no connection fails by what it says.
func TestHostileHops(t *testing.T) {
	long := strings.Repeat("x", 5000)
	text := func(hops ...Hop) string {
		written, _ := json.Marshal(hops)
		return base64.RawStdEncoding.EncodeToString(written)
	}
	many := make([]Hop, 3*mostHops)
	for i := range many {
		many[i] = Hop{At: "oslo", Reason: Asks}
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"no base64":      {"%%%", 0},
		"no JSON":        {base64.RawStdEncoding.EncodeToString([]byte("{")), 0},
		"too long":       {strings.Repeat("A", mostTraced+4), 0},
		"of many":        {text(many...), mostHops},
		"of its parent":  {text(Hop{At: "../../rome", Reason: Answered}, Hop{At: "..", Reason: Answered}), 2},
		"of no place":    {text(Hop{At: "a b", Reason: Asks}, Hop{At: "\x1b[31m", Reason: Asks}), 0},
		"of a long word": {text(Hop{At: ".", Reason: long, Message: long, Pod: long}), 1},
	} {
		h, trace := http.Header{}, &Trace{}
		h.Set(HeaderTrace, c.text)
		trace.Take("evil", h)
		hops := trace.Hops()
		if len(hops) != c.want {
			t.Errorf("%s: %d Hops, want %d", name, len(hops), c.want)
		}
		for _, hop := range hops {
			if hop.At != "evil" && !strings.HasPrefix(hop.At, "evil/") || len(hop.Message) > mostSaid+3 || len(hop.Reason) > 64 || hop.Pod == long {
				t.Errorf("%s: %+v", name, hop)
			}
		}
	}
	full := &Trace{}
	for range mostHops {
		full.Add(Hop{At: "oslo", Message: strings.Repeat("ä", mostSaid)})
	}
	h := http.Header{}
	full.Tell(h)
	if text := h.Get(HeaderTrace); text == "" || len(text) > mostTraced {
		t.Errorf("%d bytes are told", len(text))
	}
	(*Trace)(nil).Add(Hop{})
	(*Trace)(nil).Tell(h)
}

// A site's own way leads over whoever it asked, and so over the one that reads.
func TestATracedCallIsReadWhereItWasAsked(t *testing.T) {
	said := &Traced{Reason: Answered, As: "web/front-1", Hops: []Hop{{At: "."}, {At: ".."}, {At: "../oslo"}, {At: "../../rome"}, {At: "../.."}}}
	got, err := ReadTraced("paris", said.Response())
	var at []string
	for _, hop := range got.Hops {
		at = append(at, hop.At)
	}
	if want := []string{"paris", ".", "oslo", "../rome", ".."}; err != nil || !reflect.DeepEqual(at, want) || got.As != said.As {
		t.Errorf("%+v, %v; want %v", got, err, want)
	}
	evil := &Traced{Reason: strings.Repeat("x", 500), Message: strings.Repeat("x", 50_000), As: "../x"}
	if got, err = ReadTraced("paris", evil.Response()); err != nil || len(got.Reason) > 64 || len(got.Message) > 4*mostSaid+3 || got.As != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadTraced("paris", answerOf(http.StatusOK, []byte(`[]`))); !errors.Is(err, ErrAnswer) {
		t.Errorf("a list: %v", err)
	}
}

// Errors have the reason of who made them.
func TestWhyAPlaceRefuses(t *testing.T) {
	for reason, err := range map[string]error{
		Moving: &Fault{Code: 503, Reason: Moving}, Denied: &Fault{Code: 403, Reason: Denied}, Closed: &Fault{Code: 403},
		Limited: &Fault{Code: 429}, NoName: &Fault{Code: 404}, Unreachable: &Fault{Code: 503}, Late: &Fault{Code: 504},
		Refused: ErrRequest, Answered: nil,
	} {
		if got := HopOf("oslo", err, time.Second); got.Reason != reason || got.At != "oslo" || got.Micros != 1e6 {
			t.Errorf("%v: %+v, want %s", err, got, reason)
		}
	}
}
