package sessions

import (
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

// accept is an admin's word about a target.
func (c *center) accept(name, word string) {
	c.api.change(
		targetsPath+"/"+name,
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationAccept: word}}},
	)
}

// A site that does not obey this center is shown with what it would lose; an admin's word goes to
// it when it is about exactly that.
func TestHeldTargetIsAccepted(t *testing.T) {
	c := newCenter(t)
	c.open()
	c.place(3)
	c.place(4)
	c.place(5)
	s := c.joined("paris")
	sink, accepted := storetest.NewMemory(), make(chan tunnel.Accept, 10)
	elsewhere := store.Position{Incarnation: store.NewIncarnation(), Era: 7, Revision: 40}
	must(
		t,
		sink.Commit(
			t.Context(),
			store.Batch{
				Entries: []store.Entry{storetest.Value(1, 30, `{}`), storetest.Value(2, 40, `{}`)},
				Through: elsewhere,
			},
		),
	)
	l := c.connect(s, func(cfg *tunnel.ChildConfig) {
		cfg.Desired = sink
		cfg.OnAccept = func(a tunnel.Accept) (bool, error) { accepted <- a; return false, nil }
	})
	status := func() v1alpha1.SyncTargetStatus { return c.api.status(t, "paris") }
	within(t, "what is held", func() bool { return status().Held != nil })
	held := *status().Held
	if held.Reason != tunnel.CenterRegressed || held.Objects != 2 || held.Deletions != 2 || held.Additions != 3 ||
		held.Changes != 0 ||
		len(held.First) != 2 ||
		!strings.Contains(held.Message, elsewhere.String()) {
		t.Errorf("held: %+v", held)
	}
	if !says(status(), v1alpha1.ConditionCenterTrusted, "False/CenterRegressed") ||
		!says(status(), v1alpha1.ConditionSynced, "False/CenterRegressed") {
		t.Errorf("conditions %+v", status().Conditions)
	}
	c.accept("paris", "0123456789abcdef")
	select {
	case a := <-accepted:
		t.Errorf("a word about something else was sent: %+v", a)
	case <-time.After(200 * time.Millisecond):
	}
	c.accept("paris", held.Accept)
	a := got(t, accepted, "the acceptance")
	if a.At != elsewhere || a.Center.Incarnation != c.incarnation || a.Deletions != 2 || a.DeletionsUpTo != 0 {
		t.Errorf("accepted %+v", a)
	}
	select {
	case <-accepted:
		t.Error("it was sent twice in one session")
	case <-time.After(200 * time.Millisecond):
	}

	// What is held stays in the status while the site is away, and a word that was given meanwhile
	// counts when it is back.
	l.stop()
	within(t, "its end", func() bool { return says(status(), v1alpha1.ConditionConnected, "False") })
	if is := status(); is.Held == nil || is.Held.Accept != held.Accept {
		t.Errorf("held while away: %+v", is.Held)
	}
	l = c.connect(s, func(cfg *tunnel.ChildConfig) {
		cfg.Desired = sink
		cfg.OnAccept = func(a tunnel.Accept) (bool, error) { return true, sink.Accept(a.Center) }
	})
	if err := got(t, l.ended, "the session's end"); err == nil ||
		!strings.Contains(err.Error(), tunnel.ErrAgain.Error()) {
		t.Errorf("the session ended with %v", err)
	}
	c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Desired = sink })
	within(t, "a site that follows", func() bool {
		return status().Held == nil && says(status(), v1alpha1.ConditionSynced, "True") &&
			says(status(), v1alpha1.ConditionCenterTrusted, "True")
	})
	if len(sink.Live()) != 3 {
		t.Errorf("%d objects after the accept, want 3", len(sink.Live()))
	}
}

// Deletions that the site's guard holds are confirmed by their revision.
func TestWithheldDeletionsAreConfirmed(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	accepted := make(chan tunnel.Accept, 10)
	l := c.connect(s, func(cfg *tunnel.ChildConfig) {
		cfg.OnAccept = func(a tunnel.Accept) (bool, error) { accepted <- a; return false, nil }
	})
	status := func() v1alpha1.SyncTargetStatus { return c.api.status(t, "paris") }
	within(t, "synced", func() bool { return says(status(), v1alpha1.ConditionSynced, "True") })
	l.says.Withhold(
		&tunnel.Withheld{Deletions: 20, Objects: 30, UpTo: 17, First: []string{"shop/core/configmaps/web/a"}},
	)
	within(t, "the guard", func() bool {
		return says(status(), v1alpha1.ConditionSynced, "False/DeletionsHeld") && status().Held != nil
	})
	held := *status().Held
	if held.Reason != tunnel.DeletionsHeld || held.Deletions != 20 || held.Objects != 30 || len(held.First) != 1 {
		t.Errorf("held: %+v", held)
	}
	c.accept("paris", held.Accept)
	if a := got(t, accepted, "the acceptance"); a != (tunnel.Accept{DeletionsUpTo: 17}) {
		t.Errorf("accepted %+v", a)
	}
	l.says.Withhold(nil)
	within(
		t,
		"no guard",
		func() bool { return says(status(), v1alpha1.ConditionSynced, "True") && status().Held == nil },
	)
}
