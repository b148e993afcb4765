package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/upward"
)

func TestMain(m *testing.M) { leak.Main(m) }

// world is what a center knows: where Services are, and what the sites answer.
type world struct {
	mu     sync.Mutex
	at     []string // where the Service web is
	rtt    map[string]time.Duration
	answer map[string]error         // of a site; nil greets
	late   map[string]time.Duration // what sites take
	asked  []string
	// callers are those of which each of them has heard.
	callers []string
	up      upward.Opener // to the parent of a relay
	moves   bool
	closed  []string
	// offers are what the Service derived stands for, offered where these are, and moving those that are on their way.
	offers  []Offer
	offered map[store.Key][]string
	moving  map[string]bool // by space
	keeps   time.Duration
}

// named are paris and where it is.
func (w *world) named(store.Key, string) ([]string, bool) {
	return append([]string{"paris"}, w.at...), !w.moves
}

var errBusy = &exchange.Fault{Code: http.StatusTooManyRequests, Message: "busy"}

// serving knows the Service web, which has another UID at the parent, and lone, which no parent has sent.
func (w *world) serving(target string, k store.Key, uid string) (at []string, above string, has bool) {
	at = slices.DeleteFunc(slices.Clone(w.at), func(t string) bool { return t == target })
	switch web := (store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}); {
	case k == web && uid == "u-1":
		return at, "u-above", true
	case k.Name == "lone":
		return at, "", true
	case k.Name == "derived" && target != "":
		if w.up != nil {
			above = "u-above"
		}
		return nil, above, true
	case w.offered[k] != nil && target == "":
		return slices.Clone(w.offered[k]), "", true
	}
	return nil, "", false
}

func (w *world) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	w.mu.Lock()
	w.asked, w.callers = append(w.asked, target), append(w.callers, r.Caller)
	err, late := w.answer[target], w.late[target]
	w.mu.Unlock()
	select {
	case <-time.After(late):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if wrong := r.Check(); wrong != nil {
		return nil, wrong
	}
	switch {
	case errors.Is(err, errBusy):
		return errBusy.Response(), nil
	case err != nil:
		return nil, err
	}
	here, there := net.Pipe()
	go func() {
		_, _ = fmt.Fprintf(there, "%s of %s, port %s", r.Query.Get(exchange.OptionHost)+r.Pod, target,
			r.Query.Get(exchange.OptionPort))
		if r.Space != "shop" {
			_, _ = fmt.Fprintf(there, ", %s %s", r.Space, r.Origin)
		}
		there.Close()
	}()
	header := exchange.Bytes()
	upward.LeadHere(header, []upward.Here{{Space: "guard", Namespace: "app", Service: "db", UID: "of-guard"}}) // no target's to say
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: header, Body: here}, nil
}

func (w *world) services() *Services {
	return New(Config{Serving: w.serving, Sites: w, Closed: func(string, store.Key) []string { return w.closed }, Named: w.named,
		Callable: func(store.Key, string) (string, error) { return "u-1", nil },
		Imports:  func(k store.Key) (string, []Offer, bool) { return "db", w.offers, k.Name == "derived" },
		Moves:    func(k store.Key) bool { return w.moves || w.moving[k.Space] }, Parent: w.up, Log: slog.New(slog.DiscardHandler),
		Affinity: func(store.Key) time.Duration { return w.keeps },
		RTT:      func(t string) (time.Duration, bool) { d, known := w.rtt[t]; return d, known }})
}

var call = upward.ServiceCall{Namespace: "app", Service: "web", UID: "u-1", Port: 80}

// ask calls a Service from paris.
func (w *world) ask(t *testing.T, c upward.ServiceCall) (string, error) {
	t.Helper()
	s := w.services()
	up := upward.NewTransport(tunneltest.ServeStreams(t, upward.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			space, site, err := upward.Arrived(r.Header, "paris")
			if err != nil {
				t.Error(err)
			}
			s.Serve(w, r, "paris", site, space)
		})}))
	t.Cleanup(up.CloseIdleConnections)
	conn, err := upward.Call(t.Context(), up, "shop", "", c)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	return string(text), err
}

// The nearest site is asked first, and the next one where that has no ready Pod, has too much to do, or is away.
// The site that calls is none of them.
func TestTheNearestSiteThatAnswers(t *testing.T) {
	away := &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "away"}
	for name, c := range map[string]struct {
		answer map[string]error
		want   string
		asked  []string
	}{
		"the nearest":  {nil, "web of oslo, port 80", []string{"oslo"}},
		"away":         {map[string]error{"oslo": away}, "web of rome, port 80", []string{"oslo", "rome"}},
		"busy":         {map[string]error{"oslo": errBusy, "rome": away}, "web of bern, port 80", []string{"oslo", "rome", "bern"}},
		"none of them": {map[string]error{"oslo": away, "rome": away, "bern": away}, "", []string{"oslo", "rome", "bern"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{at: []string{"bern", "paris", "rome", "oslo"}, answer: c.answer,
				rtt: map[string]time.Duration{"rome": 2 * time.Millisecond, "oslo": time.Millisecond, "paris": 0}}
			text, err := w.ask(t, call)
			if text != c.want || (err == nil) != (c.want != "") || !slices.Equal(w.asked, c.asked) {
				t.Errorf("%q, %v, asked %v", text, err, w.asked)
			}
			if err != nil && exchange.FaultOf(err).Code != http.StatusServiceUnavailable {
				t.Errorf("refused with %v", err)
			}
		})
	}
}

// A Pod is called by its host name at whatever site has it, also by a relay for its parent.
func TestACallOfAPod(t *testing.T) {
	w := &world{at: []string{"oslo"}}
	c := call
	c.Host = "db-0."
	if _, err := w.ask(t, c); exchange.FaultOf(err).Code != http.StatusBadRequest {
		t.Errorf("no name: %v", err)
	}
	c.Host = "db-0"
	if text, err := w.ask(t, c); text != "db-0web of oslo, port 80" {
		t.Errorf("%q, %v", text, err)
	}
	r := exchange.ToService("shop", "app", "web", "db-0", 80)
	r.Origin = "u-1"
	resp, err := w.services().Answer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); string(text) != "db-0web of oslo, port 80" {
		t.Errorf("for the parent: %q, %v", text, err)
	}
}

// A site gets nothing of a Service that it has not, and a Service that is nowhere else says so.
func TestACallIsRefused(t *testing.T) {
	w := &world{at: []string{"paris"}}
	if _, err := w.ask(t, call); exchange.FaultOf(err).Code != http.StatusServiceUnavailable {
		t.Errorf("nowhere else: %v", err)
	}
	other := call
	other.UID = "u-2"
	if _, err := w.ask(t, other); exchange.FaultOf(err).Code != http.StatusForbidden || len(w.asked) > 0 {
		t.Errorf("another Service: %v, asked %v", err, w.asked)
	}
	other.Namespace = "../x"
	if _, err := w.ask(t, other); exchange.FaultOf(err).Code != http.StatusBadRequest {
		t.Errorf("no name: %v", err)
	}
}

// Policies that keep a caller out are told as such where they are the reason. A site that lets it in answers.
func TestACallThatPoliciesRefuse(t *testing.T) {
	denied := &exchange.Fault{Code: http.StatusForbidden, Reason: exchange.Denied, Message: "NetworkPolicy guard"}
	away := &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "away"}
	c := call
	c.Caller = `{"namespace":"front","address":"10.42.0.5"}`
	for name, w := range map[string]*world{
		exchange.Denied: {at: []string{"oslo", "rome"}, answer: map[string]error{"oslo": denied, "rome": away}},
		exchange.Moving: {at: []string{"oslo"}, answer: map[string]error{"oslo": denied}, moves: true},
		"":              {at: []string{"oslo", "rome"}, answer: map[string]error{"oslo": denied}},
	} {
		_, err := w.ask(t, c)
		if name == "" && err != nil || name != "" && exchange.FaultOf(err).Reason != name {
			t.Errorf("%q: %v", name, err)
		}
		if w.callers[0] != c.Caller {
			t.Errorf("%q: oslo hears of caller %q", name, w.callers[0])
		}
	}
}

// A site that does not answer keeps the next one waiting for its turn alone, and is heard when it answers after all.
// All together they keep nobody waiting for longer than patience.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		late map[string]time.Duration
		busy string
		took time.Duration
		want string
	}{
		"the nearest is dead":         {map[string]time.Duration{"oslo": time.Hour}, "", turn, "rome"},
		"all are dead":                {map[string]time.Duration{"oslo": time.Hour, "rome": time.Hour}, "", patience, ""},
		"the nearest is far away":     {map[string]time.Duration{"oslo": 2 * turn}, "rome", 2 * turn, "oslo"},
		"both answer, one after all":  {map[string]time.Duration{"oslo": 2 * turn, "rome": turn / 2}, "", 3 * turn / 2, "rome"},
		"one refuses, one is dead":    {map[string]time.Duration{"rome": time.Hour}, "oslo", patience, ""},
		"one refuses late, one is up": {map[string]time.Duration{"oslo": turn / 2}, "oslo", turn / 2, "rome"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{at: []string{"oslo", "rome"}, late: c.late, answer: map[string]error{c.busy: errBusy}}
				began := time.Now()
				resp, err := w.services().connect(t.Context(), "paris", "paris", "shop", call)
				if took := time.Since(began); (err == nil) != (c.want != "") || took != c.took || len(w.asked) != 2 {
					t.Fatalf("%v after %s, asked %v", err, took, w.asked)
				}
				if err == nil {
					text, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if string(text) != "web of "+c.want+", port 80" {
						t.Errorf("%q, %v", text, err)
					}
				}
			})
		})
	}
}

// A caller that goes away ends what is tried for it.
func TestACallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{at: []string{"oslo", "rome"}, late: map[string]time.Duration{"oslo": time.Hour, "rome": time.Hour}}
		ctx, cancel := context.WithTimeout(t.Context(), turn/2)
		defer cancel()
		began := time.Now()
		if _, err := w.services().connect(ctx, "paris", "paris", "shop", call); err == nil || time.Since(began) != turn/2 || len(w.asked) != 1 {
			t.Errorf("%v after %s, asked %v", err, time.Since(began), w.asked)
		}
	})
}

// What was on its way a moment ago may not answer yet.
func TestAMoveIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moves := true
		m := remembers(func(store.Key) bool { return moves })
		web, api := store.Key{Name: "web"}, store.Key{Name: "api"}
		if !m.is(web) {
			t.Error("it moves")
		}
		moves = false
		time.Sleep(settleTime - time.Millisecond)
		if !m.is(web) || m.is(api) {
			t.Error("it moved until a moment ago, and the other one did not")
		}
		time.Sleep(time.Millisecond)
		if m.is(web) {
			t.Error("it has not moved for a while")
		}
		moves = true
		for i := range 3 * mostSeen {
			m.is(store.Key{Name: fmt.Sprint(i)})
			time.Sleep(settleTime / 100)
		}
		if n := len(m.seen); n > 2*mostSeen {
			t.Errorf("%d are remembered", n)
		}
	})
}

func remembers(now func(store.Key) bool) *moves { return &moves{now: now} }
