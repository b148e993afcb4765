package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseThatFails is a Lease that can fail.
type leaseThatFails struct {
	resourcelock.Interface
	err   error
	delay time.Duration
}

func (l *leaseThatFails) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.delay)
	return l.err
}

// What is documented for a center of several replicas: another one leads within 15 s.
func TestTakeoverIsAsDocumented(t *testing.T) {
	const documented, toStart = 15 * time.Second, time.Second
	if takeover+toStart > documented {
		t.Errorf("a killed leader may be followed after %v and %v to start; %v is documented", takeover, toStart, documented)
	}
}

type answers struct{ n int }

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) { a.n++; return nil, nil }

// A leader writes for as long as its last renewal is good, counted from when that was asked for,
// and reads always.
func TestDeposedLeaderDoesNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := newLeadership("me", nil, slog.New(slog.DiscardHandler)), time.Now()
		l.now = func() time.Duration { return time.Since(began) } // the bubble's time
		lease := &leaseThatFails{}
		fenced := &fencedLease{lease, l}
		server := &answers{}
		rt := &fence{server, l}
		write := func() error {
			r, _ := http.NewRequest(http.MethodPatch, "http://x", nil)
			_, err := rt.RoundTrip(r)
			return err
		}
		mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
		if !errors.Is(write(), errNotLeading) {
			t.Error("who has won nothing writes")
		}
		lease.delay = 2 * time.Second
		if err := fenced.Update(t.Context(), mine); err != nil || write() != nil {
			t.Fatalf("the leader cannot write: %v", err)
		}
		time.Sleep(renewDeadline - lease.delay - time.Millisecond)
		if err := write(); err != nil {
			t.Errorf("just before the end: %v", err)
		}
		lease.delay, lease.err = 0, errors.New("the datastore is away")
		fenced.Update(t.Context(), mine)
		time.Sleep(time.Millisecond)
		if !errors.Is(write(), errNotLeading) {
			t.Error("a leader that could not renew writes")
		}
		r, _ := http.NewRequest(http.MethodGet, "http://x", nil)
		if _, err := rt.RoundTrip(r); err != nil {
			t.Errorf("it cannot read: %v", err)
		}
		lease.err = nil
		fenced.Update(t.Context(), mine)
		if write() != nil {
			t.Error("renewed, it cannot write")
		}
		fenced.Update(t.Context(), resourcelock.LeaderElectionRecord{})
		if !errors.Is(write(), errNotLeading) {
			t.Error("a leader that has given back the lease writes")
		}
		if server.n != 4 {
			t.Errorf("%d requests went through", server.n)
		}
	})
}

// Agents that come over TCP are served while the sessions is open, and by the leader alone; else
// their handshake is refused at once.
func TestAgentsAreRefusedWhileTheDoorIsClosed(t *testing.T) {
	served := &tls.Config{}
	for name, c := range map[string]struct {
		server *Server
		open   bool
		want   bool
	}{
		"it starts":        {&Server{}, false, false},
		"it serves":        {&Server{}, true, true},
		"it does not lead": {&Server{lead: newLeadership("me", nil, slog.New(slog.DiscardHandler))}, true, false},
		"it stands by":     {&Server{lead: newLeadership("me", nil, slog.New(slog.DiscardHandler))}, false, false},
	} {
		c.server.open.Store(c.open)
		config := c.server.agentsWhileOpen(func() *tls.Config { return served })()
		if (config == served) != c.want {
			t.Errorf("%s: served is %t, want %t", name, config == served, c.want)
		}
		if config != served {
			if _, err := config.GetConfigForClient(nil); !errors.Is(err, errClosed) {
				t.Errorf("%s: refused with %v", name, err)
			}
		}
	}
}
