package sessions

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

func TestNextPhase(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	after := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	const stable, announced, switched = v1alpha1.AuthoritiesStable, v1alpha1.AuthoritiesAnnounced, v1alpha1.AuthoritiesSwitched
	type request = v1alpha1.AuthoritiesRequest
	for _, c := range []struct {
		name    string
		phase   v1alpha1.AuthoritiesPhase // of generation 3, for an hour
		request *request
		waiting int
		due     v1alpha1.AuthoritiesPhase
	}{
		{"nothing is asked for", stable, nil, 0, ""},
		{"the next is asked for", stable, &request{Generation: 4}, 9, announced},
		{"the present is asked for", stable, &request{Generation: 3}, 0, ""},
		{"one too far is asked for", stable, &request{Generation: 5}, 0, ""},
		{"force begins nothing", stable, &request{Generation: 3, Force: stable}, 0, ""},
		{"some lack the bundle", announced, &request{Generation: 4}, 1, ""},
		{"all have the bundle", announced, &request{Generation: 4}, 0, switched},
		{"all have the bundle, the request is lost", announced, nil, 0, switched},
		{"some lack it, it is forced", announced, &request{Generation: 4, Force: announced}, 1, switched},
		{"some lack it, another phase is forced", announced, &request{Generation: 4, Force: switched}, 1, ""},
		{"some lack it, an older request was forced", announced, &request{Generation: 3, Force: announced}, 1, ""},
		{"some lack it, the time has come", announced, &request{Generation: 4, SwitchAt: at(0)}, 1, switched},
		{"some lack it, the time has not come", announced, &request{Generation: 4, SwitchAt: at(time.Second)}, 1, ""},
		{"all renewed, too early by default", switched, &request{Generation: 3}, 0, ""},
		{"all renewed, too early", switched, &request{Generation: 3, RetireAfter: after(2 * time.Hour)}, 0, ""},
		{"all renewed, the time has come", switched, &request{Generation: 3, RetireAfter: after(time.Hour)}, 0, stable},
		{"some have not renewed", switched, &request{Generation: 3, RetireAfter: after(0)}, 1, ""},
		{"some have not renewed, it is forced", switched, &request{Generation: 3, Force: switched}, 1, stable},
		{
			"the times of another generation do not count",
			switched,
			&request{Generation: 4, RetireAfter: after(0), Force: switched},
			0,
			"",
		},
	} {
		is := v1alpha1.AuthoritiesStatus{Phase: c.phase, Generation: 3, Since: *at(-time.Hour)}
		if due, _ := nextPhase(is, c.request, c.waiting, now); due != c.due {
			t.Errorf("%s: %q, want %q", c.name, due, c.due)
		}
	}
}

// wallet is what an agent holds in a test.
type wallet struct {
	mu       sync.Mutex
	holds    tunnel.CredentialStatus
	refuses  bool // bundles, as one does that has no room on its disk
	trusted  int
	renewals int
}

func (w *wallet) now() tunnel.CredentialStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.holds
}

// took is how many bundles and certificates it has taken.
func (w *wallet) took() (bundles, certificates int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trusted, w.renewals
}

func (c *center) withWallet(s *site, w *wallet) func(*tunnel.ChildConfig) {
	return func(cfg *tunnel.ChildConfig) {
		cfg.Renewal = &tunnel.Renewal{Wait: func() time.Duration { return time.Hour }, Status: w.now,
			CSR: func() ([]byte, error) { return s.csr(c.t), nil },
			Trust: func(bundle []byte) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.refuses {
					return errors.New("no")
				}
				w.trusted++
				w.holds.Bundle = enroll.BundleName(bundle)
				return nil
			},
			Install: func(chain, _ []byte) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.renewals++
				w.holds.Authority = c.authorities.Authorities().Authority
				return nil
			}}
	}
}

func (c *center) ask(r v1alpha1.AuthoritiesRequest) {
	text, err := json.Marshal(r)
	must(c.t, err)
	c.api.change(authoritiesPath, map[string]any{"data": map[string]any{v1alpha1.AuthoritiesRequestKey: string(text)}})
}

const authoritiesPath = configMapsPath + "/" + v1alpha1.AuthoritiesName

func (c *center) toldStatus() (s v1alpha1.AuthoritiesStatus) {
	data, _ := c.api.get(authoritiesPath)["data"].(map[string]any)
	text, _ := data[v1alpha1.AuthoritiesStatusKey].(string)
	if text != "" {
		must(c.t, json.Unmarshal([]byte(text), &s))
	}
	return s
}

// The switch waits until every target has the bundle durably, connected or not; who comes back
// later gets it then; what the admin reads says who is waited for, and a restart of the center in
// between changes nothing.
func TestRotationWaitsForEverybody(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	stop := c.open()
	here, away := c.joined("paris"), c.joined("rome")
	first := c.authorities.Authorities()
	wallets := map[string]*wallet{}
	for _, name := range []string{"paris", "rome"} {
		wallets[name] = &wallet{holds: tunnel.CredentialStatus{Bundle: first.Bundle, Authority: "old"}}
	}
	phase := func(want v1alpha1.AuthoritiesPhase, waiting ...string) {
		t.Helper()
		within(t, string(want), func() bool {
			is := c.toldStatus()
			return is.Phase == want && slices.Equal(is.WaitingFor, waiting) && is.Waiting == len(waiting)
		})
	}
	phase(v1alpha1.AuthoritiesStable)
	l := c.connect(here, c.withWallet(here, wallets["paris"]))
	got(t, l.welcome, "a welcome")
	if n, _ := wallets["paris"].took(); n != 0 {
		t.Error("a bundle was sent to one that has it")
	}
	c.ask(v1alpha1.AuthoritiesRequest{Generation: 2, RetireAfter: &metav1.Duration{}})
	phase(v1alpha1.AuthoritiesAnnounced, "rome")
	w := wallets["paris"]
	if bundles, certificates := w.took(); bundles != 1 || certificates != 0 || w.now().Bundle == first.Bundle {
		t.Errorf("announced: %+v", w.now())
	}
	l.stop()
	got(t, l.ended, "the end")
	stop()
	stop = c.open()
	phase(v1alpha1.AuthoritiesAnnounced, "rome")
	l = c.connect(away, c.withWallet(away, wallets["rome"]))
	phase(v1alpha1.AuthoritiesSwitched, "paris") // which still has a certificate of the old authority, and is away
	within(t, "a renewal at rome", func() bool { return wallets["rome"].now().Authority == first.Authority })
	l2 := c.connect(here, c.withWallet(here, wallets["paris"]))
	phase(v1alpha1.AuthoritiesStable)
	if is := c.toldStatus(); is.Generation != 2 {
		t.Errorf("at the end: %+v", is)
	}
	within(t, "the last bundle everywhere", func() bool {
		want := c.authorities.Authorities().Bundle
		return wallets["paris"].now().Bundle == want && wallets["rome"].now().Bundle == want
	})
	for name, w := range wallets {
		bundles, certificates := w.took()
		if bundles != 3 || certificates != 1 { // announced, switched (with the word to renew), retired
			t.Errorf("%s took %d bundles and %d certificates, want 3 and 1", name, bundles, certificates)
		}
	}
	for _, l := range []*link{l, l2} {
		if len(l.ended) > 0 {
			t.Errorf("a session ended: %v", <-l.ended)
		}
	}
	stop()
}

// A former name is told with the sites that dial it. It is off the certificate when an admin asks for
// that, and the request is gone then.
func TestFormerNamesAreForgotten(t *testing.T) {
	c := newCenter(t)
	c.authorities.is.FormerNames = []v1alpha1.FormerName{{Name: "old.example.com"}, {Name: "10.0.0.1"}}
	defer c.open()()
	s := c.joined("paris")
	l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Hello.Dialled = "Old.example.com:7443" })
	got(t, l.welcome, "a welcome")
	within(t, "who dials it", func() bool {
		names := c.toldStatus().FormerNames
		return len(names) == 2 && slices.Equal(names[0].Sites, []string{"paris"}) && names[1].Sites == nil
	})
	c.api.change(authoritiesPath, map[string]any{"data": map[string]any{
		v1alpha1.AuthoritiesForgetKey: `["old.example.com"]`,
	}})
	within(t, "one name", func() bool {
		data, _ := c.api.get(authoritiesPath)["data"].(map[string]any)
		names := c.toldStatus().FormerNames
		return len(names) == 1 && names[0].Name == "10.0.0.1" && data[v1alpha1.AuthoritiesForgetKey] == ""
	})
}

// One that cannot take the bundle keeps its session and holds the switch up, until the admin goes
// on without it. A revoked one holds nothing up.
func TestRotationIsForced(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	c.joined("lost")
	c.revoke("lost")
	w := &wallet{
		holds:   tunnel.CredentialStatus{Bundle: c.authorities.Authorities().Bundle, Authority: "old"},
		refuses: true,
	}
	l := c.connect(s, c.withWallet(s, w))
	got(t, l.welcome, "a welcome")
	c.ask(v1alpha1.AuthoritiesRequest{Generation: 2})
	within(t, "the announcement", func() bool { return slices.Equal(c.toldStatus().WaitingFor, []string{"paris"}) })
	c.authorities.mu.Lock()
	c.authorities.fail = errors.New("disk full")
	c.authorities.mu.Unlock()
	c.ask(v1alpha1.AuthoritiesRequest{Generation: 2, Force: v1alpha1.AuthoritiesAnnounced})
	within(t, "the problem", func() bool { return c.toldStatus().Problem != "" })
	c.authorities.mu.Lock()
	c.authorities.fail = nil
	c.authorities.mu.Unlock()
	within(t, "the switch", func() bool { return c.toldStatus().Phase == v1alpha1.AuthoritiesSwitched })
	if is := c.toldStatus(); is.Problem != "" || is.NextAt == nil ||
		time.Until(is.NextAt.Time) < v1alpha1.DefaultRetireAfter-time.Hour {
		t.Errorf("after the switch: %+v", is)
	}
	if len(l.ended) > 0 {
		t.Errorf("the session ended: %v", <-l.ended)
	}
}
