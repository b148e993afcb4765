package binding

import (
	"slices"

	"skerry.dev/skerry/store"
)

// Term is the one record that says which leader's cohorts count. A new leader takes it, makes the
// cohorts that count its own, and opens it. Before that it decides nothing. What a deposed leader
// creates later is void, though no compare and swap could refuse it.
type Term struct {
	// Era is that of the leader.
	Era store.Era
	// Heirs are the eras whose cohorts count while the term is not open.
	Heirs []store.Era
	// Open: every cohort that counts is of Era.
	Open bool
}

// Take is the term of the next leader. Of a term that was never opened the heirs are inherited.
func (t Term) Take(era store.Era) Term {
	next := Term{Era: era}
	if !t.Open {
		next.Heirs = slices.Clone(t.Heirs)
	}
	if t.Era != 0 {
		next.Heirs = append(next.Heirs, t.Era)
	}
	return next
}

// Opened is the term once all cohorts that count are of its era.
func (t Term) Opened() Term { return Term{Era: t.Era, Open: true} }

// Counts reports whether a cohort counts; if not, it is void and to be deleted.
func (t Term) Counts(c *Cohort) bool {
	return c.Era == t.Era || !t.Open && slices.Contains(t.Heirs, c.Era)
}
