package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/pipe"
)

// reset reports whether a connection was ended without a byte.
func isReset(conn net.Conn) bool {
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, syscall.ECONNRESET)
}

// Nobody but a Pod of the very space, with an address of its own, is served.
func TestStrangersAreReset(t *testing.T) {
	for name, change := range map[string]func(*site){
		"nobody":           func(s *site) { s.api.Remove("", "pods", "front", "caller") },
		"an ended Pod":     func(s *site) { s.caller(running("Succeeded")) },
		"the node":         func(s *site) { s.caller(m{"spec": m{"hostNetwork": true}, "status": running("")["status"]}) },
		"another space":    func(s *site) { s.namespaceOf("team", "u-team") },
		"an earlier space": func(s *site) { s.namespaceOf("shop", "u-earlier") },
		"two spaces": func(s *site) {
			s.api.Put("v1", "Namespace", "", "other", namespace("team", "u-team"))
			s.api.Put("v1", "Pod", "other", "also", running("Running"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			eventually(t, "the name leads to the agent", s.ready)
			change(s)
			s.forgets(t)
			if conn := s.dial(t, "http"); !isReset(conn) {
				t.Error("it is served")
			}
			if s.refusedFor(refusedCaller) == 0 {
				t.Error("it is not counted")
			}
		})
	}
}

// forgets waits until the site does not know any more who has the address of this machine.
func (s *site) forgets(t *testing.T) {
	t.Helper()
	eventually(t, "the change is seen", func() bool { return !s.isKnown() })
}

// isKnown reports whether the site knows who has the address of this machine.
func (s *site) isKnown() bool {
	return sightOf(s.Services, callee{key: store.Key{Space: "shop"}, spaceUID: "u-shop"}, loopback).lets
}

// caller replaces who has the address of this machine.
func (s *site) caller(is m) {
	s.api.Remove("", "pods", "front", "caller")
	s.api.Put("v1", "Pod", "front", "caller", is)
}

func (s *site) namespaceOf(space, uid string) {
	s.api.Remove("", "namespaces", "", "front")
	s.api.Put("v1", "Namespace", "", "front", namespace(space, uid))
	s.api.Put("v1", "Pod", "front", "caller", running("Running"))
}

// Who has an address is not believed while nobody tells of changes: another space's Pod may have it by now.
func TestWhatIsNotWatchedIsNotBelieved(t *testing.T) {
	for _, kind := range []string{"pods", "namespaces"} {
		s := newSite(t)
		eventually(t, "the name leads to the agent", s.ready)
		eventually(t, "the caller is known", s.isKnown)
		s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/api/v1/"+kind || r.URL.Query().Has("fieldSelector") {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		})
		s.api.CutWatches()
		s.namespaceOf("team", "u-team")
		s.forgets(t)
		if conn := s.dial(t, "http"); !isReset(conn) || s.refusedFor(refusedCaller) == 0 {
			t.Errorf("without a watch of %s another space's Pod is served", kind)
		}
	}
}

// Whoever reaches the ports of this machine holds up no Pod of the space, and has the cluster asked no more than
// now and then.
func TestStrangersHoldUpNobody(t *testing.T) {
	s := newSite(t)
	eventually(t, "the caller is known", s.isKnown)
	answer := make(chan struct{})
	asked := atomic.Int32{}
	s.api.Handle(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/pods" && r.URL.Query().Has("fieldSelector") {
			asked.Add(1)
			<-answer
		}
		return false
	})
	strangers := make([]*net.TCPConn, mostLooksOfSpace)
	for i := range strangers {
		strangers[i] = s.dialFrom(t, fmt.Sprintf("127.0.0.%d", i+2), "http")
	}
	shares := s.dialFrom(t, "127.0.0.2", "http")
	eventually(t, "the cluster is asked about each", func() bool { return int(asked.Load()) == len(strangers) })
	if conn := s.dialFrom(t, "127.0.1.2", "http"); !isReset(conn) || s.refusedFor(refusedLimit) == 0 {
		t.Error("the cluster is asked about any number of callers")
	}
	if _, err := io.ReadFull(s.dial(t, "http"), make([]byte, 4)); err != nil {
		t.Errorf("a Pod of the space is held up: %v", err)
	}
	close(answer)
	for _, conn := range append(strangers, shares) {
		if !isReset(conn) {
			t.Error("a stranger is served")
		}
	}
	if all, spaces := s.looks.open.Taken(); all != 0 || spaces != 0 {
		t.Errorf("%d of %d spaces are left", all, spaces)
	}
}

// A caller that is no Pod of the space is not asked about again at once, one that is may ask again.
func TestStrangersAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooks()
		asked := 0
		ask := func(space string, is who) who {
			got, _, refused, err := l.ask(t.Context(), store.Key{Space: space}, netip.MustParseAddr("10.0.0.1"),
				func() (who, string, error) { asked++; return is, "", nil })
			if refused != "" || err != nil {
				t.Fatal(refused, err)
			}
			return got
		}
		for _, step := range []struct {
			space    string
			is, want who
			asked    int
		}{{"shop", ours, ours, 1}, {"shop", members, members, 2}, {"shop", theirs, theirs, 3}, {"shop", ours, theirs, 3},
			{"team", nobodys, nobodys, 4}, {"team", ours, nobodys, 4}} {
			if got := ask(step.space, step.is); got != step.want || asked != step.asked {
				t.Errorf("%+v: it is %v, asked %d times", step, got, asked)
			}
		}
		time.Sleep(strangerTime)
		if got := ask("shop", ours); got != ours {
			t.Errorf("not asked about again: %v", got)
		}
	})
}

// All connections of one caller wait for one look. Where that fails, another one is made.
func TestConnectionsShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, asked := newLooks(), atomic.Int32{}
		answer := make(chan error)
		var all sync.WaitGroup
		refused := atomic.Int32{}
		ask := func() {
			all.Go(func() {
				is, from, why, _ := l.ask(t.Context(), store.Key{Space: "shop"}, netip.MustParseAddr("10.0.0.1"),
					func() (who, string, error) { asked.Add(1); err := <-answer; return ours, "front", err })
				if why != "" {
					refused.Add(1)
				} else if is != ours || from != "front" {
					t.Errorf("it is %v, from %q", is, from)
				}
			})
		}
		for range 1 + mostSharingOfSpace {
			ask()
			synctest.Wait()
		}
		ask()
		synctest.Wait()
		if asked.Load() != 1 || refused.Load() != 1 {
			t.Errorf("asked %d times, and %d are refused", asked.Load(), refused.Load())
		}
		answer <- context.DeadlineExceeded // whose answer says so, and who it is
		synctest.Wait()
		if asked.Load() != 2 {
			t.Errorf("asked %d times after a failure", asked.Load())
		}
		answer <- nil
		all.Wait()
		if open, _ := l.open.Taken(); open != 0 || len(l.asked) != 0 {
			t.Errorf("%d places are taken, %d looks are left", open, len(l.asked))
		}
		if sharing, _ := l.sharing.Taken(); sharing != 0 || refused.Load() != 1 {
			t.Errorf("%d share, %d were refused", sharing, refused.Load())
		}
	})
}

// A site asks about no more callers at a time than it may, whatever spaces they call.
func TestLooksAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, answer := newLooks(), make(chan bool)
		var all sync.WaitGroup
		ask := func(space string) (refused string) {
			_, _, refused, _ = l.ask(t.Context(), store.Key{Space: space}, netip.IPv4Unspecified(),
				func() (who, string, error) { <-answer; return ours, "", nil })
			return refused
		}
		for i := range mostLooks {
			all.Go(func() { ask(fmt.Sprint(i)) })
		}
		synctest.Wait()
		if refused := ask("one more"); refused != refusedLimit {
			t.Errorf("more than it may: %q", refused)
		}
		close(answer)
		all.Wait()
	})
}

// A Pod that calls before its kubelet has told its address is waited for, and not reset. So is each of its calls.
func TestNewcomersAreAwaited(t *testing.T) {
	s := newSite(t)
	eventually(t, "the caller is known", s.isKnown)
	s.api.Remove("", "pods", "front", "caller")
	s.forgets(t)
	s.newcomers.patience = time.Minute
	first := s.dial(t, "http")
	eventually(t, "it is waited for", func() bool { waiting, _ := s.newcomers.open.Taken(); return waiting == 1 })
	all := []net.Conn{first}
	for range 50 { // such as those of a pool
		all = append(all, s.dial(t, "http"))
	}
	eventually(t, "all are waited for", func() bool { waiting, _ := s.newcomers.open.Taken(); return waiting == len(all) })
	s.api.Put("v1", "Pod", "front", "caller", running("Running"))
	for _, conn := range all {
		if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
			t.Errorf("a new Pod is not served: %v", err)
		}
	}
}

// Newcomers have their bounds, and are told at once.
func TestNewcomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, known := newNewcomers(), atomic.Bool{}
		wait := func(space string) <-chan string {
			out := make(chan string, 1)
			go func() { out <- n.wait(t.Context(), space, known.Load) }()
			return out
		}
		var waiting []<-chan string
		for range mostNewcomersOfSpace {
			waiting = append(waiting, wait("shop"))
		}
		synctest.Wait()
		if refused := <-wait("shop"); refused != refusedLimit {
			t.Errorf("more than it may: %q", refused)
		}
		n.tell()
		synctest.Wait()
		known.Store(true)
		n.tell()
		for _, w := range waiting {
			if refused := <-w; refused != "" {
				t.Errorf("it is known, and %q", refused)
			}
		}
		known.Store(false)
		began := time.Now()
		if refused := <-wait("team"); refused != refusedCaller || time.Since(began) != newcomerTime {
			t.Errorf("nobody after %s: %q", time.Since(began), refused)
		}
	})
}

// A Pod that is known costs no question. One that is too new to be known is asked for.
func TestKnownCallersCostNothing(t *testing.T) {
	s := newSite(t)
	greeted := func() {
		t.Helper()
		if _, err := io.ReadFull(s.dial(t, "http"), make([]byte, 4)); err != nil {
			t.Error(err)
		}
	}
	asked := "/api/v1/pods?status.podIP=" + loopback
	greeted()
	if n := s.api.Listed(asked); n != 0 {
		t.Errorf("asked %d times for a Pod that is known", n)
	}
	s.mu.Lock()
	clear(s.pods)
	s.mu.Unlock()
	greeted()
	if n := s.api.Listed(asked); n == 0 {
		t.Error("not asked for a Pod that is not known")
	}
}

// A cluster that does not say who calls, and a parent that cannot be reached, end a call at once.
func TestWhatCannotBeKnownIsReset(t *testing.T) {
	s := newSite(t)
	conn := s.dial(t, "http")
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	s.up.mu.Lock()
	s.up.cut = true
	s.up.mu.Unlock()
	if conn := s.dial(t, "http"); !isReset(conn) || s.refusedFor(refusedNowhere) == 0 {
		t.Error("without a parent it is not reset")
	}
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/pods" && r.URL.Query().Has("fieldSelector") {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	s.api.Remove("", "pods", "front", "caller")
	s.forgets(t)
	if conn := s.dial(t, "http"); !isReset(conn) || s.refusedFor(refusedUnknown) == 0 {
		t.Error("without an answer of the cluster it is not reset")
	}
}

// A parent that says nothing keeps no caller waiting for longer than callers wait.
func TestASilentParent(t *testing.T) {
	const patience = 200 * time.Millisecond
	api := newAPI(t)
	s := run(t, &site{api: api, up: newParent(t), waits: patience,
		uid: api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))}, t.TempDir())
	conn := s.dial(t, "http") // which is answered
	_ = conn.Close()
	child, parent := pipe.New(pipe.Options{})
	defer child.Close(nil)
	defer parent.Close(nil)
	s.up.mu.Lock()
	s.up.deaf = child
	s.up.mu.Unlock()
	began := time.Now() // callers wait from before it is accepted
	conn = s.dial(t, "http")
	if reset, took := isReset(conn), time.Since(began); !reset || took < patience || took > patience+time.Minute {
		t.Errorf("reset %t after %s", reset, took)
	}
	eventually(t, "it is counted", func() bool { return s.refusedFor(refusedNowhere) > 0 })
}
