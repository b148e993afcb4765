package delivery

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// maxReviewed is how many targets an answer names, maxReviewedMembers of how many objects of a
// Placement it says what they wait for.
const (
	maxReviewed        = 1000
	maxReviewedMembers = 1000
)

// Review answers where an object or a Placement of a space is, or would be, and why. It decides as
// decide does and records nothing. The error is one of Kubernetes' API.
func (d *Delivery) Review(
	ctx context.Context,
	space string,
	q v1alpha1.PlacementReviewSpec,
) (*v1alpha1.PlacementReviewStatus, error) {
	r, err := d.reviewed(space, q)
	if err != nil {
		return nil, err
	}
	if r.divided != (store.Key{}) {
		if err := d.addPortions(ctx, r); err != nil {
			return nil, err
		}
	}
	for i := range r.status.Targets {
		if t := &r.status.Targets[i]; t.InUse || t.Chosen && slices.Contains(r.moving, t.Name) {
			t.WaitsFor, _ = d.first(t.Name, "", r.asked)
			t.WaitsFor = strings.Trim(r.away[t.Name]+"; "+t.WaitsFor, "; ")
		}
	}
	return r.status, nil
}

// review is an answer, and what is to be asked of targets for it once the lock is free.
type review struct {
	status *v1alpha1.PlacementReviewStatus
	asked  []question
	moving []string
	// divided is an autoscaler or a disruption budget whose numbers are shared out, else empty.
	divided store.Key
	on      []string
	away    map[string]string // targets in use without a session, and what becomes of what is there
}

func (d *Delivery) reviewed(space string, q v1alpha1.PlacementReviewSpec) (*review, error) {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	g, o, err := d.subject(space, q)
	if err != nil {
		return nil, err
	}
	r := &review{status: &v1alpha1.PlacementReviewStatus{DecidedBy: g.Policy(o)}, away: map[string]string{}}
	current, on := g.Record.List(), g.Record
	switch {
	case o != nil && o.Source != nil && o.KeptSingle():
		on = o.On
	case o != nil:
		on = d.catalog.Sets.Union(on, o.On)
	}
	world := d.catalog.WorldOf(g)
	catalog.Refusals(d.catalog, &world, g)
	if err := unknownTargets(world, q.Without); err != nil {
		return nil, err
	}
	world.Targets = slices.DeleteFunc(world.Targets, func(t placement.Target) bool {
		return slices.Contains(q.Without, t.Name)
	})
	in := slices.DeleteFunc(slices.Clone(current), func(t string) bool { return slices.Contains(q.Without, t) })
	world = world.Closing(g.Wish(), in, d.catalog.Load(g))
	choice, verdicts := placement.Explain(g.Wish(), world, in)
	r.status.Decision, r.status.Wanted = current, choice.Targets
	if o != nil && o.Source != nil && o.KeptSingle() {
		r.status.Decision = on.List()
	}
	r.status.Reason, r.status.Message = choice.Reason, choice.Message
	switch {
	case g.Kind == catalog.OfPlacement && g.Book.Problem != "":
		r.status.Reason, r.status.Message = "Invalid", g.Book.Problem
	case g.Wish().None:
		r.status.Message = g.Ref().NoneWished()
	case g.Wish().Nowhere():
		r.status.Reason, r.status.Message = "Nowhere", sayWhere
	case choice.Reason == "" && o == nil && g.Kind == catalog.OfPlacement && !d.catalog.Inhabited(g):
		r.status.Reason, r.status.Message = nothingSelected, selectsNothing
		if by := g.Overruled(); by != "" {
			r.status.Message = by
		}
	case choice.Reason == "" && o != nil && d.catalog.PlaceNotes[o].Text != "":
		n := d.catalog.PlaceNotes[o]
		r.status.Reason, r.status.Message = n.Reason, n.Text
	case choice.Reason == "":
		r.status.Message = (&plan{choice: choice}).why()
	}
	addVerdicts(r.status, verdicts, on.List())
	for _, name := range on.List() {
		if t := d.catalog.Targets[name]; t != nil {
			r.away[name] = t.AwayText()
		}
	}
	catalog.AddShares(r.status, o)
	d.catalog.AddReleases(r.status, o)
	if o != nil {
		r.status.AlsoOpen = catalog.OpenDoors(d.catalog, o)
		r.status.GoesAlong, r.status.StaysBehind = o.Companions(d.catalog)
	}
	if o != nil && o.Divided() && o.Division() == nil {
		r.divided, r.on = o.Key(), on.List()
	}
	r.progress(d, g, o)
	return r, nil
}

// unknownTargets refuses to leave out a target that the space may not use, as one that there is not.
func unknownTargets(world placement.World, without []string) error {
	var names []string
	for _, t := range world.Targets {
		if world.Offered == nil || world.Offered.Matches(t.Labels) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	for _, name := range without {
		if !slices.Contains(names, name) {
			return apierrors.NewBadRequest(fmt.Sprintf("spec.without: this space has no target %q; it has %s", name,
				cmp.Or(placement.Some(names), "none")))
		}
	}
	return nil
}

// subject finds what a question is about. The lock must be held.
func (d *Delivery) subject(space string, q v1alpha1.PlacementReviewSpec) (*catalog.Group, *catalog.Object, error) {
	sp := d.catalog.Spaces[space]
	if sp == nil || !sp.Known {
		return nil, nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("spaces").GroupResource(), space)
	}
	if q.Placement != "" {
		b := sp.Placements[q.Placement]
		if b == nil {
			return nil, nil, apierrors.NewNotFound(
				v1alpha1.GroupVersion.WithResource("placements").GroupResource(), q.Placement)
		}
		return &b.Group, nil, nil
	}
	ref := q.Object
	k := store.Key{Space: space, Group: ref.APIGroup, Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name}
	if k.Class() == store.ClassNamespace {
		k.Namespace = ""
	}
	o := d.catalog.Find(k)
	switch {
	case o == nil && placement.ClassOf(k.Group, k.Resource) == placement.Placed:
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Group: k.Group, Resource: k.Resource}, k.Name)
	case o != nil && o.Kind.Order == store.ClassNamespace:
		return &sp.Namespaces[o.Name].Group, nil, nil
	case o == nil || o.Source == nil:
		return nil, nil, notPlaced(k, d.openedBy(o))
	}
	return o.Source, o, nil
}

// openedBy says of what follows its space to the sites that have opened it where it is; empty for all
// else. The lock must be held.
func (d *Delivery) openedBy(o *catalog.Object) string {
	if o == nil || !o.Rights() ||
		placement.OpensByKind(o.Kind.Group, o.Kind.Resource) && o.Labels.Get(v1alpha1.LabelInert) != "true" {
		return ""
	}
	where := "no site has it now"
	if on := o.On.List(); len(on) > 0 {
		where = "now that is " + placement.Some(on)
	}
	return "it follows what the space has, to the sites whose admin has opened them for it " +
		"(allow.kinds, allow.controllers and allow.webhooks of the agent, status.policy of the SyncTarget); " + where
}

// notPlaced says why a kind has no place of its own.
func notPlaced(k store.Key, opened string) error {
	why := "it is never placed"
	switch class := placement.ClassOf(k.Group, k.Resource); {
	case opened != "":
		why = opened
	case class == placement.Both:
		why = "it follows the objects that need it: ask for one of these"
	case class == placement.Inert:
		why = "it acts in the space; a ServiceAccount goes with the workloads that name it: ask for one of these"
	case class == placement.Placed:
		why = "its definition says that its objects stay in the space"
	}
	name := k.Resource
	if k.Group != "" {
		name += "." + k.Group
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %q has no place of its own: %s", name, k.Name, why),
	}}
}

// addVerdicts adds the verdicts, those in use first.
func addVerdicts(s *v1alpha1.PlacementReviewStatus, verdicts []placement.Verdict, current []string) {
	rank := func(v placement.Verdict) int {
		switch {
		case slices.Contains(current, v.Target):
			return 0
		case v.Chosen:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(verdicts, func(a, b placement.Verdict) int { return rank(a) - rank(b) })
	if len(verdicts) > maxReviewed {
		s.Cut = int32(len(verdicts) - maxReviewed)
		verdicts = verdicts[:maxReviewed]
	}
	for _, v := range verdicts {
		s.Targets = append(s.Targets, v1alpha1.ReviewedTarget{
			Name: v.Target, InUse: slices.Contains(current, v.Target), Chosen: v.Chosen,
			Filter: string(v.Filter), Message: v.Message, Score: v.Score,
		})
	}
}

// progress says what is waited for, and since when things are as they are. The lock must be held.
func (r *review) progress(d *Delivery, g *catalog.Group, o *catalog.Object) {
	var since time.Time
	move, moves := d.catalog.Moves[g.Ref()]
	switch {
	case moves:
		r.status.WaitsFor, since = move.Message, move.Since
		r.moving = move.To
	case g.Kind == catalog.OfPlacement:
		since = lastOf(catalog.ReadConditions(map[string]any{"status": g.Book.Status}), v1alpha1.ConditionScheduled,
			v1alpha1.ConditionMoving)
	case g.Kind == catalog.OfNamespace:
		since = lastOf(g.Namespace.State, v1alpha1.ConditionObjectScheduled, v1alpha1.ConditionObjectMoving)
	}
	if !since.IsZero() {
		r.status.Since = &metav1.Time{Time: since}
	}
	if o != nil {
		rests := o.Source != nil && o.KeptSingle() && d.catalog.Sets.Minus(o.On, g.Record) == nil
		if at := d.catalog.Records.Of(o); at.Cohort != 0 && !o.Finished && !rests {
			on, to := placement.Join(d.catalog.RecordOf(o).List()), placement.Join(g.Record.List())
			r.status.WaitsFor = fmt.Sprintf("it stays on %s until it has arrived on %s", on, to)
			if on == "" {
				r.status.WaitsFor = fmt.Sprintf("it must not be in two places, and begins when the move to %s is complete", to)
			}
			if why := d.catalog.Passes[at.Cohort].Why; why != "" {
				r.status.WaitsFor = why
			}
		}
	}
	ask := func(o *catalog.Object) bool {
		if d.catalog.OnlyAlong(o) {
			return true
		}
		q := d.question(o)
		q.single, q.versions = false, d.catalog.VersionsOn(o)
		r.asked = append(r.asked, q)
		return len(r.asked) < maxReviewedMembers
	}
	if o != nil {
		ask(o)
	} else {
		g.Members(ask)
	}
}

// lastOf is when the last of some conditions changed: a move that has ended changes Moving alone.
func lastOf(list catalog.Conditions, kinds ...string) (last time.Time) {
	for _, kind := range kinds {
		at, err := time.Parse(time.RFC3339, fields.Clone(list.Get(kind), "lastTransitionTime"))
		if err == nil && at.After(last) {
			last = at
		}
	}
	return last
}
