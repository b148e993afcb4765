package tunneltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

// feed returns a feed of n objects and what a copy of it holds.
func feed(n int) (*store.Feed, map[store.Key]store.Hash) {
	body := func(k store.Key) []byte { return fmt.Appendf(nil, `{"metadata":{"name":%q}}`, k.Name) }
	f := store.NewFeed(
		store.NewIncarnation(),
		0,
		func(_ context.Context, k store.Key) ([]byte, int64, error) { return body(k), 1, nil },
	)
	live := map[store.Key]store.Hash{}
	for i := range n {
		k := storetest.Key(i)
		live[k] = store.HashBody(1, body(k))
		f.Apply(int64(i+1), store.Change{Key: k, Hash: live[k], Generation: 1})
	}
	return f, live
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

type running struct {
	child, parent chan error
	stop          context.CancelCauseFunc // of the parent
}

func serve(t *testing.T, child, parent tunnel.Conn, c tunnel.ChildConfig, p Parent) running {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	r := running{make(chan error, 1), make(chan error, 1), stop}
	go func() { r.child <- tunnel.ServeChild(t.Context(), child, c) }()
	go func() { r.parent <- tunnel.ServeParent(ctx, parent, p.Config()) }()
	return r
}

// session: both directions are equal, the child holds when the parent is another one, and learns
// why the session ends.
func session(t *testing.T, child, parent tunnel.Conn) {
	desired, wantDesired := feed(300)
	reported, wantReported := feed(100)
	other := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	copyOfDesired, inbox := storetest.NewMemory(), storetest.NewMemory()
	inbox.AcceptNewIncarnation = true
	if err := inbox.Commit(t.Context(), store.Batch{Through: other}); err != nil {
		t.Fatal(err)
	}
	ready, acked, said, welcome := make(
		chan struct{},
	), make(
		chan store.Position,
		100,
	), make(
		chan tunnel.ChildStatus,
		100,
	), make(
		chan tunnel.Welcome,
		1,
	)
	conditions, offers := &tunnel.Conditions{}, 0
	conditions.ReportOffer(&tunnel.ClusterOffer{Versions: []string{"v1"}})
	r := serve(
		t,
		child,
		parent,
		tunnel.ChildConfig{Hello: tunnel.Hello{AgentVersion: "v1"}, Desired: copyOfDesired, Reported: reported,
			ReportedReady: ready, OnWelcome: func(w tunnel.Welcome) { welcome <- w }, Conditions: conditions},
		Parent{
			OnAdmit: func(_ context.Context, who tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
				if who.Target != Target || hello.AgentVersion != "v1" || time.Since(hello.Clock).Abs() > time.Minute {
					t.Errorf("admitted %+v, %+v", who, hello)
				}
				return tunnel.Admission{
					Feed:    desired,
					Inbox:   inbox,
					Welcome: tunnel.Welcome{Incarnation: desired.Head().Incarnation},
				}, nil
			},
			OnAck:    func(p store.Position) { acked <- p },
			OnStatus: func(s tunnel.ChildStatus) { said <- s },
		},
	)
	if w := wait(t, welcome, "the welcome"); w.Incarnation != desired.Head().Incarnation ||
		time.Since(w.Clock).Abs() > time.Minute {
		t.Errorf("welcomed with %+v", w)
	}
	until(t, "the desired state", func() bool { return maps.Equal(copyOfDesired.Live(), wantDesired) })
	until(t, "its acknowledgement", func() bool { return wait(t, acked, "an acknowledgement") == desired.Head() })
	if len(inbox.Live()) > 0 {
		t.Error("reports came before they were ready")
	}
	close(ready)
	until(t, "the reports", func() bool { return maps.Equal(inbox.Live(), wantReported) })
	late := tunnel.Condition{Type: tunnel.ClockInSync, Status: tunnel.False, Reason: "Behind", Message: "an hour"}
	conditions.Set(late)
	until(t, "the conditions", func() bool {
		now := wait(t, said, "conditions")
		list := now.Conditions
		if now.Offer != nil {
			offers++
		}
		return len(list) == 2 && list[0].Type == tunnel.CenterTrusted && list[0].Status == tunnel.True &&
			list[1] == late
	})
	if offers != 1 {
		t.Errorf("what the cluster offers was sent %d times", offers)
	}
	r.stop(tunnel.ErrReplaced)
	if err := wait(t, r.child, "the child's end"); !errors.Is(err, tunnel.ErrReplaced) {
		t.Errorf("the child was told %v", err)
	}
	wait(t, r.parent, "the parent's end")
}

func refusal(t *testing.T, child, parent tunnel.Conn) {
	f, _ := feed(1)
	why := &tunnel.Refused{Reason: "Busy", Message: "come back later", RetryAfter: time.Minute}
	sink := storetest.NewMemory()
	r := serve(t, child, parent, tunnel.ChildConfig{Desired: sink, Reported: f}, Parent{
		OnAdmit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
			return tunnel.Admission{}, why
		},
	})
	var got *tunnel.Refused
	if err := wait(t, r.child, "the child's end"); !errors.As(err, &got) || *got != *why {
		t.Errorf("the child was told %v", err)
	}
	if err := wait(t, r.parent, "the parent's end"); !errors.Is(err, tunnel.ErrRefused) {
		t.Errorf("the parent ended with %v", err)
	}
	if !sink.Position().Incarnation.IsZero() {
		t.Error("a refused child got data")
	}
}

func renewal(t *testing.T, child, parent tunnel.Conn) {
	f, _ := feed(1)
	installed := make(chan string, 1)
	renew := &tunnel.Renewal{
		Wait: func() time.Duration { return 0 },
		CSR:  func() ([]byte, error) { return []byte("request"), nil },
		Install: func(chain, bundle []byte) error {
			installed <- string(chain) + "+" + string(bundle)
			return nil
		},
	}
	r := serve(
		t,
		child,
		parent,
		tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: f, Renewal: renew},
		Parent{
			Feed:  f,
			Inbox: storetest.NewMemory(),
			OnSign: func(who tunnel.Identity, csr []byte) (chain, bundle []byte, err error) {
				if who.Target != Target || string(csr) != "request" {
					t.Errorf("sign %q for %+v", csr, who)
				}
				return []byte("chain"), []byte("bundle"), nil
			},
		},
	)
	if got := wait(t, installed, "the certificate"); got != "chain+bundle" {
		t.Errorf("installed %q", got)
	}
	r.stop(nil)
	if err := wait(t, r.child, "the child's end"); !errors.Is(err, tunnel.ErrDraining) {
		t.Errorf("the child was told %v", err)
	}
	wait(t, r.parent, "the parent's end")
}
