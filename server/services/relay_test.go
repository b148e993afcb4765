package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/upward"
)

// above is the parent of a relay, which greets who calls, or refuses.
type above struct {
	refuses bool
	moves   bool // nobody answers, since that moves
	stays   bool // whoever answers reads until the caller has ended
	mu      sync.Mutex
	calls   []string // SITE of SPACE: CALL, its own asked
}

func (a *above) opener(t *testing.T) upward.Opener {
	return tunneltest.ServeStreams(t, upward.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		space, site, err := upward.Arrived(r.Header, "nordic")
		call, wrong := upward.ReadServiceCall(r)
		a.mu.Lock()
		says := fmt.Sprintf("%s of %s: %s", site, space, call)
		if call.Own {
			says += ", its own asked"
		}
		a.calls = append(a.calls, says)
		a.mu.Unlock()
		switch {
		case err != nil || wrong != nil:
			t.Error(err, wrong)
		case a.moves:
			upward.WriteFault(w, &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: exchange.Moving, Message: "moves"})
			return
		case a.refuses:
			upward.WriteFault(w, &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "nobody above"})
			return
		}
		here, there := net.Pipe()
		go func() {
			_, _ = io.WriteString(there, "from above")
			if a.stays {
				_, _ = io.Copy(io.Discard, there)
			}
			there.Close()
		}()
		_ = upward.AnswerServiceCall(w, r, here)
	})})
}

// A relay asks its own sites first, and its parent last: for what the parent has sent, by the UID that it has there,
// in the name of the site that calls. Why nobody answers says what each of them has said.
func TestARelayAsksItsOwnFirst(t *testing.T) {
	away := map[string]error{"oslo": &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "oslo is away"}}
	lone := call
	lone.Service = "lone"
	for name, c := range map[string]struct {
		call    upward.ServiceCall
		answer  map[string]error
		refuses bool
		want    string
		above   int
		says    []string
	}{
		"its own":                {call, nil, false, "web of oslo, port 80", 0, nil},
		"none of its own":        {call, away, false, "from above", 1, nil},
		"nobody":                 {call, away, true, "", 1, []string{"oslo is away", "nobody above"}},
		"none that a parent has": {lone, away, false, "", 0, []string{"oslo is away"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &above{refuses: c.refuses}
			w := &world{at: []string{"paris", "oslo"}, answer: c.answer, up: a.opener(t)}
			text, err := w.ask(t, c.call)
			if text != c.want || (err == nil) != (c.want != "") || len(a.calls) != c.above || !slices.Equal(w.asked, []string{"oslo"}) {
				t.Errorf("%q, %v; asked %v, above %v", text, err, w.asked, a.calls)
			}
			if c.above > 0 && a.calls[0] != "nordic/paris of shop: app/web/u-above/80, its own asked" {
				t.Errorf("the parent was asked: %s", a.calls[0])
			}
			for _, words := range c.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%v lacks %q", err, words)
				}
			}
		})
	}
}

// Many sites that refuse make no answer that is too long to be read at the next tier.
func TestARefusalIsShort(t *testing.T) {
	w := &world{answer: map[string]error{}}
	for i := range 200 {
		at := fmt.Sprintf("site-%d", i)
		w.at = append(w.at, at)
		w.answer[at] = &exchange.Fault{Code: http.StatusServiceUnavailable, Message: at + strings.Repeat(" is far away", 50)}
	}
	_, err := w.ask(t, call)
	if err == nil || len(w.asked) != 200 || len(err.Error()) > mostWords+200 || !strings.Contains(err.Error(), "is far away") {
		t.Errorf("asked %d, %.200v", len(w.asked), err)
	}
}

// What the parent of a relay asks is asked of the relay's own sites alone.
func TestWhatCameDownNeverGoesUp(t *testing.T) {
	for name, c := range map[string]struct {
		uid    string
		answer map[string]error
		code   int
		asked  []string
	}{
		"a site answers":       {"u-1", nil, 0, []string{"oslo"}},
		"no site answers":      {"u-1", map[string]error{"oslo": errBusy, "rome": errBusy}, http.StatusServiceUnavailable, []string{"oslo", "rome"}},
		"it is another's name": {"u-2", nil, http.StatusNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := &above{}
			w := &world{at: []string{"rome", "oslo"}, answer: c.answer, up: a.opener(t),
				rtt: map[string]time.Duration{"oslo": time.Millisecond}}
			resp, err := w.services().Answer(t.Context(), &exchange.Request{Space: "shop", Namespace: "app", Pod: "web",
				Resource: exchange.Services, Origin: c.uid, Verb: exchange.Connect, Upgrade: exchange.Bytes(),
				Query: map[string][]string{exchange.OptionPort: {"80"}}})
			if err == nil {
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(text) != "web of oslo, port 80" {
					t.Errorf("answered %q", text)
				}
			}
			if code := codeOf(err); code != c.code || !slices.Equal(w.asked, c.asked) || len(a.calls) > 0 {
				t.Errorf("%v; asked %v, above %v", err, w.asked, a.calls)
			}
		})
	}
}

// deaf is a parent that has died, to whom no connection comes.
type deaf struct{}

func (deaf) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 12*time.Second)
	defer cancel()
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A dead site below a relay leaves its parent time, and a dead parent keeps nobody waiting.
func TestADeadParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{at: []string{"oslo"}, late: map[string]time.Duration{"oslo": time.Hour}, up: deaf{}}
		began := time.Now()
		_, err := w.services().connect(t.Context(), "paris", "paris", "shop", call)
		if took := time.Since(began); err == nil || took != patience {
			t.Errorf("%v after %s", err, took)
		}
		if err != nil && !strings.Contains(err.Error(), "the parent cannot be reached from this site now: it does not answer within 3s") {
			t.Errorf("it does not say that the parent was asked: %v", err)
		}
		time.Sleep(time.Minute) // the transport's own try ends
	})
}

// A relay has one share of connections to its parent, in which each space has its own.
func TestTheWayUpIsShared(t *testing.T) {
	a := &above{stays: true}
	w := &world{up: a.opener(t)}
	s := w.services()
	t.Cleanup(s.up.CloseIdleConnections)
	connect := func() (*http.Response, error) { return s.connect(t.Context(), "paris", "paris", "shop", call) }
	var open []*http.Response
	for range exchange.MostServicesOfSpace {
		resp, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, resp)
	}
	_, err := connect()
	if err == nil || !strings.Contains(err.Error(), "768 connections to Services from other sites of space shop are open") {
		t.Errorf("one more: %v", err)
	}
	if done, err := s.shares.Take("", &exchange.Request{Space: "other", Verb: exchange.Connect, Resource: exchange.Services}); err != nil {
		t.Errorf("another space: %v", err)
	} else {
		done()
	}
	for _, resp := range open {
		if half, can := resp.Body.(exchange.CloseWriter); !can || errors.Is(half.CloseWrite(), http.ErrNotSupported) {
			t.Fatal("a half does not end alone")
		}
		resp.Body.Close()
	}
	resp, err := connect()
	if err != nil {
		t.Fatalf("when all have ended: %v", err)
	}
	resp.Body.Close()
}

// A refusal says that what answers is on its way, whether that is known here or above.
func TestWhatMovesIsToldApart(t *testing.T) {
	away := map[string]error{"oslo": &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "oslo is away"}}
	for name, c := range map[string]struct {
		here, above bool
		at          []string
		want        string
	}{
		"nothing moves":        {at: []string{"oslo"}, want: "ServiceUnavailable"},
		"it moves here":        {here: true, at: []string{"oslo"}, want: exchange.Moving},
		"it is nowhere now":    {here: true, want: exchange.Moving},
		"it moves above":       {above: true, at: []string{"oslo"}, want: exchange.Moving},
		"it is nowhere at all": {want: "ServiceUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &above{refuses: !c.above, moves: c.above}
			w := &world{at: c.at, answer: away, up: a.opener(t), moves: c.here}
			_, err := w.ask(t, call)
			if err == nil || exchange.FaultOf(err).Reason != c.want {
				t.Errorf("%v, reason %q, want %q", err, exchange.FaultOf(err).Reason, c.want)
			}
		})
	}
}
