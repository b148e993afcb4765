package webhook

import (
	"errors"
	"slices"
	"strings"
)

// errs are the errors of the Pods that one call has tried to connect to.
type errs []error

// away reports whether a target could not be asked.
func (e errs) away(target string) bool {
	return slices.ContainsFunc(e, func(err error) bool {
		var u *Unreached
		if !errors.As(err, &u) || !u.Away {
			return false
		}
		first, _, _ := strings.Cut(u.Site, "/")
		return first == target
	})
}

// join returns them as one error, in the order of the sites.
func (e errs) join() error {
	if len(e) == 1 {
		return e[0]
	}
	return allFailed(e)
}

// allFailed is the error of a call that none of several Pods could be connected to for.
type allFailed []error

// Error implements error.
func (a allFailed) Error() string {
	var texts []string
	for _, err := range a {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// Unwrap lets errors.As and errors.Is find each of them.
func (a allFailed) Unwrap() []error { return a }

// isAway reports whether an error is of a webhook all of whose sites could not be asked.
func isAway(err error) bool {
	var none *NoBackend
	if errors.As(err, &none) {
		return none.Away
	}
	all := allFailed{err}
	if several := (allFailed)(nil); errors.As(err, &several) {
		all = several
	}
	return !slices.ContainsFunc(all, func(err error) bool {
		var u *Unreached
		return !errors.As(err, &u) || !u.Away
	})
}
