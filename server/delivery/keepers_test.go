package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// comesTo has the app of movable move to b with its volume. Its movers are there still, and are not reported.
func (c *center) comesTo(app, claim store.Key) (from, to store.Key) {
	from, to = c.begins(claim)
	c.stops(app)
	c.gone("a", app)
	c.eventually("the last round is wanted", func() bool { return c.copies.wanted().Left != 0 })
	c.becomes(binding.CopiedWhole, "all is copied")
	c.eventually("it begins on b", func() bool { return c.has("b", app) && c.copies.wanted() == nil })
	c.report("b", app, nil)
	c.report("b", claim, func(p *placement.Progress) { p.HasVolume = true })
	return from, to
}

// keepsUntil is until when a mover says that it keeps its volume, empty for no such time or no mover.
func (c *center) keepsUntil(mover store.Key) string {
	o, err := c.Get(c.t.Context(), mover, "apps/v1")
	if err != nil {
		return ""
	}
	return fields.String(o, "metadata", "annotations", v1alpha1.AnnotationKeepUntil)
}

// A volume that was kept is needed again when the app moves back: its keeper keeps it no more, and does not end before
// its target has seen that.
func TestAKeptVolumeIsNeededAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		from, to := c.comesTo(app, claim)
		c.eventually("the old volume is kept", func() bool {
			c.seen(from, to)
			return c.keepsUntil(from) != "" && !c.has("b", to)
		})
		c.report("a", from, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("it is not kept any more", func() bool { return c.copies.wanted() != nil && c.keepsUntil(from) == "" })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("the app stays, so it is kept again", func() bool { return c.keepsUntil(from) != "" })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("it is not kept any more", func() bool { return c.copies.wanted() != nil && c.keepsUntil(from) == "" })
		c.becomes(binding.CopiedNearly, "the first rounds are made")
		c.eventually("the app is off b", func() bool { return !c.has("b", app) })
		c.gone("b", app)
		c.eventually("the last round is wanted", func() bool { return c.copies.wanted().Left != 0 })
		c.becomes(binding.CopiedWhole, "all is copied")
		c.eventually("it begins on a", func() bool { return c.has("a", app) })
		time.Sleep(time.Hour)
		synctest.Wait()
		if !c.has("a", from) {
			t.Fatal("its keeper ends before its target knows that it keeps nothing")
		}
		c.report("a", from, nil)
		c.eventually("the keeper is gone", func() bool { return !c.has("a", from) && c.has("a", claim) })
	})
}

// A mover may still be there when the app leaves the target that it has copied to. What it copied is the only whole copy
// then: it does not give that up.
func TestAMoverThatLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		_, to := c.comesTo(app, claim)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("it is to move back", func() bool { return c.copies.wanted() != nil })
		c.becomes(binding.CopiedNearly, "the first rounds are made")
		c.eventually("the app is off b", func() bool { return !c.has("b", app) })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if c.keepsUntil(to) != "" || !c.has("b", claim) {
			t.Error("the only whole copy is given up")
		}
	})
}
