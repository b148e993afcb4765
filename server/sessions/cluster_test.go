package sessions

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

func hello(change func(*tunnel.Hello)) func(*tunnel.ChildConfig) {
	return func(c *tunnel.ChildConfig) { change(&c.Hello) }
}

func inCluster(uid string, force bool) func(*tunnel.ChildConfig) {
	return hello(func(h *tunnel.Hello) { h.Cluster, h.Force = uid, force })
}

// refusal is why a session ended.
func refusal(t *testing.T, l *link) *tunnel.Refused {
	t.Helper()
	var refused *tunnel.Refused
	if err := got(t, l.ended, "a refusal"); !errors.As(err, &refused) {
		t.Fatalf("ended with %v", err)
	}
	return refused
}

// One cluster has one name: a second one is refused for good, with both names, and its status says
// so. The first goes on, over a restart too. A copy of a cluster is let in when its admin says so,
// and both go on then.
func TestOneClusterHasOneName(t *testing.T) {
	c := newCenter(t)
	stop := c.open()
	paris, rome := c.joined("paris"), c.joined("rome")
	first := c.connect(paris, inCluster("uid-1", false))
	got(t, first.welcome, "the first name is let in")
	r := refusal(t, c.connect(rome, inCluster("uid-1", false)))
	if r.Reason != clusterKnown || !r.Final || !strings.Contains(r.Message, `"rome"`) ||
		!strings.Contains(r.Message, `"paris"`) ||
		!strings.Contains(r.Message, "--force") {
		t.Errorf("refused: %+v", r)
	}
	status := func(name string) v1alpha1.SyncTargetStatus { return c.api.status(t, name) }
	within(
		t,
		"the status of the second says it",
		func() bool { return says(status("rome"), v1alpha1.ConditionConnected, "False/"+clusterKnown) },
	)
	within(t, "the cluster of the first is recorded", func() bool { return status("paris").ClusterUID == "uid-1" })
	stop()
	c.open()
	if r := refusal(t, c.connect(rome, inCluster("uid-1", false))); r.Reason != clusterKnown {
		t.Errorf("after a restart: %+v", r)
	}
	copied := c.connect(rome, inCluster("uid-1", true))
	got(t, copied.welcome, "a copy is let in by force")
	within(t, "its cluster is recorded", func() bool { return status("rome").ClusterUID == "uid-1" })
	for _, s := range []*site{paris, rome} {
		got(t, c.connect(s, inCluster("uid-1", false)).welcome, "who was let in once comes back without force")
	}
	got(t, c.connect(paris, inCluster("uid-2", false)).welcome, "a rebuilt cluster is let in")
	within(t, "the new cluster is recorded", func() bool { return status("paris").ClusterUID == "uid-2" })
}

// A join whose session would be refused for good uses up no token and leaves no target.
func TestARefusedJoinChangesNothing(t *testing.T) {
	c := newCenter(t)
	c.open()
	got(t, c.connect(c.joined("paris"), inCluster("uid-1", false)).welcome, "the first name is let in")
	within(t, "the cluster of the first is recorded", func() bool { return c.api.status(t, "paris").ClusterUID == "uid-1" })
	token, rome := c.token(nil, time.Hour), newSite(t, "rome")
	for what, header := range map[string]http.Header{
		"a known cluster": {"Skerry-Cluster": {"uid-1"}}, "this very center": {"Skerry-Center": {c.incarnation.String()}},
	} {
		c.headers = header
		if out := c.join(rome, token); out.Code != "not-here" || !strings.Contains(out.Message, `"rome"`) {
			t.Errorf("%s: %+v", what, out)
		}
		if c.api.get(targetsPath+"/rome") != nil {
			t.Errorf("%s: there is a target that never connects", what)
		}
	}
	c.headers = http.Header{"Skerry-Cluster": {"uid-1"}, "Skerry-Force": {"true"}}
	if out := c.join(rome, token); out.status != http.StatusOK {
		t.Errorf("the token was used up, or a copy is not let in by force: %+v", out)
	}
	c.headers = http.Header{"Skerry-Cluster": {"uid-2"}}
	if out := c.join(newSite(t, "oslo"), c.token(nil, time.Hour)); out.status != http.StatusOK {
		t.Errorf("another cluster: %+v", out)
	}
}

// A center that joins itself, or one below it, is refused for good.
func TestOwnParent(t *testing.T) {
	c := newCenter(t)
	above := store.NewIncarnation()
	c.above = []store.Incarnation{above}
	c.open()
	s := c.joined("relay")
	for what, center := range map[string]store.Incarnation{"this very center": c.incarnation, "above this center": above} {
		r := refusal(t, c.connect(s, hello(func(h *tunnel.Hello) { h.Relay, h.Center = true, center })))
		if r.Reason != ownParent || !r.Final || !strings.Contains(r.Message, what) {
			t.Errorf("%s: %+v", what, r)
		}
	}
	w := got(
		t,
		c.connect(s, hello(func(h *tunnel.Hello) { h.Relay, h.Center = true, store.NewIncarnation() })).welcome,
		"another center is let in",
	)
	if len(w.Above) != 1 || w.Above[0] != above {
		t.Errorf("it is told that above are %v", w.Above)
	}
}
