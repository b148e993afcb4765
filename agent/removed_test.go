package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

func TestARemovedSiteIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	w := c.agent(dir, api, c.token.String())
	m := configMap("default", "a", "1")
	c.place(m)
	eventually(t, "applied", func() bool { return c.reported(m.Key) != nil })
	w.stop()
	known, err := openSiteIdentity(dir, discard())
	if err != nil {
		t.Fatal(err)
	}
	known.removed(time.Now())

	// Neither the cache nor the target is touched by a start without a new token.
	api.Remove("", "configmaps", "default", "a")
	before := len(api.Writes())
	for range 2 {
		w = c.agent(dir, api, "")
		select {
		case err := <-w.ended:
			if !errors.Is(err, ErrRefused) || !errors.Is(err, tunnel.ErrRemoved) {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("goes on")
		}
	}
	if len(api.Writes()) != before {
		t.Error("the target was written")
	}

	// With a new one it joins, and is one of the parent's again.
	c.mu.Lock()
	c.used = false
	c.token = enroll.NewToken(c.token.Pin)
	c.mu.Unlock()
	w = c.agent(dir, api, c.token.String())
	c.place(configMap("default", "b", "1"))
	eventually(t, "in order again, and in touch", func() bool {
		return api.Object("", "configmaps", "default", "a") != nil &&
			api.Object("", "configmaps", "default", "b") != nil
	})
	w.stop()
	w = c.agent(dir, api, "")
	api.Remove("", "configmaps", "default", "a")
	eventually(t, "it stays one", func() bool {
		select {
		case err := <-w.ended:
			t.Fatalf("ended with %v", err)
		default:
		}
		return api.Object("", "configmaps", "default", "a") != nil
	})
	w.stop()
}

func TestARelayThatWasRemovedGoesOn(t *testing.T) { inBubble(t, aRelayThatWasRemovedGoesOn) }

func aRelayThatWasRemovedGoesOn(t *testing.T) {
	s := newSite(t)
	s.Config.Relay = true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.over(ctx, tunnel.ErrRemoved) }()
	select {
	case err := <-done:
		t.Fatalf("ended with %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.Config.Relay = false
	if err := s.over(t.Context(), tunnel.ErrRemoved); !errors.Is(err, ErrRefused) || s.identity.removedAt().IsZero() {
		t.Errorf("an agent ends with %v", err)
	}
}
