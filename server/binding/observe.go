package binding

// Word is what the last report of a target says of one object of a record.
type Word uint8

// The words.
const (
	// NoWord: it does not mention the object.
	NoWord Word = iota
	// Unavailable: the object is there or refused, and not available.
	Unavailable
	// Outdated: an older state of the object is there, and may be available.
	Outdated
	// Available: it is applied as it is desired, and available.
	Available
)

// Reports are the last reports of the targets on the objects of a record, numbered from 0.
type Reports interface {
	// Counts reports whether the target has confirmed the revision that Index.Confirms asks for. A
	// report from before that may be of what the target had earlier.
	Counts(t TargetID) bool
	Word(t TargetID, object int) Word
}

// Observe fills in what reports prove of each target of a record that decides about so many
// objects.
func (f *Facts) Observe(r Record, objects int, reports Reports) {
	all := func(t TargetID, word Word) bool {
		for i := range objects {
			if reports.Word(t, i) != word {
				return false
			}
		}
		return reports.Counts(t)
	}
	places := find(r.Places)
	for i := range f.Targets {
		t := &f.Targets[i]
		t.State, t.Dispensable = Unproven, false
		at := places.of(t.ID)
		switch {
		case at < 0:
		case r.Places[at].Off && (t.Fence == RunsNot || all(t.ID, NoWord)):
			t.State = Absent
		case !r.Places[at].Off && all(t.ID, Available):
			t.State = Ready
		}
		if at >= 0 && places.has(r.Places[at].For) {
			t.Dispensable = dispensable(r.Places[at], objects, reports)
		}
	}
}

// dispensable reports whether each object is known to be available on the target that a place came
// for, or known not to be available on its own.
func dispensable(p Place, objects int, reports Reports) bool {
	here, there := reports.Counts(p.Target), reports.Counts(p.For)
	for i := range objects {
		covered := there && reports.Word(p.For, i) == Available
		if !covered && !(here && reports.Word(p.Target, i) == Unavailable) {
			return false
		}
	}
	return true
}
