package sessions

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/enroll"
)

// Agents that a center does not know are told by name: those with a certificate of its own, and
// those that say that they belong to another. Who joins is not among them any more.
func TestUnknownAgentsAreTold(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.open()
	lost := newSite(t, "rome")
	lost.chain = c.agents.sign(t, agentTemplate("rome", c.incarnation), lost.key.Public(), time.Hour)
	refusal(t, c.connect(lost))
	for _, name := range []string{"oslo", "NOT A NAME"} {
		r := httptest.NewRequest(http.MethodGet, enroll.Path, nil)
		r.URL.RawQuery = "knock=" + strings.ReplaceAll(name, " ", "%20")
		w := httptest.NewRecorder()
		c.sessions.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusNoContent {
			t.Errorf("a knock is answered %d", w.Code)
		}
	}
	told := func() string {
		m := c.api.get(configMapsPath + "/" + v1alpha1.UnknownAgentsName)
		if m == nil {
			return ""
		}
		return fmt.Sprint(m["data"].(map[string]any)[v1alpha1.UnknownAgentsKey])
	}
	within(t, "both are told", func() bool {
		return strings.Contains(told(), `"name":"oslo"`) && strings.Contains(
			told(),
			`"why":"WrongAuthority"`,
		) && strings.Contains(told(), `"name":"rome"`) &&
			strings.Contains(told(), `"why":"TargetUnknown"`) &&
			!strings.Contains(told(), "NOT")
	})
	c.connect(c.joined("oslo"))
	within(
		t,
		"who has joined is not told any more",
		func() bool { return !strings.Contains(told(), "oslo") && strings.Contains(told(), "rome") },
	)
}

// Anybody can knock, so that only so many are remembered, and for a while.
func TestUnknownAgentsAreBounded(t *testing.T) {
	u := &unknownAgents{names: map[string]v1alpha1.UnknownAgent{}}
	began := time.Now()
	for i := range 2 * maxUnknown {
		u.record(fmt.Sprint("a", i), "", "", began)
	}
	nobody := func(string) bool { return false }
	if n := len(u.list(began, nobody)); n != maxUnknown {
		t.Errorf("%d are remembered", n)
	}
	if n := len(u.list(began.Add(unknownTime+time.Second), nobody)); n != 0 {
		t.Errorf("%d are remembered for ever", n)
	}
}
