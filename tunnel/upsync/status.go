package upsync

import (
	"cmp"
	"slices"
)

// Status is what a target says of an Upsync: that of the Upsync, as far as a target knows it.
type Status struct {
	// Objects is how many objects are brought, LeftOut how many that are selected are not.
	Objects int `json:"objects"`
	LeftOut int `json:"leftOut"`
	// Problems are why objects are left out, MaxProblems at the most.
	Problems []Left `json:"problems,omitempty"`
}

// Left is an object that does not come, or all of them where no object is named.
type Left struct {
	// Target is the path of the target below the one that says it; empty for itself.
	Target string `json:"target,omitempty"`
	// Object is RESOURCE/NAMESPACE/NAME.
	Object  string `json:"object,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// The reasons for which objects are left out.
const (
	// ReasonLimit: there are more than a target brings, or they are too large.
	ReasonLimit = "LimitReached"
	// ReasonNotBrought: objects of this kind, or of this type, never come.
	ReasonNotBrought = "NotBrought"
	// ReasonConflict: the space has an object of this name, or another target has.
	ReasonConflict = "NameConflict"
	// ReasonNotAllowed: the target does not allow it.
	ReasonNotAllowed = "UpsyncNotAllowed"
	// ReasonNotServed: the target does not serve the kind, or does not let its agent read it.
	ReasonNotServed = "NotServed"
	// ReasonRefused: the space does not take the object.
	ReasonRefused = "RefusedBySpace"
	// ReasonQuota: the space has used up its quota.
	ReasonQuota = "QuotaExceeded"
)

// Bounded sorts problems and keeps the first.
func Bounded(all []Left) []Left {
	slices.SortFunc(all, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	return slices.Clip(all[:min(len(all), MaxProblems)])
}
