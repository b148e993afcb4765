package placement

import "skerry.dev/skerry/server/api/v1alpha1"

// Level says who speaks by a Placement. A higher level is asked first.
type Level int8

// The levels.
const (
	// PlatformDefault is a Placement of root that counts where the space says nothing.
	PlatformDefault Level = iota - 1
	// OfSpace is a Placement of the space itself.
	OfSpace
	// PlatformOverride is a Placement of root that counts before all that the space says.
	PlatformOverride
)

// levelOf returns the level of a Placement by its name in the space, which only the center can give
// to those of root.
func levelOf(name string, p v1alpha1.Precedence) Level {
	switch {
	case !v1alpha1.IsPolicy(name):
		return OfSpace
	case p == v1alpha1.PrecedenceOverride:
		return PlatformOverride
	default:
		return PlatformDefault
	}
}

// Decides returns the rule that decides about an object, nil where none does: then the object's own
// label does, or its Namespace. It also returns the rules that lost to it, see Resolve. labelled says that
// the object has the label skerry.dev/target, namespaceLabelled that its Namespace has. The rules must be
// sorted.
func Decides(rules []*Rule, s Subject, labelled, namespaceLabelled bool) (winner *Rule, losers []*Rule) {
	r, losers := Resolve(rules, s)
	switch {
	case r == nil, r.Level == PlatformOverride:
		return r, losers
	case labelled, r.Level == PlatformDefault && namespaceLabelled:
		return nil, nil
	}
	return r, losers
}
