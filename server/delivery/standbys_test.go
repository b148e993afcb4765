package delivery

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

const fuzzy = `{"target":"b","every":"1m","consistency":"Fuzzy"}`

// replicates says how volumes in the Namespace are replicated.
func (c *center) replicates(how string) {
	c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationVolumes: "Replicate",
		v1alpha1.AnnotationReplication: how}})
}

func (c *center) saidOf(k store.Key) placement.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[k.String()+" "+v1alpha1.ConditionReplicated]
}

// standby is an app on a whose claim has a standby on b, with the movers.
func (c *center) standby() (app, claim, source, standby store.Key, r *volumes.Replica) {
	app, claim = c.movable()
	c.replicates(fuzzy)
	c.eventually("a standby is wanted", func() bool { r, _ = c.copies.replicated(); return r != nil })
	user, err := c.Get(c.t.Context(), r.Claims[0].User, r.Claims[0].UserVersion)
	if err != nil {
		c.t.Fatal(err)
	}
	keys := map[volumes.Side]store.Key{}
	for _, side := range r.Sides() {
		k := volumes.MoverKey(&r.Move, r.Claims[0], side)
		o := volumes.Mover(k, &r.Move, r.Claims[0], side, "image", volumes.TemplateOf(user), "")
		o["metadata"].(map[string]any)["uid"] = string(side) + "-uid"
		c.put(k, o)
		keys[side] = k
	}
	source, standby = keys[volumes.SideSource], keys[volumes.SideStandby]
	c.eventually("the movers are where they are to be, and the claim with them", func() bool {
		return c.has("a", source) && c.has("b", standby) && !c.has("a", standby) && !c.has("b", source) && c.has("b", claim)
	})
	if c.has("b", app) {
		c.t.Fatal("the app is at its standby")
	}
	return app, claim, source, standby, r
}

// becomesStandby has the mover say what its standby is.
func (c *center) becomesStandby(k store.Key, s volumes.Standby) {
	text, _ := json.Marshal(s)
	c.change(k, map[string]any{"annotations": map[string]any{v1alpha1.AnnotationStandby: string(text)}})
}

var wholeRound = &volumes.Round{At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Files: 1, Bytes: 2}

func TestWhatIsReplicated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		for how, want := range map[string]string{
			"":              "volumeReplication",
			`{"target":""}`: "volumeReplication",
			`{"target":"b","every":"1s","consistency":"Fuzzy"}`: "volumeReplication",
			`{"target":"b","often":"1s","consistency":"Fuzzy"}`: "volumeReplication",
			`{"target":"b"}`:                         "consistency: Fuzzy",
			`{"target":"a","consistency":"Fuzzy"}`:   "is on a itself",
			`{"target":"nix","consistency":"Fuzzy"}`: "nix",
		} {
			c.replicates(how)
			c.eventually(how+" says why nothing is", func() bool {
				said := c.saidOf(claim)
				return !said.Status && said.Reason == notReplicated && strings.Contains(said.Message, want)
			})
			if r, _ := c.copies.replicated(); r != nil {
				t.Fatalf("%s: it is replicated to %s", how, r.To)
			}
		}
		c.replicates(fuzzy)
		var word volumes.Word
		var r *volumes.Replica
		c.eventually("it is replicated", func() bool { r, word = c.copies.replicated(); return r != nil })
		if r.From != "a" || r.To != "b" || r.Every != time.Minute || r.Claims[0].Name != "data" || r.Settles {
			t.Errorf("%+v", r)
		}
		word.Say(r.Claims[0], volumes.Standby{Source: "a", Target: "b", Last: wholeRound})
		if said := c.saidOf(claim); !said.Status || said.Message != "b holds what a had at 2000-01-01T00:00:00Z" {
			t.Errorf("%+v", said)
		}
		if n, oldest := StandbysOf(c.d); n != 1 || !oldest.Equal(wholeRound.At) {
			t.Errorf("%d standbys, the oldest of %s", n, oldest)
		}
		c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationVolumes: "Move"}})
		c.eventually("it ends", func() bool { r, _ := c.copies.replicated(); return r == nil })
		c.eventually("nothing is said", func() bool { return c.saidOf(claim).Reason == "" })
		if !c.has("a", app) {
			t.Error("the app has left")
		}
	})
}

// A metered link is not used unless that is said.
func TestAMeteredLinkCarriesNoRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.away("b", false, map[string]any{"link": map[string]any{"class": string(v1alpha1.LinkMetered)}})
		_, claim := c.movable()
		c.replicates(fuzzy)
		c.eventually("it says why", func() bool { return strings.Contains(c.saidOf(claim).Message, "the link of b is metered") })
		c.replicates(`{"target":"b","consistency":"Fuzzy","overMeteredLinks":true}`)
		c.eventually("it is replicated", func() bool { r, _ := c.copies.replicated(); return r != nil })
	})
}

var down = map[string]any{"taints": []any{map[string]any{"key": v1alpha1.TaintOutOfService, "effect": "NoExecute"}}}

// TestPromotion: the unit leaves a target that is away for its standby where somebody says so, the loss is fenced and the
// standby is whole and settled, and never before.
func TestPromotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim, source, standby, _ := c.standby()
		c.away("a", true, map[string]any{})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		stays := func(why, want string) {
			t.Helper()
			c.eventually(why, func() bool { return strings.Contains(c.moveOf("a"), want) })
			if c.has("b", app) || !c.has("a", app) {
				t.Fatalf("%s: it has left a", why)
			}
		}
		stays("nobody has said so", "would be left behind on a")
		c.change(standby, map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPromote: "true"}})
		stays("there is no round", "no whole round of data")
		c.becomesStandby(standby, volumes.Standby{Last: wholeRound})
		stays("it may still run there", "it has no lease")
		_, word := c.copies.replicated()
		if lost, away := word.Ends(); lost == nil || lost.Certain || away != "" {
			t.Errorf("it is known of a: %+v, and that %q is away", lost, away)
		}
		ends := time.Now().Add(time.Hour)
		c.lease.Store(&placement.Lease{Held: true, Ends: ends})
		c.label(nsKey("app"), map[string]any{"look": "again"})
		stays("its lease lasts", "waits for the lease of a")
		c.away("b", true, map[string]any{})
		c.label(nsKey("app"), map[string]any{"look": "once more"})
		stays("the standby is away", "b, which has its standby, is away, too")
		c.away("b", false, map[string]any{})
		c.lease.Store(nil)
		c.away("a", true, down)
		stays("it is not settled", "it is made sure which round")
		c.eventually("it is to be settled", func() bool { r, _ := c.copies.replicated(); return r != nil && r.Settles })
		c.restart()
		c.eventually("also after a restart", func() bool { r, _ := c.copies.replicated(); return r != nil && r.Settles })
		stays("after a restart", "it is made sure which round")
		c.becomesStandby(standby, volumes.Standby{Last: wholeRound, Settled: true, Released: true})
		c.eventually("it begins on b", func() bool { return c.has("b", app) && c.has("b", claim) && !c.has("a", app) })
		c.report("b", app, nil)
		c.report("b", claim, func(p *placement.Progress) { p.HasVolume = true })
		c.eventually("nothing is replicated", func() bool { r, _ := c.copies.replicated(); return r == nil })

		// The site returns: what it held stays, with nothing that runs, and nothing moves back into it.
		c.away("a", false, map[string]any{})
		c.eventually("the standby is one no more", func() bool { o, _ := c.Get(t.Context(), standby, ""); return o == nil })
		c.eventually("a keeps its volume", func() bool {
			o, _ := c.Get(t.Context(), source, "")
			return strings.Contains(text(o), "9999-12-31") && c.has("a", source) && c.has("a", claim)
		})
		if c.has("a", app) {
			t.Fatal("it runs on a, too")
		}
		c.replicates(strings.Replace(fuzzy, `"b"`, `"a"`, 1))
		c.eventually("nothing is copied over it", func() bool {
			return strings.Contains(c.saidOf(claim).Message, "a keeps what data held there before")
		})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("nor by a move", func() bool { return strings.Contains(c.moveOf("b"), "a keeps what data held") })
		if r, _ := c.copies.replicated(); r != nil || c.copies.wanted() != nil {
			t.Fatal("something is copied to a")
		}
		// It is forgotten: its target has to have seen that first.
		c.change(source, map[string]any{"annotations": map[string]any{
			v1alpha1.AnnotationKeepUntil: time.Now().Add(-time.Second).UTC().Format(time.RFC3339)}})
		c.report("a", source, nil)
		c.eventually("it is gone", func() bool { return !c.has("a", source) && !c.has("a", claim) })
		c.eventually("and the app may move back", func() bool { return c.copies.wanted() != nil })
	})
}

func text(o map[string]any) string { b, _ := json.Marshal(o); return string(b) }

// TestFailoverToTheStandby: a Placement says that units leave a lost target. They leave for the standby alone.
func TestFailoverToTheStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("aa", nil) // would be chosen before b
		c.away("a", false, map[string]any{"evictAfter": "1m"})
		spec := map[string]any{"targets": map[string]any{"names": []any{"a", "aa", "b"}, "count": 1},
			"objects": []any{map[string]any{"namespaces": []any{"app"}}}, "failover": map[string]any{"mode": "AfterLease"},
			"move": map[string]any{"volumes": "Replicate", "volumeReplication": map[string]any{"target": "b",
				"consistency": "Fuzzy"}}}
		c.placement("p", 1, nil, spec)
		app, claim := c.movable()
		var r *volumes.Replica
		c.eventually("a standby is wanted", func() bool { r, _ = c.copies.replicated(); return r != nil && r.To == "b" })
		c.lease.Store(&placement.Lease{Held: true, Ends: time.Now().Add(-time.Second)})
		c.away("a", true, map[string]any{"evictAfter": "1m"})
		c.eventually("without a round it stays", func() bool {
			return slices.ContainsFunc(c.d.MovesOf("a"), func(m placement.Moving) bool {
				return strings.Contains(m.Message, "0 of 1 standbys of persistentvolumeclaims/data")
			})
		})
		if c.elsewhere(app) || c.has("aa", app) {
			t.Fatal("it begins with an empty volume")
		}
		k := volumes.MoverKey(&r.Move, r.Claims[0], volumes.SideStandby)
		o := volumes.Mover(k, &r.Move, r.Claims[0], volumes.SideStandby, "image", map[string]any{}, "")
		o["metadata"].(map[string]any)["uid"] = "standby-uid"
		c.put(k, o)
		silent := c.d.catalog.Targets["a"].AwaySince
		old := &volumes.Round{At: silent.Add(-time.Hour - time.Minute)}
		c.becomesStandby(k, volumes.Standby{Last: old})
		c.eventually("on an old one it does not begin by itself", func() bool {
			return slices.ContainsFunc(c.d.MovesOf("a"), func(m placement.Moving) bool {
				return strings.Contains(m.Message, "1h1m0s before a went silent, which is older than maxAge") &&
					strings.Contains(m.Message, "skerry volume promote")
			})
		})
		r, word := c.copies.replicated()
		lost, _ := word.Ends()
		word.Say(r.Claims[0], volumes.Standby{Last: old, MaxAge: r.MaxAge.String(), Lost: lost})
		if said := c.saidOf(claim); said.Status || said.Reason != standbyTooOld || !strings.Contains(said.Message, "maxAge (1h0m0s)") {
			t.Errorf("%+v", said)
		}
		if r.Settles || c.elsewhere(app) {
			t.Fatal("it begins on what is too old")
		}
		whole := &volumes.Round{At: silent.Add(-time.Minute)}
		c.becomesStandby(k, volumes.Standby{Last: whole})
		c.eventually("it is to be settled", func() bool { r, _ := c.copies.replicated(); return r != nil && r.Settles })
		c.becomesStandby(k, volumes.Standby{Last: whole, Released: true})
		c.eventually("it begins on b", func() bool { return c.has("b", app) && c.has("b", claim) && !c.has("aa", app) })
	})
}

// TestReplicationPausesForAMove: two copies are never made into one volume.
func TestReplicationPausesForAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim, source, standby, _ := c.standby()
		c.becomesStandby(standby, volumes.Standby{Last: wholeRound})
		from, to := c.begins(claim)
		if r, _ := c.copies.replicated(); r != nil {
			t.Fatal("it is replicated while it moves")
		}
		c.report("b", to, nil)
		c.becomes(binding.CopiedNearly, "")
		c.eventually("it stops", func() bool { return !c.has("a", app) })
		c.gone("a", app)
		c.eventually("it is known that nothing runs", func() bool { return c.copies.wanted().Left != 0 })
		c.becomes(binding.CopiedWhole, "")
		c.eventually("it begins on b", func() bool { return c.has("b", app) })
		c.report("b", app, nil)
		c.report("b", claim, func(p *placement.Progress) { p.HasVolume = true })
		c.eventually("the movers of the standby are gone, and the move keeps the old volume", func() bool {
			o, _ := c.Get(t.Context(), standby, "")
			s, _ := c.Get(t.Context(), source, "")
			return o == nil && s == nil && c.has("a", from) && c.has("a", claim)
		})
	})
}

// TestAConnectedSourceIsNotLeft: neither the word that the unit may begin on its standby, nor that this may be forgotten,
// counts while it is replicated from a target that is connected. Neither counts later, when that is lost.
func TestAConnectedSourceIsNotLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim, source, standby, _ := c.standby()
		c.becomesStandby(standby, volumes.Standby{Last: wholeRound, Settled: true, Released: true})
		c.change(standby, map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPromote: "true",
			v1alpha1.AnnotationKeepUntil: time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)}})
		c.report("b", standby, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		o, _ := c.Get(t.Context(), standby, "")
		if strings.Contains(text(o), v1alpha1.AnnotationKeepUntil) || strings.Contains(text(o), v1alpha1.AnnotationPromote) {
			t.Errorf("an order that does not count stays: %v", o["metadata"])
		}
		c.away("a", false, down) // whoever said so has not ended it yet
		time.Sleep(time.Hour)
		synctest.Wait()
		if !c.has("a", app) || c.has("b", app) || !c.has("b", standby) || !c.has("b", claim) || !c.has("a", source) {
			t.Error("the unit has left, or its standby has gone")
		}
		if r, _ := c.copies.replicated(); r == nil || r.Settles {
			t.Errorf("it is replicated: %+v", r)
		}
		c.away("a", true, down)
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.has("b", app) {
			t.Error("it begins on b, which nobody has said since a was lost")
		}
		c.change(standby, map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPromote: "true"}})
		c.eventually("it begins on b", func() bool { return c.has("b", app) && !c.has("a", app) })
	})
}

// TestAStandbyThatIsNotReplicatedSaysSo: it stays, and is not taken for one that will have another round.
func TestAStandbyThatIsNotReplicatedSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		_, claim, _, standby, _ := c.standby()
		next := time.Now().Add(time.Minute)
		c.becomesStandby(standby, volumes.Standby{Last: wholeRound, Next: next})
		c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationVolumes: "Move"}})
		c.eventually("it has ended", func() bool {
			o, _ := c.Get(t.Context(), standby, "")
			is := volumes.ParseStandby(fields.String(o, "metadata", "annotations", v1alpha1.AnnotationStandby))
			return is.Ended && is.Next.IsZero() && is.Last.At.Equal(wholeRound.At)
		})
		if !c.has("b", standby) || !c.has("b", claim) {
			t.Error("it has gone")
		}
	})
}
