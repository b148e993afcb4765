package delivery

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// copies are Volumes whose state a test sets.
type copies struct {
	mu    sync.Mutex
	wants *volumes.Move
	is    volumes.State
	left  int64 // what a whole copy was made at
	wake  func()

	replica *volumes.Replica
	word    volumes.Word
}

func (c *copies) Replicate(_ context.Context, _ binding.UnitID, r *volumes.Replica, word volumes.Word) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replica, c.word = r, word
}

func (c *copies) replicated() (*volumes.Replica, volumes.Word) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replica, c.word
}

func (c *copies) Keep(_ context.Context, _ binding.UnitID, m *volumes.Move, wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wants, c.wake = m, wake
}

func (c *copies) State(m *volumes.Move) volumes.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.is
	if s.Copied == binding.CopiedWhole && (m.Left == 0 || m.Left != c.left) {
		s.Copied = binding.CopiedNearly
	}
	return s
}

func (c *copies) Wait() {}

func (c *copies) wanted() *volumes.Move {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wants
}

// becomes sets how far the copy is, and tells.
func (c *center) becomes(is binding.Copied, text string) {
	m := c.copies.wanted()
	c.copies.mu.Lock()
	if c.copies.is = (volumes.State{Copied: is, Text: text}); m != nil {
		c.copies.left = m.Left
	}
	wake := c.copies.wake
	c.copies.mu.Unlock()
	wake()
}

func (c *center) unitOf(namespace string) string {
	o, _ := c.Get(c.t.Context(), nsKey(namespace), "v1")
	return uidIn(o)
}

func uidIn(o map[string]any) string {
	uid, _ := o["metadata"].(map[string]any)["uid"].(string)
	return uid
}

// movable is a Namespace with an app on a that writes to a volume.
func (c *center) movable() (app, claim store.Key) {
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationVolumes: "Move"}})
	claim = key("", "persistentvolumeclaims", "data")
	m := meta("data")
	m["namespace"] = "app"
	c.put(claim, obj("v1", "PersistentVolumeClaim", m, "spec", map[string]any{"accessModes": []any{"ReadWriteOnce"}}))
	app = key("apps", "deployments", "notes")
	m = meta("notes")
	m["namespace"], m["generation"] = "app", 1
	c.put(app, obj("apps/v1", "Deployment", m, "spec", map[string]any{"replicas": 1, "template": map[string]any{
		"spec": map[string]any{"volumes": []any{map[string]any{"name": "v",
			"persistentVolumeClaim": map[string]any{"claimName": "data"}}}}}}))
	c.eventually("on a", func() bool { return c.has("a", app) && c.has("a", claim) })
	c.report("a", app, nil)
	c.report("a", claim, func(p *placement.Progress) { p.HasVolume = true })
	return app, claim
}

// begins has the app be wished on b, and makes the movers that are asked for.
func (c *center) begins(claim store.Key) (from, to store.Key) {
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
	c.eventually("a copy is wanted", func() bool { return c.copies.wanted() != nil })
	m := c.copies.wanted()
	for _, side := range []volumes.Side{volumes.SideFrom, volumes.SideTo} {
		k := volumes.MoverKey(m, m.Claims[0], side)
		user, err := c.Get(c.t.Context(), m.Claims[0].User, m.Claims[0].UserVersion)
		if err != nil {
			c.t.Fatal(err)
		}
		o := volumes.Mover(k, m, m.Claims[0], side, "image", volumes.TemplateOf(user), "")
		o["metadata"].(map[string]any)["uid"] = string(side) + "-uid"
		c.put(k, o)
		if side == volumes.SideFrom {
			from = k
		} else {
			to = k
		}
	}
	c.eventually("the movers are where they are to be, and the claim with them", func() bool {
		return c.has("a", from) && c.has("b", to) && !c.has("a", to) && !c.has("b", from) && c.has("b", claim)
	})
	return from, to
}

// seen has the targets report the movers as they are now.
func (c *center) seen(movers ...store.Key) {
	for target, k := range map[string]store.Key{"a": movers[0], "b": movers[1]} {
		if c.has(target, k) {
			c.mayReport(target, k, nil)
		}
	}
}

// stops has the first rounds be made, after which the app is off a.
func (c *center) stops(app store.Key) {
	c.becomes(binding.CopiedNearly, "the first rounds are made")
	c.eventually("the app is off a", func() bool { return !c.has("a", app) })
}

// What a label moves waits for its volume: nothing of it is at two targets, none of its claims is taken away, and the
// old one stays until its time is over.
func TestAnAppMovesWithItsVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		from, to := c.begins(claim)
		if m := c.copies.wanted(); m.From != "a" || m.To != "b" || m.Claims[0].User != app || m.Left != 0 {
			t.Fatalf("wanted is %+v", m)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if status, reason, message := c.namespaceMoving(); !c.has("a", app) || c.has("b", app) || status != "True" ||
			reason != "CopyingVolumes" || !strings.Contains(message, "data from a to b") {
			t.Fatalf("it does not run on a alone, or does not say what it waits for: %s %s %s", status, reason, message)
		}
		c.becomes(binding.CopiedNot, "copies data: 3 MiB, of which 2 MiB were sent")
		synctest.Wait()
		if s := c.saidMoving(claim); !s.Status || s.Reason != "CopyingVolumes" || !strings.Contains(s.Message, "2 MiB were sent") {
			t.Errorf("the claim says %+v", s)
		}
		c.stops(app)
		synctest.Wait()
		if s := c.saidMoving(claim); !s.Status || !strings.Contains(s.Message, "while nothing runs") {
			t.Errorf("in the last round the claim says %+v", s)
		}
		if !c.has("a", claim) || c.has("b", app) || c.copies.wanted().Left != 0 {
			t.Fatal("its claim is taken away, or it begins elsewhere, or is said to be gone that is not")
		}
		c.becomes(binding.CopiedWhole, "") // of before
		synctest.Wait()
		c.gone("a", app)
		c.eventually("it is known that nothing runs", func() bool { return c.copies.wanted().Left != 0 })
		synctest.Wait()
		if c.has("b", app) {
			t.Fatal("it begins before the last round")
		}
		c.becomes(binding.CopiedWhole, "all is copied")
		c.eventually("it begins on b", func() bool { return c.has("b", app) && c.copies.wanted() == nil })
		c.report("b", app, nil)
		c.report("b", claim, func(p *placement.Progress) { p.HasVolume = true })
		if s := c.saidMoving(claim); s.Status || s.Reason != string(placement.Settled) {
			t.Errorf("when all is copied the claim says %+v", s)
		}
		c.eventually("one mover is gone, the other one keeps the old volume", func() bool {
			c.seen(from, to)
			o, err := c.Get(t.Context(), from, "apps/v1")
			_, errTo := c.Get(t.Context(), to, "apps/v1")
			return err == nil && errTo != nil && o["spec"].(map[string]any)["replicas"] != int64(1) && c.has("b", claim)
		})
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		if !c.has("a", claim) {
			t.Fatal("the old volume is gone before its time")
		}
		time.Sleep(2 * time.Hour)
		c.eventually("the old volume is gone", func() bool {
			c.seen(from, to)
			return !c.has("a", claim) && c.has("b", claim) && c.has("b", app)
		})
	})
}

// A center that restarts between the two targets knows nothing of the copy: the app begins nowhere, and its volume
// stays.
func TestARestartInTheMiddleOfACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		from, to := c.begins(claim)
		c.stops(app)
		c.gone("a", app)
		c.copies.mu.Lock()
		c.copies.is, c.copies.wants = volumes.State{}, nil
		c.copies.mu.Unlock()
		c.restart()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if !c.has("a", claim) || !c.has("a", from) || c.has("b", app) {
			t.Fatal("the volume is gone, or the app begins without it")
		}
		c.eventually("the copy is wanted again", func() bool { m := c.copies.wanted(); return m != nil && m.Left != 0 })
		time.Sleep(6 * time.Minute)
		c.eventually("it takes too long, and all is as before", func() bool { return c.has("a", app) && !c.has("b", app) })
		if _, reason, message := c.namespaceMoving(); reason != "ReadyTimeout" || !strings.Contains(message, "not moved to b") {
			t.Errorf("it says %s: %s", reason, message)
		}
		o, _ := c.Get(t.Context(), to, "apps/v1")
		if meta := o["metadata"].(map[string]any)["annotations"].(map[string]any); meta[v1alpha1.AnnotationKeepUntil] == nil {
			t.Error("b is not told that what was copied there may go")
		}
		c.eventually("the movers are gone", func() bool {
			c.seen(from, to)
			n := 0
			c.d.catalog.RLock()
			defer c.d.catalog.RUnlock()
			c.d.catalog.Movers.Of(binding.UnitID(c.unitOf("app")), func(*catalog.Object) { n++ })
			return n == 0 && !c.has("b", claim) && c.has("a", claim)
		})
	})
}

// Between the two targets a volume stays, also when somebody takes the mover away that mounts it.
func TestTheVolumeStaysWithoutItsMover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		from, _ := c.begins(claim)
		c.stops(app)
		c.put(from, nil)
		synctest.Wait()
		if !c.has("a", claim) {
			t.Fatal("the volume is gone")
		}
		c.gone("a", app)
		c.eventually("the last round is wanted", func() bool { return c.copies.wanted().Left != 0 })
	})
}

// Two claims of one name in two Namespaces are two.
func TestClaimsOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		policy := func(target string) map[string]any {
			return map[string]any{"targets": map[string]any{"names": []any{target}}, "move": map[string]any{"volumes": "Move"},
				"objects": []any{map[string]any{"namespaces": []any{"app", "more"}}}}
		}
		c.placement("p", 1, nil, policy("a"))
		app, claim := c.movable()
		c.namespace("more", nil)
		for _, k := range []store.Key{app, claim} {
			o, _ := c.Get(t.Context(), k, "v1")
			k.Namespace = "more"
			m := meta(k.Name)
			m["namespace"], m["uid"], m["generation"] = "more", "more-"+k.Name, 1
			c.put(k, obj(o["apiVersion"].(string), o["kind"].(string), m, "spec", o["spec"]))
			c.eventually("on a", func() bool { return c.has("a", k) })
			c.report("a", k, func(p *placement.Progress) { p.HasVolume = k.Resource != "deployments" })
		}
		c.placement("p", 2, nil, policy("b"))
		c.eventually("both are copied", func() bool {
			m := c.copies.wanted()
			return m != nil && len(m.Claims) == 2 && m.Claims[0].Namespace == "app" && m.Claims[1].Namespace == "more" &&
				m.Claims[0].UID != m.Claims[1].UID && m.Claims[1].User.Namespace == "more"
		})
	})
}

// Users read the reason, too, and start no center.
func TestWhatIsCopiedWithoutAnImageIsTheAdmins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.movable()
		c.d.moves.volumes = nil
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("it says why", func() bool {
			_, reason, message := c.namespaceMoving()
			return reason == "VolumeWouldStay" && strings.Contains(message, "its admin names one with --mover-image")
		})
	})
}

// What cannot be copied stays, and says why.
func TestWhatCannotBeCopiedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		_, claim := c.movable()
		c.put(key("apps", "deployments", "notes"), nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("it says why", func() bool {
			_, reason, message := c.namespaceMoving()
			return reason == "VolumeWouldStay" && strings.Contains(message, "mounted by nothing")
		})
		if c.has("b", claim) || c.copies.wanted() != nil {
			t.Error("it moves all the same")
		}
	})
}

// What something else mounts that stays is not copied: it would go on writing.
func TestAVolumeOfTwoUnitsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		o, _ := c.Get(t.Context(), app, "apps/v1")
		stays := key("apps", "deployments", "stays")
		m := meta("stays")
		m["namespace"], m["generation"], m["labels"] = "app", 1, map[string]any{v1alpha1.LabelTarget: "a"}
		c.put(stays, obj("apps/v1", "Deployment", m, "spec", o["spec"]))
		c.eventually("it is on a", func() bool { return c.has("a", stays) })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("it says why", func() bool {
			_, reason, message := c.namespaceMoving()
			return reason == "VolumeWouldStay" && strings.Contains(message, "deployments/stays mounts")
		})
		if c.has("b", claim) || !c.has("a", app) || c.copies.wanted() != nil {
			t.Error("it moves all the same")
		}
	})
}

// Nobody places a Deployment by the mark of a mover.
func TestAForgedMover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.movable()
		k := key("apps", "deployments", "forged")
		m := meta("forged")
		m["namespace"] = "app"
		m["labels"] = map[string]any{v1alpha1.LabelTarget: "b"}
		m["annotations"] = map[string]any{v1alpha1.AnnotationMover: volumes.Mark{Unit: binding.UnitID(c.unitOf("app")), From: "a-uid",
			To: "b-uid", Side: volumes.SideTo}.String()}
		c.put(k, obj("apps/v1", "Deployment", m, "spec", map[string]any{"replicas": 1}))
		after := c.configMap("after")
		c.eventually("what came later is placed", func() bool { return c.has("a", after) })
		if c.has("a", k) || c.has("b", k) {
			t.Error("it is placed")
		}
	})
}

// Advice to set what is set already helps nobody.
func TestTheWayOutIsWhatIsMissing(t *testing.T) {
	const advice = "set the annotation skerry.dev/volumes=Move"
	two := []binding.TargetID{1, 2}
	for _, c := range []struct {
		name   string
		l      look
		images bool
		want   string
	}{
		{name: "not wished", want: advice},
		{name: "no image", l: look{moves: volumeMove{wished: true}}, want: "--mover-image"},
		{name: "no image, to two targets", l: look{moves: volumeMove{wished: true},
			facts: binding.Facts{Wish: binding.Somewhere, Wanted: two}}, want: "--mover-image"},
		{name: "to two targets", l: look{moves: volumeMove{wished: true},
			facts: binding.Facts{Wish: binding.Somewhere, Wanted: two}}, images: true, want: "wanted on 2"},
		{name: "suspended", l: look{moves: volumeMove{wished: true}, facts: binding.Facts{Suspended: true}},
			images: true, want: "spec.suspend"},
	} {
		m := &volumeMoves{}
		if c.images {
			m.volumes = &copies{}
		}
		m.ask(&c.l)
		if says := c.l.wayOut(); !strings.Contains(says, c.want) || strings.Contains(says, advice) != (c.want == advice) {
			t.Errorf("%s: %s", c.name, says)
		}
	}
}
