package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

var shopHook = Service{"shop", "web", "hook", 443}

// TestCallsAPod: the Pod behind the Service is called, over one connection for all calls, however
// often upstream makes its clients anew.
func TestCallsAPod(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", time.Millisecond, says("hello"))
	c := s.callers()
	for range 10 {
		if text, err := call(t.Context(), client(t, c, shopHook, "/check", bundle), "12345"); err != nil ||
			text != "hello 5" {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if n := s.dials("oslo", "hook-1"); n != 1 || s.calls("oslo", "hook-1") != 10 {
		t.Errorf("%d connections", n)
	}
	r := s.asked[0]
	if r.Space != "shop" || r.Namespace != "web" || r.Pod != "hook-1" || r.UID != "u-hook-1" ||
		r.Verb != exchange.Connect || r.Query.Get("port") != "8443" || r.User != caller {
		t.Errorf("%+v", r)
	}
}

// TestNearest: the nearest site is asked, the next one while that is away, and it again after that.
func TestNearest(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 80*time.Millisecond, says("far"))
	s.runs(shopHook, "paris", "hook-2", 2*time.Millisecond, says("near"))
	c := client(t, s.callers(), shopHook, "/", bundle)
	want := func(word string) {
		t.Helper()
		if text, err := call(t.Context(), c, ""); err != nil || !strings.HasPrefix(text, word) {
			t.Errorf("%q, %v", text, err)
		}
	}
	want("near")
	s.mu.Lock()
	near := s.pods["paris/hook-2"]
	s.faults["paris"] = &exchange.Fault{Code: 503, Message: "site paris cannot be reached"}
	s.mu.Unlock()
	near.server.CloseClientConnections()
	want("far")
	s.mu.Lock()
	delete(s.rtt, "paris") // its session has ended
	s.mu.Unlock()
	want("far")
	s.mu.Lock()
	s.faults, s.rtt["paris"] = map[string]*exchange.Fault{}, time.Millisecond
	s.mu.Unlock()
	want("far") // which is asked first for a while
	s.mu.Lock()
	s.behind[shopHook] = s.behind[shopHook][1:]
	s.mu.Unlock()
	want("near")
}

// TestNextPod: a Pod that has gone, or is not ready any more, is left for another one.
func TestNextPod(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", time.Millisecond, says("gone"))
	s.runs(shopHook, "oslo", "hook-2", time.Millisecond, says("there"))
	delete(s.pods, "oslo/hook-1")
	if text, err := call(t.Context(), client(t, s.callers(), shopHook, "/", bundle), ""); err != nil ||
		text != "there 0" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSilentSite: one that says nothing is left for another one in time.
func TestSilentSite(t *testing.T) { inBubble(t, silentSite) }

func silentSite(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, says("silent"))
	s.runs(shopHook, "paris", "hook-2", 50*time.Millisecond, says("there"))
	s.silent["oslo"] = true
	began := time.Now()
	text, err := call(t.Context(), client(t, s.callers(), shopHook, "/", bundle), "")
	if took := time.Since(began); err != nil || text != "there 0" ||
		took < 2*time.Second || took > 3*time.Second {
		t.Errorf("%q, %v after %s", text, err, took)
	}
	began = time.Now()
	if text, err := call(t.Context(), client(t, s.callers(), shopHook, "/", bundle), ""); err != nil ||
		text != "there 0" || time.Since(began) < 2*time.Second {
		t.Errorf("other callers know of that: %q, %v", text, err)
	}
}

// TestSpreads: calls side by side go to the Pods of a site in turn.
func TestSpreads(t *testing.T) {
	s := newSites(t)
	both := make(chan struct{}, 2)
	open := make(chan struct{})
	wait := func(http.ResponseWriter, *http.Request) { both <- struct{}{}; <-open }
	s.runs(shopHook, "oslo", "hook-1", 0, wait)
	s.runs(shopHook, "oslo", "hook-2", 0, wait)
	c := client(t, s.callers(), shopHook, "/", bundle)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if _, err := call(t.Context(), c, ""); err != nil {
				t.Error(err)
			}
		})
		<-both
	}
	close(open)
	all.Wait()
	if s.calls("oslo", "hook-1") != 1 || s.calls("oslo", "hook-2") != 1 {
		t.Error("one Pod got both calls")
	}
}

// TestSpacesAreApart: equal Services of two spaces, with equal trust, are called apart, and share no
// connection.
func TestSpacesAreApart(t *testing.T) {
	s := newSites(t)
	of := func(space string) Service { return Service{space, "web", "hook", 443} }
	s.runs(of("team"), "oslo", "team-1", 0, says("team"))
	s.runs(of("team-b"), "oslo", "team-b-1", 0, says("team-b"))
	c := s.callers()
	for range 3 {
		for _, space := range []string{"team", "team-b"} {
			if text, err := call(t.Context(), client(t, c, of(space), "/", bundle), ""); err != nil ||
				text != space+" 0" {
				t.Errorf("%s: %q, %v", space, text, err)
			}
		}
	}
	for _, r := range s.asked {
		if !strings.HasPrefix(r.Pod, r.Space+"-1") {
			t.Errorf("space %s has reached pod %s", r.Space, r.Pod)
		}
	}
	if len(s.asked) != 2 {
		t.Errorf("%d connections", len(s.asked))
	}
}

// TestTrustIsNotShared: a connection is not used for a configuration that does not trust it.
func TestTrustIsNotShared(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, says("x"))
	_, other := newAuthority("others")
	c := s.callers()
	if _, err := call(t.Context(), client(t, c, shopHook, "/", bundle), ""); err != nil {
		t.Fatal(err)
	}
	for _, ca := range [][]byte{other, nil} {
		if _, err := call(t.Context(), client(t, c, shopHook, "/", ca), ""); err == nil {
			t.Error("a webhook is trusted that its configuration does not trust")
		}
	}
	if n := s.dials("oslo", "hook-1"); n != 3 {
		t.Errorf("%d connections", n)
	}
	for range 2 * maxTrusts {
		_, one := newAuthority("one")
		_, _ = call(t.Context(), client(t, c, shopHook, "/", one), "")
	}
	if n := len(c.services[shopHook]); n > maxTrusts {
		t.Errorf("%d bundles are kept", n)
	}
}

// TestForgotten: what nobody calls any more is forgotten.
func TestForgotten(t *testing.T) {
	s := newSites(t)
	c := s.callers()
	for _, space := range []string{"a", "b"} {
		client(t, c, Service{space, "web", "hook", 443}, "/", bundle)
	}
	c.services[Service{"a", "web", "hook", 443}][0].used.Add(-int64(keptUnused))
	client(t, c, Service{"c", "web", "hook", 443}, "/", bundle)
	if len(c.services) != 2 || len(c.services[Service{"a", "web", "hook", 443}]) != 0 {
		t.Errorf("%d are kept", len(c.services))
	}
}

// TestManyServices: a space that names one Service after the other keeps so many and no more, and
// what it calls stays.
func TestManyServices(t *testing.T) {
	s := newSites(t)
	c := s.callers()
	busy, other := Service{"a", "web", "busy", 443}, Service{"b", "web", "hook", 443}
	client(t, c, busy, "/", bundle)
	client(t, c, other, "/", bundle)
	for i := range 3 * maxServices {
		c.services[busy][0].used.Store(time.Now().Add(time.Hour).UnixNano())
		client(t, c, Service{"a", "web", fmt.Sprint("hook-", i), 443}, "/", bundle)
	}
	if len(c.services) != maxServices+1 || len(c.services[busy]) != 1 || len(c.services[other]) != 1 {
		t.Errorf("%d are kept", len(c.services))
	}
}

// TestPodsThatGo: the connections to a Pod that is not behind the Service any more are closed.
func TestPodsThatGo(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, says("old"))
	c := s.callers()
	one := client(t, c, shopHook, "/", bundle)
	if _, err := call(t.Context(), one, ""); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.behind[shopHook] = nil
	s.mu.Unlock()
	s.runs(shopHook, "oslo", "hook-2", 0, says("new"))
	if text, err := call(t.Context(), one, ""); err != nil || text != "new 0" {
		t.Errorf("%q, %v", text, err)
	}
	if pods := c.services[shopHook][0].pods; len(pods) != 1 {
		t.Errorf("connections to %d pods are kept", len(pods))
	}
}

// TestGivenUp: a call that its client gives up while the site says nothing ends at once, and leaves
// nothing.
func TestGivenUp(t *testing.T) { inBubble(t, givenUp) }

func givenUp(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, says("x"))
	s.silent["oslo"] = true
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := call(ctx, client(t, s.callers(), shopHook, "/", bundle), ""); err == nil ||
		time.Since(began) > 3*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestHurry: while a site says nothing, only the first call waits for long, and a site that is back
// is called at once.
func TestHurry(t *testing.T) { inBubble(t, inAHurry) }

func inAHurry(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, says("x"))
	s.silent["oslo"] = true
	c := client(t, s.callers(), shopHook, "/", bundle)
	for i, most := range []time.Duration{7 * time.Second, 3 * time.Second, 3 * time.Second} {
		began := time.Now()
		_, err := call(t.Context(), c, "")
		if err == nil || !strings.Contains(err.Error(), "site oslo: it gave no answer in time") ||
			time.Since(began) > most {
			t.Errorf("%d: %v after %s", i, err, time.Since(began))
		}
	}
	s.mu.Lock()
	s.silent = map[string]bool{}
	s.mu.Unlock()
	if text, err := call(t.Context(), c, ""); err != nil || text != "x 0" {
		t.Errorf("back again: %q, %v", text, err)
	}
}

// TestMakesRoom: connections that are kept and not in use give way where a site takes no more.
func TestMakesRoom(t *testing.T) { inBubble(t, makesRoom) }

func makesRoom(t *testing.T) {
	s := newSites(t)
	other := Service{"other", "web", "hook", 443}
	s.runs(shopHook, "oslo", "hook-1", 0, says("x"))
	s.runs(other, "oslo", "hook-2", 0, says("y"))
	s.room = 1
	c := s.callers()
	for range 3 {
		for _, of := range []Service{shopHook, other} {
			if _, err := call(t.Context(), client(t, c, of, "/", bundle), ""); err != nil {
				t.Error(err)
			}
		}
	}
	// A call waits for room that others make.
	slow := Service{"slow", "web", "hook", 443}
	began := make(chan struct{})
	slowEnds, endSlow := context.WithCancel(t.Context())
	defer endSlow()
	s.runs(slow, "oslo", "hook-3", 0, func(http.ResponseWriter, *http.Request) {
		close(began)
		<-slowEnds.Done()
	})
	done := make(chan error, 1)
	go func() { _, err := call(t.Context(), client(t, c, slow, "/", bundle), ""); done <- err }()
	select {
	case <-began:
	case err := <-done:
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	refused := s.refusals()
	go func() { _, err := call(t.Context(), client(t, c, shopHook, "/", bundle), ""); waits <- err }()
	until(t, "it was refused twice", func() bool { return s.refusals() >= refused+2 })
	endSlow()
	for _, err := range []error{<-done, <-waits} {
		if err != nil {
			t.Error(err)
		}
	}
	s.room = 0
	if _, err := call(t.Context(), client(t, c, shopHook, "/", bundle), ""); err == nil ||
		!strings.Contains(err.Error(), "no more may be") {
		t.Errorf("without room: %v", err)
	}
}
