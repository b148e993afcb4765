package sessions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/ondemand"
)

const (
	// maxUnknown bounds how many agents are remembered that knock and are not known here; anybody
	// can knock.
	maxUnknown = 50
	// unknownTime is for how long one is. Who is not known asks once an hour in the end.
	unknownTime = 2 * time.Hour
	// unknownEvery is how often it is looked whether there is something to write.
	unknownEvery = 5 * time.Second
)

// unknownAgents are the agents that knock and are not known here: they belonged to a center whose
// data was lost, or were removed.
type unknownAgents struct {
	mu    sync.Mutex
	names map[string]v1alpha1.UnknownAgent
}

// record notes a knock, and reports whether it is the first one of that name.
func (u *unknownAgents) record(name, from, why string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	a, known := u.names[name]
	if !known && len(u.names) >= maxUnknown {
		return false
	}
	if !known {
		a = v1alpha1.UnknownAgent{Name: name, Since: metav1.NewTime(now)}
	}
	a.From, a.Why, a.Last = from, why, metav1.NewTime(now)
	u.names[name] = a
	return !known
}

// list are those that knocked lately, by name, without those that are known.
func (u *unknownAgents) list(at time.Time, known func(string) bool) []v1alpha1.UnknownAgent {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := []v1alpha1.UnknownAgent{}
	for name, a := range u.names {
		if at.Sub(a.Last.Time) > unknownTime || known(name) {
			delete(u.names, name)
			continue
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b v1alpha1.UnknownAgent) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// unknownAgent notes an agent that is not known here.
func (srv *Server) unknownAgent(name, from, why string) {
	if srv.session(name) == nil && srv.unknownAgents.record(name, from, why, time.Now()) {
		srv.cfg.Log.Warn(
			"an agent knocks that this center does not know; if the center's data was lost, restore its backup",
			"name",
			name,
			"from",
			from,
			"why",
			why,
		)
	}
}

// count is the gauge of unknown agents.
func (u *unknownAgents) count() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "skerry_unknown_agents",
		Help: "Agents that knocked in the last two hours and are not known here: " +
			"the center's data was lost, or they were removed.",
	}, func() float64 {
		u.mu.Lock()
		defer u.mu.Unlock()
		return float64(len(u.names))
	})
}

// publishUnknownAgents keeps the list where `skerry status` reads it, until ctx ends.
func (srv *Server) publishUnknownAgents(ctx context.Context) {
	for told := "[]"; ondemand.Pause(ctx, unknownEvery); {
		list := srv.unknownAgents.list(time.Now(), func(name string) bool { return srv.session(name) != nil })
		text, err := json.Marshal(list)
		if err == nil && sameNames(told, list) {
			continue
		}
		if err == nil {
			err = srv.writeConfigMap(ctx, v1alpha1.UnknownAgentsName, v1alpha1.UnknownAgentsKey, string(text))
		}
		if err != nil {
			srv.cfg.Log.Debug("the list of unknown agents could not be written", "err", err)
			continue
		}
		told = string(text)
	}
}

// sameNames reports whether what was told has the same agents.
func sameNames(told string, list []v1alpha1.UnknownAgent) bool {
	var before []v1alpha1.UnknownAgent
	return json.Unmarshal([]byte(told), &before) == nil &&
		slices.EqualFunc(
			before,
			list,
			func(a, b v1alpha1.UnknownAgent) bool { return a.Name == b.Name && a.Why == b.Why },
		)
}
