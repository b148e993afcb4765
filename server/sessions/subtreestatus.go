package sessions

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// subtreeStatus knows which sites are not as they should be, and which are connected, from the
// statuses of their SyncTargets: what a relay tells its own parent. What a relay below says of its
// sites is in the status of its SyncTarget, so it goes up through any number of relays.
type subtreeStatus struct {
	mu      sync.Mutex
	of      map[string]tunnel.SubtreeStatus // by SyncTarget; those that have nothing to tell are not in it
	reach   subtreeReach
	offer   subtreeOffer
	changed chan struct{} // closed and replaced at a change
}

func newSubtreeStatus() *subtreeStatus {
	return &subtreeStatus{of: map[string]tunnel.SubtreeStatus{}, reach: newSubtreeReach(), offer: newSubtreeOffer(),
		changed: make(chan struct{})}
}

// observe takes over what the status of a SyncTarget says; that of one that is gone is empty.
func (b *subtreeStatus) observe(name string, status *v1alpha1.SyncTargetStatus) {
	now := troubles(name, status)
	if p := status.Policy; p != nil {
		now.Opened.Add(tunnel.Opened{
			Controllers: p.Controllers, ClusterControllers: p.ClusterControllers, Webhooks: p.Webhooks,
		})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reach.observe(name, status, time.Now())
	news := b.offer.observe(name, status)
	if b.reach.first(name) { // it is told of with the first word of it, not in the next glance
		news = b.reach.tick(time.Now()) || news
	}
	if before := b.of[name]; before.Equal(&now) {
		if news {
			b.publishLocked()
		}
		return
	}
	if b.of[name] = now; now.Equal(&tunnel.SubtreeStatus{}) {
		delete(b.of, name)
	}
	b.publishLocked()
}

func (b *subtreeStatus) publishLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// tick lets time pass for those that have gone or come back.
func (b *subtreeStatus) tick(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reach.tick(now) {
		b.publishLocked()
	}
}

// Subtree returns what is to be told of the sites below this center, and a channel that is closed
// when it is something else.
func (srv *Server) Subtree() (*tunnel.SubtreeStatus, <-chan struct{}) {
	b := srv.subtree
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &tunnel.SubtreeStatus{Reach: b.reach.said}
	for _, name := range slices.Sorted(maps.Keys(b.of)) {
		of := b.of[name]
		out.Troubled += of.Troubled
		out.First = append(out.First, of.First[:min(len(of.First), tunnel.MaxTroubles-len(out.First))]...)
		out.Opened.Add(of.Opened)
	}
	return out, b.changed
}

// troubles is what a SyncTarget says of itself and of what is below it, by paths from this center.
func troubles(name string, status *v1alpha1.SyncTargetStatus) (out tunnel.SubtreeStatus) {
	for _, kind := range append(tunnel.ConditionTypes(), v1alpha1.ConditionUnique) {
		if kind == tunnel.TakesReleases {
			continue // somebody wants it so
		}
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
			out.First = append(
				out.First,
				tunnel.Trouble{Path: path.Join(name, t.Path), Type: t.Condition, Reason: t.Reason},
			)
		}
	}
	return out
}

// subtreeTrouble puts what a relay says of the sites below it into its status. While it has said
// nothing, what it said in an earlier session stays.
func subtreeTrouble(st *v1alpha1.SyncTarget, said *tunnel.ChildStatus, objects int) {
	if said == nil {
		return
	}
	below := said.Subtree
	if st.Status.Below = nil; below == nil {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionSubtreeHealthy)
		return
	}
	told := &v1alpha1.SyncTargetBelow{Troubled: int32(below.Troubled)}
	reason, why := trouble(st.Name, told, below)
	if r := below.Reach; r != nil {
		targets, connected := int32(r.Targets), int32(r.Connected)
		told.Targets, told.Connected = &targets, &connected
		if absent := away(told, r); absent != "" {
			reason, why = cmp.Or(reason, "SitesDisconnected"), append(why, absent)
		}
		if targets == 0 && objects > 0 {
			reason, why = "NoSites", append(
				why,
				"objects are placed on this relay, and it has no sites: was its data lost? See what it holds with "+
					"skerry status at the relay; a site comes back there with skerry token create",
			)
		}
	}
	if below.Troubled > 0 || below.Reach != nil {
		st.Status.Below = told
	}
	if len(why) == 0 {
		set(
			st,
			v1alpha1.ConditionSubtreeHealthy,
			metav1.ConditionTrue,
			"AllWell",
			"no site below this relay says that anything is wrong",
		)
		return
	}
	set(st, v1alpha1.ConditionSubtreeHealthy, metav1.ConditionFalse, reason, strings.Join(why, "; "))
}

// trouble puts the sites in trouble below a relay into its status, and says of them what to do;
// nothing where there are none.
func trouble(relay string, told *v1alpha1.SyncTargetBelow, below *tunnel.SubtreeStatus) (reason string, why []string) {
	if below.Troubled == 0 {
		return "", nil
	}
	reason = "SitesInTrouble"
	var names, relays []string
	for _, t := range below.First {
		told.First = append(told.First, v1alpha1.SiteInTrouble{Path: t.Path, Condition: t.Type, Reason: t.Reason})
		names = append(names, fmt.Sprintf("%s (%s)", t.Path, t.Reason))
		if at := path.Dir(path.Join(relay, t.Path)); !slices.Contains(relays, at) {
			relays = append(relays, at)
		}
		if t.Type == tunnel.CenterTrusted {
			reason = "SitesHold"
		}
	}
	if more := below.Troubled - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return reason, []string{
		fmt.Sprintf("sites below this relay that hold something back, or say that something is wrong: %s. "+
			"They are looked after at the relay that they are attached to (%s): run there skerry status, and where one "+
			"holds, skerry target accept NAME --dry-run",
			strings.Join(names, ", "), strings.Join(relays, ", ")),
	}
}

// away puts those below a relay that have no session into its status, and says who they are;
// nothing where all have one.
func away(told *v1alpha1.SyncTargetBelow, r *tunnel.SubtreeReach) string {
	var names []string
	for _, a := range r.Away {
		since := metav1.Unix(a.Since, 0).Rfc3339Copy()
		told.Away = append(told.Away, v1alpha1.SiteAway{Path: a.Path, Since: since})
		names = append(names, fmt.Sprintf("%s (since %s)", a.Path, since.UTC().Format("2006-01-02 15:04 MST")))
	}
	if r.Connected == r.Targets {
		return ""
	}
	text := fmt.Sprintf("%d of %d sites below this relay are not connected", r.Targets-r.Connected, r.Targets)
	if len(names) > 0 {
		text += ", longest: " + strings.Join(names, ", ")
	}
	return text + ". What runs there goes on"
}
