package placement

import "skerry.dev/skerry/store"

// Asked is one object that a Placement decides about, and what it needs to have arrived.
type Asked struct {
	Key    store.Key
	Demand Demand
	// Unsent is why the center does not send it, empty where it does.
	Unsent string
	// Versions are nil where all targets are to have the present version.
	Versions *Versions
}

// Versions are the demands on targets whose release has another version of an object than the present
// one. A nil Demand is one that is not to have the object.
type Versions struct {
	Named map[string]*Demand
	// Rest is for all targets that are not named.
	Rest *Demand
}

// At is what is asked of a target, where now is the demand of the present version. It is false for a target
// that is not to have the object.
func (v *Versions) At(target string, now Demand) (Demand, bool) {
	if v == nil {
		return now, true
	}
	is, named := v.Named[target]
	if !named {
		is = v.Rest
	}
	if is == nil {
		return Demand{}, false
	}
	return *is, true
}

// Content is what a Placement has to carry out: the targets of its recorded decision, and the objects
// that are to be on each of them, in the order of their keys.
type Content struct {
	Targets []string
	Objects []Asked
}
