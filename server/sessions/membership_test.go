package sessions

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// revoke writes what `skerry target revoke` writes.
func (c *center) revoke(name string) {
	target, _ := c.sessions.targets.get(name)
	c.api.change(
		targetsPath+"/"+name,
		map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRevoked: target.key + ",aa"}},
		},
	)
}

func (c *center) release(name string) {
	c.api.change(
		targetsPath+"/"+name,
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationKey: nil}}},
	)
}

// A revoked key loses its session at once and gets nothing ever again: no session, no renewal, no
// join; neither before nor after the name is released, a restart of the center, or the end of its
// certificate. Another key takes the name's place once it is released.
func TestRevokedKeyIsNeverLetIn(t *testing.T) {
	c := newCenter(t)
	stop := c.open()
	s := c.joined("paris")
	l := c.connect(s)
	got(t, l.welcome, "a welcome")
	signed, at := c.signed.Load(), time.Now()
	c.revoke("paris")
	if err := got(t, l.ended, "the end of the session"); err == nil || time.Since(at) > tunnel.Idle/2 {
		t.Errorf("ended after %s with %v", time.Since(at), err)
	}
	valid, expired := s.chain, c.agents.sign(t, agentTemplate("paris", c.incarnation), s.key.Public(), -time.Hour)
	refused := func(when string) {
		t.Helper()
		for name, chain := range map[string][]byte{"valid": valid, "expired": expired} {
			s.chain = chain
			l := c.connect(s, func(cfg *tunnel.ChildConfig) {
				cfg.Renewal = &tunnel.Renewal{
					Wait:    func() time.Duration { return 0 },
					CSR:     func() ([]byte, error) { return s.csr(t), nil },
					Install: func([]byte, []byte) error { return nil },
				}
			})
			var why *tunnel.Refused
			err := got(t, l.ended, "a refusal")
			if !errors.As(err, &why) || why.Reason != "Revoked" || why.RetryAfter < 5*time.Minute ||
				!strings.Contains(why.Message, "skerry target release paris") {
				t.Errorf("%s, with a certificate that is %s: %v", when, name, err)
			}
		}
		if out := c.join(s, c.token(nil, time.Hour)); out.Code != "revoked" {
			t.Errorf("%s, with a new token: %+v", when, out)
		}
	}
	refused("revoked")
	stop()
	stop = c.open()
	refused("after a restart")
	other := newSite(t, "paris")
	if out := c.join(other, c.token(nil, time.Hour)); out.Code != "name-in-use" {
		t.Errorf("another key, before the release: %+v", out)
	}
	c.release("paris")
	refused("released")
	if n := c.signed.Load() - signed; n != 0 {
		t.Errorf("%d certificates were signed for a revoked key", n)
	}
	if out := c.join(other, c.token(nil, time.Hour)); out.status != http.StatusOK {
		t.Fatalf("another key, after the release: %+v", out)
	}
	got(t, c.connect(other).welcome, "the welcome of the other")
	refused("replaced")
	stop()
}

// A key that was not revoked is not mistaken for one that was.
func TestRevokedKeysAreComparedWhole(t *testing.T) {
	for list, want := range map[string]bool{
		"":        false,
		"ab":      true,
		"abc":     false,
		"a":       false,
		"abc,ab":  true,
		"xab,abx": false,
		",":       false,
	} {
		target := &metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationRevoked: list}}
		if isRevoked(target, "ab") != want || isRevoked(target, "") || isRevoked(&metav1.ObjectMeta{}, "ab") {
			t.Errorf("list %q", list)
		}
	}
}
