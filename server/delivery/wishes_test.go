package delivery

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// TestAnyHistoryOfWishes lets people wish and change their mind, at objects, at their Namespace and
// by a Placement, at any time, while the center decides, notes, hears of its targets and is restarted in
// any order. No cluster gets an object that no wish has named it for since all was at rest, and an
// object is somewhere once it has been anywhere; in the end it is where it is wished, and says so.
func TestAnyHistoryOfWishes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWishes(t, rt)
		defer func() { stop(w.d) }()
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			w.step()
			w.check()
		}
		w.settle()
	})
}

// wishes is a center whose every step is made by the test, with the clusters of its targets.
type wishes struct {
	*center
	rt      *rapid.T
	objects []store.Key
	// on is what the cluster of each target has, by UID; may is where an object may be made since
	// all was at rest.
	on  map[string]map[store.Key]placement.Progress
	may map[store.Key]map[string]bool
	// was is where each object was last to be.
	was map[store.Key][]string
	// arrived are the objects that some cluster has had.
	arrived map[store.Key]bool
	// told are the wishes of the Namespace since all was at rest.
	told map[string]bool
	// asked is what targets are to confirm.
	asked map[string]int64
}

var everyTarget = []string{"a", "b", "c"}

func newWishes(t *testing.T, rt *rapid.T) *wishes {
	w := &wishes{
		center:  newCenter(t),
		rt:      rt,
		on:      map[string]map[store.Key]placement.Progress{},
		may:     map[store.Key]map[string]bool{},
		was:     map[store.Key][]string{},
		arrived: map[store.Key]bool{},
		told:    map[string]bool{"a": true},
		asked:   map[string]int64{},
	}
	w.begin()
	w.center.confirm = func(target string, revision int64) { w.asked[target] = max(w.asked[target], revision) }
	for _, name := range everyTarget {
		w.target(name, nil)
		w.on[name] = map[store.Key]placement.Progress{}
		w.progress[name] = map[store.Key]placement.Progress{}
	}
	w.space("shop")
	w.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	w.placement("web", 1, []any{"c"}, nil)
	for _, name := range []string{"one", "two"} {
		k := w.configMap(name)
		w.objects = append(w.objects, k)
		w.may[k] = map[string]bool{"a": true}
	}
	w.settle()
	return w
}

func (w *wishes) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(w.rt, label)
}

func (w *wishes) step() {
	k := rapid.SampledFrom(w.objects).Draw(w.rt, "object")
	what := w.pick(
		"step",
		"wish",
		"wish no more",
		"web",
		"move",
		"change",
		"decide",
		"decide",
		"decide",
		"note",
		"apply",
		"apply",
		"report",
		"report",
		"confirm",
		"restart",
	)
	switch what {
	case "wish":
		w.wish(k, w.pick("target", everyTarget...))
	case "wish no more":
		w.allow(k, slices.Collect(maps.Keys(w.told))...)
		w.allow(k, "c")
		w.wishNoMore(k)
	case "web":
		w.allow(k, slices.Collect(maps.Keys(w.told))...)
		w.allow(k, "c")
		w.label(k, map[string]any{"app": map[bool]any{true: "web", false: nil}[rapid.Bool().Draw(w.rt, "web")]})
	case "move":
		to := w.pick("target", everyTarget...)
		w.told[to] = true
		for _, o := range w.objects {
			w.allow(o, to)
		}
		w.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: to})
	case "change":
		o := spaceapitest.Clone(w.center.objects[k])
		o["data"] = map[string]any{"k": fmt.Sprint(w.revision)}
		w.put(k, o)
	case "decide":
		w.decideOne(rapid.SampledFrom(w.refs()).Draw(w.rt, "of"))
	case "note":
		w.noteOne(k)
	case "apply":
		w.apply(w.pick("target", everyTarget...), k)
	case "report":
		w.tellOf(w.pick("target", everyTarget...), k)
	case "confirm":
		w.confirmOf(w.pick("target", everyTarget...))
	case "restart":
		stop(w.d)
		clear(w.asked) // a center asks again
		w.d = w.newDelivery()
		w.begin()
	}
}

// begin reads what is stored, and takes the term.
func (w *wishes) begin() {
	w.reset()
	w.d.era = w.d.Begun()
	if err := w.d.takeOver(w.t.Context()); err != nil {
		w.rt.Fatalf("take over: %v", err)
	}
}

func (w *wishes) allow(k store.Key, targets ...string) {
	for _, t := range targets {
		w.may[k][t] = true
	}
}

// wish is a user's write that gives an object a wish.
func (w *wishes) wish(k store.Key, target string) {
	w.allow(k, target)
	w.label(k, map[string]any{v1alpha1.LabelTarget: target})
}

// wishNoMore is a user's write that takes a wish back.
func (w *wishes) wishNoMore(k store.Key) {
	w.label(k, map[string]any{v1alpha1.LabelTarget: nil})
}

func (w *wishes) labelOf(k store.Key, name string) string {
	return fields.Clone(w.center.objects[k], "metadata", "labels", name)
}

// refs are all groups, in an order that does not depend on chance.
func (w *wishes) refs() []catalog.Ref {
	w.d.catalog.RLock()
	defer w.d.catalog.RUnlock()
	out := []catalog.Ref{{Kind: catalog.OfNamespace, Key: nsKey("app")}, {Kind: catalog.OfPlacement, Key: placementOf("web")}}
	for _, k := range w.objects {
		o := w.d.catalog.Find(k)
		if o != nil && o.Source != nil && o.Source.Kind == catalog.OfObject {
			out = append(out, o.Source.Ref())
		}
		out = append(out, catalog.Ref{Kind: catalog.OfPass, Key: k})
	}
	for _, seq := range slices.Sorted(maps.Keys(w.d.catalog.Records.Cohorts)) {
		out = append(out, catalog.CohortRef("shop", seq))
	}
	return out
}

func (w *wishes) decideOne(r catalog.Ref) {
	if err := w.d.decide(w.t.Context(), r); err != nil && !errors.Is(err, errNotYet) {
		w.rt.Fatalf("decide %s: %v", r, err)
	}
}

func (w *wishes) decideAll() {
	for range 3 {
		for _, r := range w.refs() {
			w.decideOne(r)
		}
	}
	w.check()
}

func (w *wishes) noteOne(k store.Key) {
	if err := w.d.annotate(w.t.Context(), k); err != nil {
		w.rt.Fatalf("annotate %s: %v", k, err)
	}
}

// apply brings the cluster of a target to what it is to have of an object.
func (w *wishes) apply(target string, k store.Key) {
	if !w.has(target, k) {
		delete(w.on[target], k)
		return
	}
	if _, there := w.on[target][k]; !there && !w.may[k][target] {
		w.rt.Fatalf("%s is made on %s, where nobody wishes it", k, target)
	}
	e, _ := w.d.Feed(target).Get(k)
	w.on[target][k] = placement.Progress{UID: fields.Clone(w.center.objects[k], "metadata", "uid"), Applied: e.Hash, Ready: true}
	w.arrived[k] = true
}

// tellOf makes a target report on an object.
func (w *wishes) tellOf(target string, k store.Key) {
	if p, ok := w.on[target][k]; ok {
		w.progress[target][k] = p
	} else {
		delete(w.progress[target], k)
	}
	w.d.Reported(target, []store.Key{k})
}

// confirmOf makes a target confirm what it was asked for: it knows all that it is to have, has
// begun nothing that is not so any more, and tells all.
func (w *wishes) confirmOf(target string) {
	revision, asked := w.asked[target]
	if !asked {
		return
	}
	delete(w.asked, target)
	for _, k := range w.objects {
		w.tellOf(target, k)
	}
	w.d.Confirmed(target, revision)
}

func (w *wishes) check() {
	resting := true
	for _, k := range w.objects {
		var now, there []string
		for _, t := range everyTarget {
			if w.has(t, k) {
				now = append(now, t)
			}
			if _, ok := w.on[t][k]; ok {
				there = append(there, t)
			}
		}
		if w.was[k] = now; len(there) == 0 && w.arrived[k] {
			w.rt.Fatalf("%s is nowhere; it is to be on %v", k, now)
		}
		resting = resting && slices.Equal(now, []string{w.wished(k)})
	}
	w.d.catalog.RLock()
	defer w.d.catalog.RUnlock()
	home := w.labelOf(nsKey("app"), v1alpha1.LabelTarget)
	if resting && w.d.passesNothing() && w.d.catalog.Spaces["shop"].Namespaces["app"].Group.Record.Record() == home {
		w.told = map[string]bool{home: true}
		for _, k := range w.objects {
			w.may[k] = map[string]bool{w.wished(k): true}
		}
	}
}

// wished is where an object is to be in the end.
func (w *wishes) wished(k store.Key) string {
	switch own := w.labelOf(k, v1alpha1.LabelTarget); {
	case own != "":
		return own
	case w.labelOf(k, "app") == "web":
		return "c"
	}
	return w.labelOf(nsKey("app"), v1alpha1.LabelTarget)
}

// passesNothing reports whether no object is on its way, or is to be.
func (d *Delivery) passesNothing() bool {
	for seq := range d.catalog.Records.Cohorts {
		if c, counts := d.catalog.Records.Index.Cohort(seq); counts && !c.Arrived {
			return false
		}
	}
	quiet := true
	d.catalog.EachObject(func(o *catalog.Object) { quiet = quiet && d.catalog.Passing(o) == binding.Remains })
	return quiet
}

// settle lets everything that is left to do be done.
func (w *wishes) settle() {
	for range 12 {
		w.decideAll()
		for _, k := range w.objects {
			w.noteOne(k)
			for _, t := range everyTarget {
				w.apply(t, k)
				w.tellOf(t, k)
			}
		}
		for _, t := range everyTarget {
			w.confirmOf(t)
		}
	}
	w.check()
	for _, k := range w.objects {
		if note := w.annotation(k); !slices.Equal(w.was[k], []string{w.wished(k)}) || note != w.wished(k) {
			w.rt.Fatalf("%s is on %v and says %q in the end, and is wished on %s", k, w.was[k], note, w.wished(k))
		}
	}
}
