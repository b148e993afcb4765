package sessions

import (
	"reflect"
	"slices"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// What sites open goes up through relays, less what spec.allow of each takes away.
func TestARelaySaysWhatItsSitesOpen(t *testing.T) {
	srv := &Server{subtree: newSubtreeStatus()}
	_, changed := srv.Subtree()
	oslo := v1alpha1.SyncTargetStatus{Policy: &v1alpha1.SyncTargetPolicy{
		Controllers: []string{"shop"}, Kinds: []string{"*"}}}
	srv.subtree.observe("oslo", &oslo)
	srv.subtree.observe("vik", &v1alpha1.SyncTargetStatus{Policy: &v1alpha1.SyncTargetPolicy{
		Controllers: []string{"bank"}, ClusterControllers: []string{"bank"}, Webhooks: []string{"shop", "bank"}}})
	select {
	case <-changed:
	default:
		t.Error("it is no news")
	}
	below, _ := srv.Subtree()
	relay := &v1alpha1.SyncTarget{}
	permits(relay, &tunnel.ChildStatus{Subtree: below})
	if p := relay.Status.Policy; p == nil || !slices.Equal(p.Controllers, []string{"bank", "shop"}) ||
		!slices.Equal(p.ClusterControllers, []string{"bank"}) || p.Kinds != nil ||
		!slices.Equal(p.Webhooks, []string{"bank", "shop"}) {
		t.Errorf("%+v", p)
	}
	relay.Spec.Allow = &v1alpha1.SyncTargetAllow{Controllers: []string{"sh*"}, ClusterControllers: []string{},
		Webhooks: []string{"b*"}}
	permits(relay, &tunnel.ChildStatus{Subtree: below})
	if p := relay.Status.Policy; p == nil || !slices.Equal(p.Controllers, []string{"shop"}) || p.ClusterControllers != nil ||
		!slices.Equal(p.Webhooks, []string{"bank"}) {
		t.Errorf("less what is taken away: %+v", p)
	}
	no, yes := false, true
	relay.Spec.Allow = &v1alpha1.SyncTargetAllow{Controllers: []string{}, ClusterControllers: []string{},
		Webhooks: []string{}, Logs: &no, Exec: &yes, Services: &no}
	permits(relay, &tunnel.ChildStatus{Subtree: below})
	if p := relay.Status.Policy; p == nil || !reflect.DeepEqual(*p, v1alpha1.SyncTargetPolicy{
		Logs: []string{"false"}, Services: []string{"false"}}) {
		t.Errorf("ways that are closed: %+v", p)
	}
	relay.Spec.Allow = nil
	srv.subtree.observe("oslo", &v1alpha1.SyncTargetStatus{})
	srv.subtree.observe("vik", &v1alpha1.SyncTargetStatus{})
	below, _ = srv.Subtree()
	if permits(relay, &tunnel.ChildStatus{Subtree: below}); relay.Status.Policy != nil {
		t.Errorf("nobody opens anything: %+v", relay.Status.Policy)
	}
}

// What is taken away of a relay stands in its status, which is to be written at once.
func TestAllowedAnewIsNews(t *testing.T) {
	known := newTargets()
	relay := func(controllers ...string) *v1alpha1.SyncTarget {
		st := &v1alpha1.SyncTarget{}
		if controllers != nil {
			st.Spec.Allow = &v1alpha1.SyncTargetAllow{Controllers: controllers}
		}
		return st
	}
	for _, c := range []struct {
		what string
		to   *v1alpha1.SyncTarget
		news bool
	}{
		{"a new relay", relay(), true},
		{"the same", relay(), false},
		{"less", relay("nobody"), true},
		{"the same again", relay("nobody"), false},
		{"other spaces", relay("sh*"), true},
		{"all", relay(), true},
	} {
		if news := known.put("nordic", c.to); news != c.news {
			t.Errorf("%s: news %v", c.what, news)
		}
	}
}
