package scheduler

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Resource is that of the records; they lie in the space that they are about.
const Resource = "bindings"

// The names of records that are not that of a unit: its Binding has the unit's UID.
const (
	cohortPrefix = "cohort-"
	termName     = "term"
)

// BindingKey is the key of the Binding of a unit.
func BindingKey(space string, id binding.UnitID) store.Key { return recordKey(space, string(id)) }

// CohortKey is the key of a cohort.
func CohortKey(space string, seq uint64) store.Key {
	return recordKey(space, cohortPrefix+strconv.FormatUint(seq, 10))
}

// TermKey is the key of the leader's term.
func TermKey() store.Key { return recordKey(v1alpha1.RootSpace, termName) }

func recordKey(space, name string) store.Key {
	return store.Key{Space: space, Group: v1alpha1.GroupVersion.Group, Resource: Resource, Name: name}
}

// IsRecord reports whether a key is that of a record.
func IsRecord(k store.Key) bool {
	return k.Group == v1alpha1.GroupVersion.Group && k.Resource == Resource
}

// Record is one stored record: exactly one of Binding, Cohort and Term is set.
type Record struct {
	Binding *binding.Binding
	Cohort  *binding.Cohort
	Term    *binding.Term
	// Unit is what a Binding is about, or what a cohort passes to.
	Unit v1alpha1.BindingUnit
}

// Named is what the name of a record says it is of: a unit, a cohort, or neither for the term.
func Named(name string) (unit binding.UnitID, cohort uint64) {
	if text, ok := strings.CutPrefix(name, cohortPrefix); ok {
		if seq, err := strconv.ParseUint(text, 10, 64); err == nil {
			return "", seq
		}
	}
	if name == termName {
		return "", 0
	}
	return binding.UnitID(name), 0
}

// Encode is the object of a record. Its targets are numbered by the object itself.
func (r Record) Encode(known *Targets) ([]byte, error) {
	o := v1alpha1.Binding{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Binding"}}
	o.Spec.Unit = r.Unit
	var err error
	switch {
	case r.Term != nil:
		o.Name = termName
		o.Spec.Record, err = r.Term.Encode()
	case r.Cohort != nil:
		c := *r.Cohort
		o.Name, o.Generation = cohortPrefix+strconv.FormatUint(c.Seq, 10), c.Generation
		o.Spec.Objects, o.Spec.Arrived, o.Spec.Ended = int32(len(c.Members)), c.Arrived, c.Ended
		o.Spec.Targets, c.Record = local(c.Record, known)
		o.Spec.Where, o.Spec.States = whereOf(o.Spec.Targets), statesOf(o.Spec.Targets)
		o.Spec.Record, err = c.Encode()
	default:
		b := *r.Binding
		o.Name, o.Generation = string(b.Unit), b.Generation
		o.Spec.Targets, b.Record = local(b.Record, known)
		o.Spec.Where, o.Spec.States = whereOf(o.Spec.Targets), statesOf(o.Spec.Targets)
		o.Spec.Record, err = b.Encode()
	}
	if err != nil {
		return nil, fmt.Errorf("encode record %s: %w", o.Name, err)
	}
	o.UID = types.UID("binding-" + o.Name)
	return json.Marshal(o)
}

// Decode reads the object of a record.
func Decode(obj map[string]any, known *Targets) (r Record, err error) {
	name, spec := fields.String(obj, "metadata", "name"), fields.Map(obj, "spec")
	raw, err := base64.StdEncoding.DecodeString(fields.String(spec, "record"))
	if err != nil {
		return r, fmt.Errorf("record %s: %w", name, err)
	}
	r.Unit = unitIn(spec)
	ids := map[binding.TargetID]binding.TargetID{}
	for i, t := range slices.Collect(fields.Maps(spec, "targets")) {
		ids[binding.TargetID(i+1)] = known.ID(strings.Clone(fields.String(t, "uid")), strings.Clone(fields.String(t, "name")))
	}
	switch id, seq := Named(name); {
	case seq != 0:
		var c binding.Cohort
		if c, err = binding.DecodeCohort(raw); err == nil && c.Seq != seq {
			err = binding.ErrStored
		}
		c.Record, err = global(c.Record, ids, err)
		r.Cohort = &c
	case id != "":
		var b binding.Binding
		if b, err = binding.DecodeBinding(raw); err == nil && b.Unit != id {
			err = binding.ErrStored
		}
		b.Record, err = global(b.Record, ids, err)
		r.Binding = &b
	default:
		var t binding.Term
		t, err = binding.DecodeTerm(raw)
		r.Term = &t
	}
	if err != nil {
		return Record{}, fmt.Errorf("record %s: %w", name, err)
	}
	return r, nil
}

// local numbers the targets of a record from 1, in the order in which the list has them.
func local(r binding.Record, known *Targets) (list []v1alpha1.BindingTarget, out binding.Record) {
	ids := map[binding.TargetID]binding.TargetID{0: 0}
	id := func(t binding.TargetID) binding.TargetID {
		if _, ok := ids[t]; !ok {
			is := known.Of(t)
			list = append(list, v1alpha1.BindingTarget{Name: is.Name, UID: is.UID})
			ids[t] = binding.TargetID(len(list))
		}
		return ids[t]
	}
	for _, p := range r.Places {
		at := id(p.Target) - 1
		list[at].State, list[at].Sole = stateOf(p), p.Sole
		if p.For != 0 {
			list[at].Instead = known.Of(p.For).Name
		}
		if p.Since != 0 {
			list[at].Since = &metav1.Time{Time: time.Unix(int64(p.Since), 0).UTC()}
		}
	}
	out = renumber(r, id)
	for _, g := range r.GaveUp {
		if t := &list[ids[g.Target]-1]; t.State == "" {
			t.State = v1alpha1.BindingGaveUp
		}
	}
	return list, out
}

// stateOf says a place in a word.
func stateOf(p binding.Place) v1alpha1.BindingState {
	switch {
	case p.Off:
		return v1alpha1.BindingLeft
	case p.Leaving != binding.Stays:
		return v1alpha1.BindingLeaving
	case p.For != 0:
		return v1alpha1.BindingJoining
	}
	return v1alpha1.BindingPlaced
}

func global(r binding.Record, ids map[binding.TargetID]binding.TargetID, err error) (binding.Record, error) {
	ids[0] = 0
	out := renumber(r, func(t binding.TargetID) binding.TargetID {
		id, ok := ids[t]
		if !ok && err == nil {
			err = fmt.Errorf("%w: target %d is not in its list", binding.ErrStored, t)
		}
		return id
	})
	return out, err
}

func renumber(r binding.Record, id func(binding.TargetID) binding.TargetID) binding.Record {
	r.Places, r.GaveUp = slices.Clone(r.Places), slices.Clone(r.GaveUp)
	for i := range r.Places {
		r.Places[i].Target, r.Places[i].For = id(r.Places[i].Target), id(r.Places[i].For)
	}
	for i := range r.GaveUp {
		r.GaveUp[i].Target = id(r.GaveUp[i].Target)
	}
	return r
}
