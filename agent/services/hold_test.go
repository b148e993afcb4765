package services

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"skerry.dev/skerry/tunnel/exchange"
)

func (p *parent) set(moves bool) {
	if moves {
		p.refuse(exchange.Moving)
	} else {
		p.refuse("")
	}
}

// refuse has nobody answer, for a reason; none has it answer.
func (p *parent) refuse(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = reason
}

// waiting is how many callers wait.
func (s *site) waiting() int {
	var out dto.Metric
	if s.Metrics.waiting.Write(&out) != nil {
		return -1
	}
	return int(out.GetGauge().GetValue())
}

// openNow is how many connections are open.
func (s *site) openNow() int {
	all, _ := s.seats.Taken()
	return all
}

// greeted reads what the Pod behind the parent says first.
func greeted(t *testing.T, conn net.Conn) {
	t.Helper()
	b := make([]byte, len("port 80: "))
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "port 80: " {
		t.Errorf("it hears %q, %v", b, err)
	}
}

// Who calls what is on its way to another site waits for it. Many ask no more often than one.
func TestCallersWaitForWhatMoves(t *testing.T) {
	s := newSite(t)
	s.up.set(true)
	var callers []net.Conn
	for range 60 {
		callers = append(callers, s.dial(t, "http"))
	}
	eventually(t, "all wait", func() bool { return s.waiting() == len(callers) })
	asked := func() int {
		s.up.mu.Lock()
		defer s.up.mu.Unlock()
		return len(s.up.calls)
	}
	first := asked()
	eventually(t, "it is asked again", func() bool { return asked() >= first+2 })
	if n := asked() - first; n > 8 {
		t.Errorf("%d callers that wait have asked %d times in two turns", len(callers), n)
	}
	s.up.set(false)
	for _, conn := range callers {
		greeted(t, conn)
	}
	if n := s.waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
	if n := s.refusedFor(refusedNowhere); n != 0 {
		t.Errorf("%d were reset", n)
	}
}

// More callers may wait than have seats: who waited gets one as others end. More than that are reset.
func TestManyCallersWait(t *testing.T) {
	s := newSite(t)
	s.up.set(true)
	var callers []net.Conn
	for range mostHeldOfSpace {
		callers = append(callers, s.dial(t, "http"))
	}
	eventually(t, "as many wait as may", func() bool { return s.waiting() == mostHeldOfSpace })
	if !isReset(s.dial(t, "http")) {
		t.Error("one more is not reset")
	}
	reset := s.refusedFor(refusedNowhere) // it may be reset while it connects, and connect again
	s.up.set(false)
	var served sync.WaitGroup
	for _, conn := range callers {
		served.Go(func() {
			greeted(t, conn)
			conn.Close()
		})
	}
	served.Wait()
	eventually(t, "all were served", func() bool { return s.waiting() == 0 && s.openNow() == 0 })
	if n := s.refusedFor(refusedNowhere) - reset; n != 0 {
		t.Errorf("%d that waited were reset", n)
	}
}

// What moves may come here. Nobody at another site answers then.
func TestWhatMovesComesHere(t *testing.T) {
	at := echo(t)
	s := &site{api: newAPI(t), up: newParent(t)}
	s.here = func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
		if r.UID != s.uid || r.SpaceUID != "u-shop" || r.Pod != "web" || r.Namespace != "app" {
			t.Errorf("it asks for %+v", r)
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(conn, "port "+r.Query.Get(exchange.OptionPort)+": ")
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: conn}, err
	}
	s.uid = s.api.Put("v1", "Service", "app", "web", service("Space", port("http", 80, "TCP")))
	run(t, s, t.TempDir())
	s.up.set(true)
	caller := s.dial(t, "http")
	eventually(t, "it waits", func() bool { return s.waiting() == 1 })
	s.clusterSlice(true)
	greeted(t, caller)
}
