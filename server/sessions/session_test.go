package sessions

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

func TestOnlyTheRecordedKeyIsAdmitted(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	if w := got(t, c.connect(s).welcome, "a welcome right after the join"); w.Incarnation != c.incarnation ||
		w.RenewOnly {
		t.Errorf("welcome %+v", w)
	}
	other := newSite(t, "paris")
	other.chain = c.agents.sign(t, agentTemplate("paris", c.incarnation), other.key.Public(), time.Hour)
	unknown := newSite(t, "rome")
	unknown.chain = c.agents.sign(t, agentTemplate("rome", c.incarnation), unknown.key.Public(), time.Hour)
	for reason, s := range map[string]*site{"KeyReplaced": other, "TargetUnknown": unknown} {
		var refused *tunnel.Refused
		l := c.connect(s)
		if err := got(t, l.ended, "a refusal"); !errors.As(err, &refused) || refused.Reason != reason {
			t.Errorf("%s: ended with %v", reason, err)
		} else if !strings.Contains(refused.Message, "restored from a backup") ||
			!strings.Contains(refused.Message, "skerry token create") {
			t.Errorf("%s does not say that the center may have been restored, and what to do: %s", reason, refused.Message)
		}
		if !l.desired.Position().Incarnation.IsZero() {
			t.Errorf("%s: got data", reason)
		}
	}
}

// Certificates of another authority, or of another kind, do not get as far as a hello.
func TestStrangersGetNoSession(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	elsewhere, own := newAuthority(t), s.chain
	for name, chain := range map[string][]byte{
		"another authority": elsewhere.sign(t, agentTemplate("paris", c.incarnation), s.key.Public(), time.Hour),
		"not an agent's": c.agents.sign(
			t,
			&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
			s.key.Public(),
			time.Hour,
		),
		"for servers": c.agents.sign(t, func() *x509.Certificate {
			x := agentTemplate("paris", c.incarnation)
			x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			return x
		}(), s.key.Public(), time.Hour),
	} {
		s.chain = chain
		l := c.connect(s)
		err := got(t, l.ended, "the end of a stranger's session")
		if err == nil || len(l.welcome) > 0 || c.sessions.session("paris") != nil {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
	s.chain = own
	got(t, c.connect(s).welcome, "the honest one's welcome")
}

// It wins whichever way it and the one before have come.
func TestTheNewestSessionWins(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	var last *link
	for i := range 5 {
		c.tcp = i%3 == 1
		next := c.connect(s)
		got(t, next.welcome, "a welcome")
		if last != nil {
			if err := got(t, last.ended, "the end of the older session"); !errors.Is(err, tunnel.ErrReplaced) {
				t.Errorf("the older session was told %v", err)
			}
		}
		c.place(i)
		within(t, "the objects", func() bool { return len(next.desired.Live()) == i+1 })
		last = next
	}
	if _, left := c.sessions.disconnected("paris"); left || c.sessions.session("paris") == nil {
		t.Error("the end of the older sessions touched the newest")
	}
	select {
	case err := <-last.ended:
		t.Errorf("the newest session ended with %v", err)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestSessionEndsWithItsTarget(t *testing.T) {
	for name, end := range map[string]func(c *center){
		"removed": func(c *center) { c.api.change(targetsPath+"/paris", nil) },
		"removed unseen": func(c *center) {
			c.sessions.Reset(9, storetest.Listing(func(func(store.Write) bool) {}))
		},
		"key taken": func(c *center) {
			c.api.change(
				targetsPath+"/paris",
				map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationKey: nil}}},
			)
		},
	} {
		c := newCenter(t)
		stop := c.open()
		s := c.joined("paris")
		l := c.connect(s)
		got(t, l.welcome, "a welcome")
		end(c)
		if err := got(t, l.ended, name+": the end of the session"); err == nil {
			t.Errorf("%s: ended without a reason", name)
		}
		var refused *tunnel.Refused
		if err := got(t, c.connect(s).ended, "a refusal"); !errors.As(err, &refused) {
			t.Errorf("%s: came again and was told %v", name, err)
		}
		stop()
	}
}

// An expired certificate is good for one thing.
func TestExpiredMayOnlyRenew(t *testing.T) {
	c := newCenter(t)
	c.open()
	c.place(0)
	c.life = -time.Hour
	s := c.joined("paris")
	c.life = time.Hour
	l := c.connect(s)
	if w := got(t, l.welcome, "a welcome"); !w.RenewOnly {
		t.Errorf("welcome %+v", w)
	}
	if err := got(t, l.ended, "the end of a session that cannot renew"); err == nil ||
		errors.Is(err, tunnel.ErrRenewed) {
		t.Errorf("ended with %v", err)
	}
	renew := func(s *site, csr []byte) error {
		l := c.connect(s, func(cfg *tunnel.ChildConfig) {
			cfg.Renewal = &tunnel.Renewal{
				Wait:    func() time.Duration { return time.Hour },
				CSR:     func() ([]byte, error) { return csr, nil },
				Install: func(chain, _ []byte) error { s.chain = chain; return nil },
			}
		})
		err := got(t, l.ended, "the end of a renewal")
		if !l.desired.Position().Incarnation.IsZero() || c.sessions.session("paris") != nil {
			t.Error("an expired certificate got a session")
		}
		return err
	}
	signed := c.signed.Load()
	for name, csr := range map[string][]byte{
		"another key":  request(t, newKey(t), "paris"),
		"another name": request(t, s.key, "rome"),
		"nonsense":     []byte("x"),
	} {
		if err := renew(s, csr); err == nil || errors.Is(err, tunnel.ErrRenewed) {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
	stranger := newSite(t, "paris")
	stranger.chain = c.agents.sign(t, agentTemplate("paris", c.incarnation), stranger.key.Public(), -time.Hour)
	if err := renew(stranger, stranger.csr(t)); err == nil || errors.Is(err, tunnel.ErrRenewed) {
		t.Errorf("a key that is not recorded: ended with %v", err)
	}
	if n := c.signed.Load() - signed; n != 0 {
		t.Errorf("%d of them were signed", n)
	}
	if err := renew(s, s.csr(t)); !errors.Is(err, tunnel.ErrRenewed) {
		t.Fatalf("renewal: %v", err)
	}
	l = c.connect(s)
	within(t, "the object after the renewal", func() bool { return len(l.desired.Live()) == 1 })
}
