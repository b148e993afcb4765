package binding_test

import (
	"slices"

	. "skerry.dev/skerry/server/binding"
)

// part cuts those off that have begun where their unit would be left without them.
func (l *leader) part(b Binding, f Facts) bool {
	free := f
	free.Targets = slices.Clone(f.Targets)
	var begun []*thingRow
	members := l.living(Ref{Unit: b.Unit})
	for i := range free.Targets {
		t := &free.Targets[i]
		for _, m := range members {
			if t.Pinned && b.Has(t.ID) && l.begun(b.Record, Ref{Unit: b.Unit}, t.ID, []*thingRow{m}) {
				begun = append(begun, m)
			}
		}
		t.Pinned = false
	}
	next := Next(b.Record, f)
	if len(begun) == 0 || len(begun) == len(members) || b.Record.Moves(next) || !next.Moves(Next(b.Record, free)) {
		return false
	}
	l.parts = map[ObjectID]bool{}
	defer func() { l.parts = nil }()
	for _, m := range begun {
		l.parts[m.uid] = true
	}
	s := l.subject(begun[0])
	switch l.x.Pass(s) {
	case Own:
		return l.own(Ref{Unit: b.Unit})
	case Divide:
		l.owed = b.Unit
		l.divide(s)
		return true
	}
	return false
}
