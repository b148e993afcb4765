package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// sites answer views by the name of their target.
type sites map[string]func(context.Context, *exchange.Request) (*http.Response, error)

// Do implements exchange.Sites.
func (s sites) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	answer := s[target]
	if answer == nil {
		return nil, &exchange.Fault{Code: 503, Reason: "ServiceUnavailable", Message: "site " + target + " is away"}
	}
	return answer(ctx, r)
}

type answer = func(context.Context, *exchange.Request) (*http.Response, error)

// says answers with a text.
func says(code int, text string, warnings ...string) answer {
	return func(context.Context, *exchange.Request) (*http.Response, error) {
		h := http.Header{}
		exchange.SetWarnings(h, warnings)
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

// happened is an answer with events of these names.
func happened(names ...string) string {
	all := []Event{}
	for _, name := range names {
		all = append(all, Event{Name: name, Type: "Normal", Reason: "Pulled", Count: 1})
	}
	text, _ := Encode(all)
	return string(text)
}

var from = &exchange.Request{Space: "shop", Namespace: "web", User: "vera", Groups: []string{"devs"}}

func pod(target string) Place {
	return Place{"Pod", "app", exchange.Place{Target: target, Pod: "a", UID: "u"}}
}

// TestPlaces: where an object of a space is, by its marks.
func TestPlaces(t *testing.T) {
	at := func(p ...exchange.Place) (out []exchange.Place) { return p }
	for name, c := range map[string]struct {
		kind  string
		notes map[string]string
		want  []exchange.Place
	}{
		"nowhere": {"Deployment", nil, nil},
		"placed": {"Deployment", map[string]string{exchange.Targets: "oslo,paris"},
			at(exchange.Place{Target: "oslo", Pod: "app", Origin: "here"},
				exchange.Place{Target: "paris", Pod: "app", Origin: "here"})},
		"a placed pod": {"Pod", map[string]string{exchange.Targets: "oslo"},
			at(exchange.Place{Target: "oslo", Pod: "app", Origin: "here"})},
		"a mirrored pod": {"Pod", map[string]string{exchange.ReportedFrom: "oslo", exchange.ReportedAs: "a",
			exchange.ReportedUID: "u", exchange.Targets: "paris"}, at(exchange.Place{Target: "oslo", Pod: "a", UID: "u"})},
		"not known yet": {"Pod", map[string]string{exchange.ReportedFrom: "oslo"}, nil},
		"a mirror": {"ReplicaSet", map[string]string{exchange.ReportedFrom: "oslo",
			exchange.ReportedAs: "a"}, at(exchange.Place{Target: "oslo", Pod: "a"})},
		"of its name": {"Job", map[string]string{exchange.ReportedFrom: "oslo"},
			at(exchange.Place{Target: "oslo", Pod: "app"})},
	} {
		var got []exchange.Place
		for _, p := range Places(c.kind, "app", "here", c.notes) {
			if p.Kind != c.kind || p.Name != "app" {
				t.Errorf("%s: %+v", name, p)
			}
			got = append(got, p.At)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestList: what targets say comes under the names of the space, and those that say nothing are
// named, but for those that do not have the object.
func TestList(t *testing.T) {
	const status = `{"kind":"Status","message":"site refuses does not allow this"}`
	all := sites{
		"oslo": func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
			want := "about=Pod%2Fa&limitBytes=131072&resource=events&version=v1"
			if r.Query.Encode() != want || r.UID != "u" || r.User != "vera" || r.Space != "shop" || r.Namespace != "web" ||
				r.Timeout <= 0 || r.Timeout > listTime {
				t.Errorf("asked %+v", r)
			}
			return says(200, happened("b", "a"), "the latest 2 of 3 events are shown")(ctx, r)
		},
		"paris":   says(200, happened()),
		"missing": says(404, `{"kind":"Status","message":"no pod"}`),
		"refuses": says(403, status),
		"broken":  says(200, `{"kind":"EventList","items":[]}`),
		"large":   says(200, strings.Repeat(" ", maxAnswer)+happened()),
		"moved":   says(302, ""),
	}
	var places []Place
	for _, target := range []string{"oslo", "paris", "missing", "refuses", "broken", "large", "moved", "away"} {
		places = append(places, pod(target))
	}
	got := List(t.Context(), all, from, places)
	names := []string{}
	for _, e := range got.Events {
		names = append(names, e.Place.At.Target+" "+e.Event.Name)
	}
	want := []string{"oslo " + Name("oslo", "a", "Pod", "app"), "oslo " + Name("oslo", "b", "Pod", "app")}
	slices.Sort(want)
	if !slices.Equal(names, want) || !slices.Equal(got.Sites, []string{"oslo", "paris"}) {
		t.Errorf("%q of %q, want %q", names, got.Sites, want)
	}
	const only = ": only the events that it has reported are shown: "
	for i, text := range []string{"away" + only + "site away is away", "broken" + only + "the answer is not",
		"large" + only + "the answer is not as it has to be: site large has sent more than 128 KiB",
		"moved" + only + "site moved: it answers with code 302",
		"refuses" + only + "site refuses does not allow this", "site oslo: the latest 2 of 3 events are shown"} {
		if i >= len(got.Lacks) || !strings.HasPrefix(got.Lacks[i], text) {
			t.Errorf("lacks %q, want %q at %d", got.Lacks, text, i)
		}
	}
	if len(got.Lacks) != 6 {
		t.Errorf("lacks %q", got.Lacks)
	}
}

// TestTime: a list waits 3 s at most, at a lower tier less, and has what came until then.
func TestTime(t *testing.T) {
	all := sites{"oslo": says(200, happened("a")),
		"slow": func(ctx context.Context, _ *exchange.Request) (*http.Response, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
	for _, within := range []time.Duration{time.Hour, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			begun := time.Now()
			got := List(ctx, all, from, []Place{pod("slow"), pod("oslo")})
			if took := time.Since(begun); took != min(listTime, within*3/4) || len(got.Events) != 1 ||
				!slices.Equal(got.Lacks,
					[]string{"slow: only the events that it has reported are shown: it has not answered in time"}) {
				t.Errorf("%d events after %s, lacks %q", len(got.Events), took, got.Lacks)
			}
		})
	}
}

// TestPlacesBound: one list asks a few sites, and says that there are more.
func TestPlacesBound(t *testing.T) {
	all, places := sites{}, []Place{}
	for i := range maxPlaces + 3 {
		name := fmt.Sprint("site-", i)
		all[name] = says(200, happened("a"))
		places = append(places, pod(name))
	}
	got := List(t.Context(), all, from, places)
	if len(got.Events) != maxPlaces || len(got.Lacks) != 1 || !strings.HasPrefix(got.Lacks[0], "of 3 further places") {
		t.Errorf("%d events, %q", len(got.Events), got.Lacks)
	}
}

// TestFit: what a cluster may say fits into an answer.
func TestFit(t *testing.T) {
	e := Event{Name: "a", Type: "", Reason: strings.Repeat("r", 300),
		Message: strings.Repeat("é", 700) + "\xff", Count: 0}.Fit()
	if err := e.check(); err != nil {
		t.Error(err)
	}
	if e.Type != "Normal" || len(e.Message) != 1024 || e.Count != 1 {
		t.Errorf("%+v", e)
	}
	for what, wrong := range map[string]string{
		"no list": `[]`, "another kind": `{"kind":"EventList"}`,
		"no name":      `{"kind":"SkerryEvents","items":[{"type":"Normal","count":1}]}`,
		"another type": `{"kind":"SkerryEvents","items":[{"name":"a","type":"Loud","count":1}]}`,
		"no count":     `{"kind":"SkerryEvents","items":[{"name":"a","type":"Normal"}]}`,
		"a long text": `{"kind":"SkerryEvents","items":[{"name":"a","type":"Normal","count":1,"message":"` +
			strings.Repeat("a", 1025) + `"}]}`,
		"a long word": `{"kind":"SkerryEvents","items":[{"name":"a","type":"Normal","count":1,"reason":"` +
			strings.Repeat("a", 254) + `"}]}`,
		"too many": happened(slices.Repeat([]string{"a"}, MaxEvents+1)...),
	} {
		if all, err := Decode([]byte(wrong)); !errors.Is(err, exchange.ErrAnswer) {
			t.Errorf("%s: %+v, %v", what, all, err)
		}
	}
}

// TestAsks: what reads the Events of one object, and what does not.
func TestAsks(t *testing.T) {
	r := view(from, pod("oslo"))
	if kind, name, asks := Asks(r); !asks || kind != "Pod" || name != "a" {
		t.Errorf("%s %s %t", kind, name, asks)
	}
	r.Query.Del(exchange.OptionAbout)
	if _, _, asks := Asks(r); asks {
		t.Error("a plain list of events asks about an object")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(happened("a", "b")))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(all)
		if err != nil {
			if !strings.Contains(err.Error(), "year outside") && !strings.Contains(err.Error(), "timezone") {
				t.Error(err)
			}
			return
		}
		if got, err := Decode(again); err != nil || len(got) != len(all) || !json.Valid(again) {
			t.Errorf("%s: %v, %t", again, err, reflect.DeepEqual(got, all))
		}
	})
}
