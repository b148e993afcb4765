package tunnel_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) {
	compress.Default() // outside of every synctest bubble
	compress.Thorough().Encode(nil, []byte("{}"))
	leak.Main(m)
}

func feedOf(revision int64, names ...string) *store.Feed {
	f := store.NewFeed(
		store.NewIncarnation(),
		0,
		func(context.Context, store.Key) ([]byte, int64, error) { return []byte("{}"), 1, nil },
	)
	for _, n := range names {
		f.Apply(
			revision,
			store.Change{
				Key:        store.Key{Space: "s", Resource: "pods", Name: n},
				Hash:       store.HashBody(1, []byte("{}")),
				Generation: 1,
			},
		)
	}
	return f
}

// both runs a session until it ends by itself, or for a minute. The child ends it then: if both ended it in one moment,
// either could be the first, and the other would see the connection closed.
func both(conn pipe.Options, c tunnel.ChildConfig, p tunnel.ParentConfig) (child, parent error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	childEnd, parentEnd := pipe.New(conn)
	done := make(chan error, 1)
	go func() { done <- tunnel.ServeParent(context.WithoutCancel(ctx), parentEnd, p) }()
	child = tunnel.ServeChild(ctx, childEnd, c)
	return child, <-done
}

// A child whose parent is another center than before keeps what it has, says so, and goes on
// reporting.
func TestRegressedParentIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desired, inbox := storetest.NewMemory(), storetest.NewMemory()
		e := storetest.Value(1, 5, "{}")
		if err := desired.Commit(t.Context(),
			store.Batch{Entries: []store.Entry{e},
				Through: store.Position{Incarnation: store.NewIncarnation(), Revision: 5}}); err != nil {
			t.Fatal(err)
		}
		before := desired.Live()
		reported := feedOf(1, "a", "b")
		var said []tunnel.Condition
		child, _ := both(pipe.Options{}, tunnel.ChildConfig{Desired: desired, Reported: reported}, tunneltest.Parent{
			Feed: feedOf(9, "x"), Inbox: inbox,
			OnStatus: func(s tunnel.ChildStatus) { said = s.Conditions },
		}.Config())
		if !errors.Is(child, context.DeadlineExceeded) && !errors.Is(child, tunnel.ErrDraining) {
			t.Errorf("the session ended with %v before its time", child)
		}
		if len(said) != 1 || said[0].Type != tunnel.CenterTrusted || said[0].Status != tunnel.False ||
			said[0].Reason != tunnel.CenterRegressed {
			t.Errorf("the parent was told %+v", said)
		}
		if !maps.Equal(desired.Live(), before) {
			t.Error("the copy has changed")
		}
		if len(inbox.Live()) != 2 {
			t.Errorf("%d reports came, want 2", len(inbox.Live()))
		}
	})
}

// An expired certificate opens a session in which it can be renewed and nothing else.
func TestExpiredCertificateCanRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desired := storetest.NewMemory()
		installed := false
		config := tunnel.ChildConfig{Desired: desired, Reported: feedOf(1), Renewal: &tunnel.Renewal{
			Wait: func() time.Duration { return time.Hour }, CSR: func() ([]byte, error) { return []byte("csr"), nil },
			Install: func([]byte, []byte) error { installed = true; return nil },
		}}
		signs := error(nil)
		parent := tunneltest.Parent{
			OnAdmit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
				t.Error("an expired child was admitted")
				return tunnel.Admission{}, errors.New("no")
			},
			OnSign: func(tunnel.Identity, []byte) (chain, bundle []byte, err error) {
				return []byte("chain"), nil, signs
			},
		}
		expired := pipe.Options{Child: tunnel.Identity{Target: "a", NotAfter: time.Now().Add(-time.Second)}}
		if err, _ := both(expired, config, parent.Config()); !errors.Is(err, tunnel.ErrRenewed) || !installed {
			t.Errorf("ended with %v, installed %t", err, installed)
		}
		installed, signs = false, errors.New("no member any more")
		if err, _ := both(expired, config, parent.Config()); err == nil || errors.Is(err, tunnel.ErrRenewed) || installed {
			t.Errorf("ended with %v, installed %t, although the parent refused", err, installed)
		}
		if !desired.Position().Incarnation.IsZero() {
			t.Error("an expired child got data")
		}
	})
}

// A session that outlives several certificates renews each of them in time, and again after a
// refusal.
func TestLongSessionRenewsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const life = 30 * 24 * time.Hour
		began := time.Now()
		wait := func() time.Duration { return life * 2 / 3 }
		var installed []time.Duration
		refuse := true
		config := tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: feedOf(1), Renewal: &tunnel.Renewal{
			Wait: wait, CSR: func() ([]byte, error) { return []byte("csr"), nil },
			Install: func([]byte, []byte) error { installed = append(installed, time.Since(began)); return nil },
		}}
		parent := tunneltest.Parent{
			Feed: feedOf(1), Inbox: storetest.NewMemory(),
			OnSign: func(tunnel.Identity, []byte) (chain, bundle []byte, err error) {
				if refuse {
					refuse = false
					return nil, nil, errors.New("not now")
				}
				return []byte("chain"), nil, nil
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*life)
		defer cancel()
		child, far := pipe.New(pipe.Options{})
		served := make(chan error, 1)
		go func() { served <- tunnel.ServeParent(ctx, far, parent.Config()) }()
		_ = tunnel.ServeChild(ctx, child, config)
		<-served
		if len(installed) != 4 || installed[0] < life*2/3+time.Hour-time.Second || installed[0] > life*2/3+2*time.Hour {
			t.Errorf("renewed at %v", installed)
		}
	})
}

// A parent's bundle is carried out before the child says so, is followed by a renewal when that is
// asked for, and one that cannot be used ends nothing.
func TestBundleIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds, renewed := tunnel.CredentialStatus{Bundle: "old"}, 0
		var said []tunnel.CredentialStatus
		orders := tunnel.NewCommands(1)
		child := tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: feedOf(1), Renewal: &tunnel.Renewal{
			Wait: func() time.Duration { return time.Hour }, CSR: func() ([]byte, error) { return []byte("csr"), nil },
			Install: func([]byte, []byte) error { renewed++; holds.Authority = "new"; return nil },
			Trust: func(bundle []byte) error {
				if string(bundle) == "bad" {
					return errors.New("not authorities")
				}
				holds.Bundle = string(bundle)
				return nil
			},
			Status: func() tunnel.CredentialStatus { return holds },
		}}
		parent := tunneltest.Parent{
			OnCredentials: func(h tunnel.CredentialStatus) { said = append(said, h) },
			OnAdmit: func(_ context.Context, _ tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
				if hello.Credentials == nil || hello.Credentials.Bundle != "old" {
					t.Errorf("hello holds %+v", hello.Credentials)
				}
				return tunnel.Admission{Feed: feedOf(1), Inbox: storetest.NewMemory()}, nil
			},
			OnSign: func(tunnel.Identity, []byte) (chain, bundle []byte, err error) {
				return []byte("chain"), nil, nil
			},
		}
		go func() {
			for _, b := range []tunnel.Bundle{{PEM: []byte("bad")}, {PEM: []byte("both")}, {PEM: []byte("both"), Renew: true}} {
				if !orders.Put(b) {
					t.Error("an order was not taken")
				}
				time.Sleep(10 * time.Second)
			}
		}()
		cfg := parent.Config()
		cfg.Commands = orders
		both(pipe.Options{}, child, cfg)
		want := []tunnel.CredentialStatus{{Bundle: "both"}, {Bundle: "both"}, {Bundle: "both", Authority: "new"}}
		if !slices.Equal(said, want) || renewed != 1 {
			t.Errorf("said %+v, renewed %d times", said, renewed)
		}
	})
}

// Whoever is no member is told so before anything else, also with an expired certificate.
func TestNoMemberIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, until := range []time.Duration{-time.Hour, time.Hour} {
			parent := tunneltest.Parent{
				OnMember: func(tunnel.Identity) error { return &tunnel.Refused{Reason: "Revoked"} },
				OnAdmit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
					t.Error("admitted")
					return tunnel.Admission{}, errors.New("no")
				},
				OnSign: func(tunnel.Identity, []byte) (chain, bundle []byte, err error) {
					t.Error("signed")
					return nil, nil, errors.New("no")
				},
			}
			who := pipe.Options{Child: tunnel.Identity{Target: "a", NotAfter: time.Now().Add(until)}}
			child := tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: feedOf(1), Renewal: &tunnel.Renewal{
				Wait: func() time.Duration { return 0 }, CSR: func() ([]byte, error) { return []byte("csr"), nil }}}
			var refused *tunnel.Refused
			if err, _ := both(who, child, parent.Config()); !errors.As(err, &refused) || refused.Reason != "Revoked" {
				t.Errorf("certificate ends in %s: told %v", until, err)
			}
		}
	})
}

// A child that opens a connection and says nothing, or something else, is dropped.
func TestSilentAndRudeChildren(t *testing.T) {
	admit := func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
		return tunnel.Admission{}, errors.New("admitted")
	}
	for name, says := range map[string][]byte{"silent": nil, "another version": {9, 1},
		"unknown kind": {1, 9}, "no hello": {1, 1, 35, 2, '{', '}'}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child, parent := pipe.New(pipe.Options{})
				done := make(chan error, 1)
				go func() { done <- tunnel.ServeParent(t.Context(), parent, tunneltest.Parent{OnAdmit: admit}.Config()) }()
				if says != nil {
					s, err := child.OpenStream(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					s.Write(says)
				}
				at := time.Now()
				if err := <-done; err == nil {
					t.Error("it was served")
				}
				if took := time.Since(at); took > 15*time.Second {
					t.Errorf("dropped after %s", took)
				}
			})
		})
	}
}
