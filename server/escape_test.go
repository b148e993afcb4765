package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/gc"
)

// thorough is set where the tests of isolation have a minute each, as in CI; elsewhere they are
// samples of a few seconds.
var thorough = os.Getenv("SKERRY_ISOLATION") == "thorough"

// TestNoSpaceEscape puts generated requests to the API, each meant to get out of the space that its
// URL names, and holds three things against what happens: an answer carries nothing of another
// space, no write lands in another space, and no watch shows anything of another space. Whoever has
// no rights in the space gets nothing and writes nothing at all. It runs in memory, with the
// requests as bytes, as a client would send them.
func TestNoSpaceEscape(t *testing.T) {
	requests := 6_000
	if thorough {
		requests = 100_000
	}
	w := newWorld(t)
	began := time.Now()
	tried := w.attack(w.handler, append(w.phases(w.identities), w.phases(w.inside)...), requests, 20, 1)
	t.Logf(
		"requests tried %d, foreign reads, writes and events %d, in %s; answers with what is the reader's own %d (through a site %d), writes %d, requests for sites %d; answers to those with rights, by status: %v",
		tried,
		len(w.escapes),
		time.Since(began).Round(time.Millisecond),
		w.ownReads.Load(),
		w.siteReads.Load(),
		w.ownWrites.Load(),
		w.asked.Load(),
		w.statuses(),
	)
	for _, e := range w.escapes {
		t.Error(e)
	}
	if w.hooks.calls.Load() < int64(tried/1000) {
		t.Errorf("webhooks were asked %d times", w.hooks.calls.Load())
	}
	if w.siteReads.Load() == 0 {
		t.Error("no pod of a site has read what is its own")
	}
	// About one request in 600 writes what it may; the bound is one that no unlucky sample is below.
	if tried < requests || w.ownReads.Load() < int64(tried/100) || w.ownWrites.Load() < int64(tried/6000) ||
		w.asked.Load() < int64(tried/2500) {
		t.Error("too little was read or written for this to show anything")
	}
	for name, hole := range holes {
		if !thorough && name != easyHole {
			continue
		}
		t.Run("a hole is found: "+name, func(t *testing.T) {
			w.escapes = nil
			w.attack(hole(w, w.handler), w.phases(w.identities), 25_000, 1, 2)
			if len(w.escapes) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// phase is a time in which all requests name one space and come from one identity, so that every
// write in the store can be judged.
type phase struct {
	space *prey
	who   identity
}

func (w *world) phases(who []identity) []phase {
	var out []phase
	for _, s := range w.spaces {
		for _, i := range who {
			out = append(out, phase{s, i})
		}
	}
	return out
}

// escapeWorkers put requests side by side: those that watch mostly wait.
const escapeWorkers = 16

// attack spreads n requests over the phases and returns how many it made. It ends early when it has
// found enough.
func (w *world) attack(h http.Handler, phases []phase, n, enough int, seed uint64) int {
	tried := 0
	for i, p := range phases {
		w.restore()
		w.phase.Store(&p)
		watching, endWatches := context.WithCancel(w.t.Context())
		var watches sync.WaitGroup
		for _, s := range w.spaces {
			w.watch(watching, &watches, h, s)
		}
		var left atomic.Int64
		left.Store(int64((n + len(phases) - 1) / len(phases)))
		tried += int(left.Load())
		asked := h
		if p.who.site != "" {
			asked = w.c.api.FromSite(p.space.name, p.who.site)
		}
		var all sync.WaitGroup
		for worker := range escapeWorkers {
			g := &generator{w: w, phase: p, r: rand.New(rand.NewPCG(seed, uint64(i*escapeWorkers+worker)))}
			all.Go(func() {
				for left.Add(-1) >= 0 && w.found() < enough {
					w.judge(p, w.put(asked, p.who, g.request()))
				}
			})
		}
		all.Wait()
		w.settle()
		endWatches()
		watches.Wait()
		if w.found() >= enough {
			break
		}
	}
	w.phase.Store(nil)
	return tried
}

// newWorld runs a center with a garbage collector and fills its spaces.
func newWorld(t *testing.T) *world {
	hooks := &hookJudge{servers: map[string]*httptest.Server{}}
	w := &world{t: t, tokens: map[string]*prey{}, codes: map[int]int{}, hooks: hooks}
	hooks.w = w
	c := start(
		t,
		t.TempDir(),
		newAuthority(t),
		nil,
		func(config *apiserver.Config) {
			config.SpacesDomain, config.Sites = spacesDomain, bothSites{hooks, spies{w}}
			config.Target = func(name string) string { return "u-" + name }
		},
	)
	w.c, w.handler = c, c.api.Handler()
	collector := gc.New(gc.Config{API: server.NewWriter(c.api.Loopback), Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { c.api.Changes(ctx, collector) })
	all.Go(func() { check(t, collector.Run(ctx)) })
	all.Go(func() { w.followStore(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() }) // before the center's own cleanup
	w.populate()
	return w
}

func (w *world) escape(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.escapes = append(w.escapes, fmt.Sprintf(format, args...))
}

func (w *world) found() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.escapes)
}
