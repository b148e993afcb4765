package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// Held deletions touch nothing on the target, over a crash too, until an admin has confirmed them.
func TestHeldDeletionsTouchNothing(t *testing.T) { inBubble(t, heldDeletionsTouchNothing) }

func heldDeletionsTouchNothing(t *testing.T) {
	s := newSite(t)
	s.share = 30
	s.restart(false)
	all := []store.Entry{namespace("app")}
	for i := range 20 {
		all = append(all, configMap("app", fmt.Sprint("c", i), "1"))
	}
	s.desire(all...)
	s.settled()
	writes := len(s.api.Writes())
	var tombstones []store.Entry
	for _, e := range all {
		tombstones = append(tombstones, gone(e))
	}
	s.desire(tombstones...)
	s.settled()
	s.restart(true)
	s.settled()
	if n := len(s.api.Writes()) - writes; n != 0 {
		t.Errorf("%d writes for deletions that are held", n)
	}
	said, _ := s.conditions.All()
	if said.Withheld == nil || said.Withheld.Deletions != 21 ||
		len(said.Conditions) != 1 && said.Conditions[0].Reason != tunnel.DeletionsHeld {
		t.Fatalf("the center is told %+v", said)
	}
	s.desire(configMap("app", "other", "1"))
	s.settled()
	if again, err := s.accepted(tunnel.Accept{DeletionsUpTo: said.Withheld.UpTo}); again || err != nil {
		t.Fatalf("confirmed: again %t, %v", again, err)
	}
	eventually(t, "they go", func() bool {
		for _, e := range all[1:] {
			if s.exists(e) {
				return false
			}
		}
		return true
	})
	if !s.exists(configMap("app", "other", "1")) {
		t.Error("what was placed meanwhile is gone")
	}
	if said, _ = s.conditions.All(); said.Withheld != nil && said.Withheld.Deletions > 0 {
		t.Errorf("the center is told %+v", said.Withheld)
	}
}

// A center is accepted for the state that the admin saw, and only while it is held.
func TestAcceptIsForWhatIsHeld(t *testing.T) { inBubble(t, acceptIsForWhatIsHeld) }

func acceptIsForWhatIsHeld(t *testing.T) {
	s := newSite(t)
	s.desire(namespace("app"))
	s.settled()
	center := store.Position{Incarnation: store.NewIncarnation(), Era: 5, Revision: 3}
	at := s.desired.Position()
	accept := func(a tunnel.Accept, want bool) {
		t.Helper()
		again, err := s.accepted(a)
		if err != nil || again != want {
			t.Errorf("accepted %+v: %t, %v; want %t", a, again, err, want)
		}
	}
	accept(tunnel.Accept{Center: center, At: at}, false) // nothing is held
	s.conditions.Obey(fmt.Errorf("another center: %w", store.ErrRegressed))
	other := at
	other.Revision--
	accept(tunnel.Accept{Center: center, At: other}, false)
	if s.desired.Position() != at || !errors.Is(s.desired.Admit(center), store.ErrRegressed) {
		t.Error("the copy goes on with a center that was not accepted for it")
	}
	accept(tunnel.Accept{Center: center, At: at}, true)
	if err := s.desired.Admit(center); err != nil {
		t.Errorf("after the accept: %v", err)
	}
	accept(tunnel.Accept{Center: center, At: at}, false) // a second time it is of something that is not held any more
}

// A whole site whose center went back writes nothing, goes on enforcing, and follows once accepted.
func TestRegressedCenterOverASession(t *testing.T) {
	t.Parallel()
	c, dir := newCenter(t), t.TempDir()
	api := targettest.NewInMemory(t)
	w := c.agent(dir, api, c.token.String())
	defer func() { w.stop() }()
	c.place(namespace("app"), configMap("app", "stays", "1"), configMap("app", "goes", "1"))
	eventually(t, "all is applied", func() bool {
		r := c.reported(configMap("app", "goes", "1").Key)
		return r != nil && r.Applied != ""
	})
	held, orders := c.hold()
	before := len(api.Writes())
	c.reset(store.NewIncarnation(), 1)
	c.place(namespace("app"), configMap("app", "stays", "1"))
	c.shut()
	c.open()
	h := awaitHeld(t, held)
	if h.Delete != 1 || h.Change+h.Add != 0 || h.Objects != 3 {
		t.Errorf("held: %+v", h)
	}
	time.Sleep(100 * time.Millisecond)
	if n := len(api.Writes()) - before; n != 0 {
		t.Errorf("%d writes because of a center that went back", n)
	}
	orders.Put(tunnel.Accept{Center: h.Head, At: h.At, Deletions: h.Delete})
	eventually(t, "the site follows", func() bool { return api.Object("", "configmaps", "app", "goes") == nil })
	if api.Object("", "configmaps", "app", "stays") == nil || len(api.Writes())-before != 1 {
		t.Errorf("%d writes to delete one object", len(api.Writes())-before)
	}
}
