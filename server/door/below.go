package door

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// below knows which sites are not as they should be, from the statuses of their SyncTargets: what a relay tells its own parent. What a relay below says of
// its sites is in the status of its SyncTarget, so it goes up through any number of relays.
type below struct {
	mu   sync.Mutex
	of   map[string]tunnel.Below // by SyncTarget; those that have nothing to tell are not in it
	news chan struct{}           // closed and replaced at a change
}

func newBelow() *below { return &below{of: map[string]tunnel.Below{}, news: make(chan struct{})} }

// see takes over what the status of a SyncTarget says; that of one that is gone is empty.
func (b *below) see(name string, status *v1alpha1.SyncTargetStatus) {
	now := troubles(name, status)
	b.mu.Lock()
	defer b.mu.Unlock()
	if before := b.of[name]; before.Equal(&now) {
		return
	}
	if b.of[name] = now; now.Troubled == 0 {
		delete(b.of, name)
	}
	close(b.news)
	b.news = make(chan struct{})
}

// Below returns what is to be told of the sites below this center, and a channel that is closed when it is something else.
func (d *Door) Below() (*tunnel.Below, <-chan struct{}) {
	b := d.below
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &tunnel.Below{}
	for _, name := range slices.Sorted(maps.Keys(b.of)) {
		of := b.of[name]
		out.Troubled += of.Troubled
		out.First = append(out.First, of.First[:min(len(of.First), tunnel.MaxTroubles-len(out.First))]...)
	}
	return out, b.news
}

// troubles is what a SyncTarget says of itself and of what is below it, by paths from this center.
func troubles(name string, status *v1alpha1.SyncTargetStatus) (out tunnel.Below) {
	for _, kind := range append(tunnel.ConditionTypes(), v1alpha1.ConditionUnique) {
		if c := apimeta.FindStatusCondition(status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			out.Troubled++
			out.First = append(out.First, tunnel.Trouble{Path: name, Type: kind, Reason: c.Reason})
			break
		}
	}
	if status.Below == nil {
		return out
	}
	out.Troubled += int(status.Below.Troubled)
	for _, t := range status.Below.First {
		if len(out.First) < tunnel.MaxTroubles {
			out.First = append(out.First, tunnel.Trouble{Path: path.Join(name, t.Path), Type: t.Condition, Reason: t.Reason})
		}
	}
	return out
}

// overlook puts what a relay says of the sites below it into its status. While it has said nothing, what it said in an earlier session stays.
func overlook(st *v1alpha1.SyncTarget, said *tunnel.Said) {
	if said == nil {
		return
	}
	below := said.Below
	if st.Status.Below = nil; below == nil {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionSubtreeHealthy)
		return
	}
	if below.Troubled == 0 {
		set(st, v1alpha1.ConditionSubtreeHealthy, metav1.ConditionTrue, "AllWell", "no site below this relay says that anything is wrong")
		return
	}
	reason, told := "SitesInTrouble", &v1alpha1.SyncTargetBelow{Troubled: int32(below.Troubled)}
	var names, relays []string
	for _, t := range below.First {
		told.First = append(told.First, v1alpha1.SiteInTrouble{Path: t.Path, Condition: t.Type, Reason: t.Reason})
		names = append(names, fmt.Sprintf("%s (%s)", t.Path, t.Reason))
		if relay := path.Dir(path.Join(st.Name, t.Path)); !slices.Contains(relays, relay) {
			relays = append(relays, relay)
		}
		if t.Type == tunnel.CenterTrusted {
			reason = "SitesHold"
		}
	}
	if more := below.Troubled - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	st.Status.Below = told
	set(st, v1alpha1.ConditionSubtreeHealthy, metav1.ConditionFalse, reason, fmt.Sprintf("sites below this relay that hold something back, or say that something is wrong: %s. "+
		"They are looked after at the relay that they are attached to (%s): run there skerry status, and where one holds, skerry target accept NAME --dry-run",
		strings.Join(names, ", "), strings.Join(relays, ", ")))
}
