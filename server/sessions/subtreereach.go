package sessions

import (
	"cmp"
	"path"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

const (
	// awayAfter is how long a target is not heard before the parent of a relay is told so: a link
	// that comes back, or a relay that starts anew, is no news all the way up. With the time until
	// silence is noticed it is what a cluster waits before a node of it is not ready. backAfter is
	// how long it is heard before the parent is told that it is back.
	awayAfter = 30 * time.Second
	backAfter = 15 * time.Second
	// reachPause is how long after each word of it there is no other (but that somebody is
	// connected, where the last word was nobody), and twice as long, up to reachLongest, with each
	// word that comes soon after that: sites that come and go all day are not worth a frame each.
	reachPause   = 30 * time.Second
	reachLongest = 5 * time.Minute
)

// subtreeReach knows which targets are connected and heard, and when that is to be told. It belongs to below,
// whose lock guards it.
type subtreeReach struct {
	of      map[string]*reached
	turning map[string]bool      // those of which is told what is no longer so
	changed bool                 // something else is to be told than said
	said    *tunnel.SubtreeReach // never changed in place; nil before the first tick
	saidAt  time.Time
	pause   time.Duration
}

// reached is one target.
type reached struct {
	connected bool // what its status says, and told what is told of it
	told      bool
	at        time.Time            // when connected changed
	since     int64                // when it was last heard of
	below     *tunnel.SubtreeReach // what a relay says of the targets below it, by paths from there
}

func newSubtreeReach() subtreeReach {
	return subtreeReach{of: map[string]*reached{}, turning: map[string]bool{}, pause: reachPause}
}

// observe takes over what the status of a SyncTarget says. Whoever's key was revoked does not
// count, nor who has not been asked for yet.
func (r *subtreeReach) observe(name string, status *v1alpha1.SyncTargetStatus, now time.Time) {
	is := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionConnected)
	if is == nil || is.Reason == revoked {
		if r.of[name] != nil {
			delete(r.of, name)
			delete(r.turning, name)
			r.changed = true
		}
		return
	}
	t, connected := r.of[name], is.Status == metav1.ConditionTrue && is.Reason != v1alpha1.ReasonSilent
	switch {
	case t == nil: // it was so before, if this center has just started
		t = &reached{connected: connected, told: true, at: is.LastTransitionTime.Time}
		if t.at.After(now) { // the clock was set back
			t.at = now
		}
		r.of[name], r.changed = t, true
	case t.connected != connected:
		t.connected, t.at = connected, now
	}
	if delete(r.turning, name); t.connected != t.told {
		r.turning[name] = true
	}
	since := is.LastTransitionTime.Time
	silent := is.Status == metav1.ConditionTrue
	if heard := status.LastSeen; heard != nil && (silent || heard.Time.Before(since)) {
		since = heard.Time
	}
	if !connected && t.since != since.Unix() {
		t.since = since.Unix()
		r.changed = r.changed || !t.told
	}
	if below := reachOf(status.Below); !below.Equal(t.below) {
		t.below, r.changed = below, true
	}
}

// reachOf is what a relay has said of the targets below it, nil when it says nothing of them.
func reachOf(b *v1alpha1.SyncTargetBelow) *tunnel.SubtreeReach {
	if b == nil || b.Targets == nil || b.Connected == nil {
		return nil
	}
	out := &tunnel.SubtreeReach{Targets: int(*b.Targets), Connected: int(*b.Connected)}
	for _, a := range b.Away {
		out.Away = append(out.Away, tunnel.SiteAway{Path: a.Path, Since: a.Since.Unix()})
	}
	return out
}

// nobody reports whether it was told that nobody is connected.
func (r *subtreeReach) nobody() bool { return r.said != nil && r.said.Connected == 0 }

// first reports whether a target is connected where nobody was.
func (r *subtreeReach) first(name string) bool {
	t := r.of[name]
	return r.nobody() && t != nil && t.connected && t.told
}

// tick reports whether there is something else to say by now.
func (r *subtreeReach) tick(now time.Time) bool {
	for name := range r.turning {
		t := r.of[name]
		after := backAfter
		if t.told {
			after = awayAfter
		}
		if now.Sub(t.at) >= after {
			t.told, r.changed = t.connected, true
			delete(r.turning, name)
		}
	}
	rested, nobody := now.Sub(r.saidAt), r.nobody()
	if r.said != nil && (!r.changed || rested < r.pause && !nobody) {
		return false
	}
	is := r.sum()
	if rested < r.pause && nobody && is.Connected == 0 {
		return false
	}
	r.changed = false
	if is.Equal(r.said) {
		return false
	}
	if rested >= 2*r.pause {
		r.pause = reachPause
	} else {
		r.pause = min(2*r.pause, reachLongest)
	}
	r.said, r.saidAt = is, now
	return true
}

// sum is what is to be told, by paths from this center. A relay that is away reaches nobody.
func (r *subtreeReach) sum() *tunnel.SubtreeReach {
	out := &tunnel.SubtreeReach{}
	for name, t := range r.of {
		below := tunnel.SubtreeReach{}
		if t.below != nil {
			below = *t.below
		}
		out.Targets += 1 + below.Targets
		if !t.told {
			out.Away = append(out.Away, tunnel.SiteAway{Path: name, Since: t.since})
			continue
		}
		out.Connected += 1 + below.Connected
		for _, a := range below.Away {
			out.Away = append(out.Away, tunnel.SiteAway{Path: path.Join(name, a.Path), Since: a.Since})
		}
	}
	slices.SortFunc(out.Away, func(a, b tunnel.SiteAway) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Path, b.Path))
	})
	out.Away = slices.Clip(out.Away[:min(len(out.Away), tunnel.MaxTroubles)])
	return out
}
