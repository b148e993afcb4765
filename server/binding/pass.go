package binding

// Subject is an object as the question sees it which unit it belongs to.
type Subject struct {
	ID ObjectID
	// Stamp is the unit that the object says it is with; empty means that it was never placed.
	Stamp UnitID
	// Wished is the unit that should decide about it now.
	Wished UnitID
	// Once: it must not be in two places.
	Once bool
	// Ended: it has run to its end.
	Ended bool
	// Parts: it has begun where its unit is to be left, and must run there to its end. The others need not
	// wait for that.
	Parts bool
}

// Pass is what is to be written about an object, before any record that decides about it, or that
// it passes to, is made or takes its next step. Nothing has to wait for an object that is nowhere.
type Pass uint8

// The passes.
const (
	// Remains: nothing is to be written.
	Remains Pass = iota
	// NotYet: nothing can be written while the Binding of Wished may return to a target. The object is
	// nowhere.
	NotYet
	// Later: the stamp is to be Wished, and no record waits for that. The object is nowhere and begins where
	// its unit is then, or it has arrived. What must not be in two places is stamped only where it has
	// arrived: a stamp may reach the store late, when its unit is in a change.
	Later
	// Own: the record that decides about the object is to be written with the era of this leader, so
	// that no deposed leader can change it between two writes. A Binding that does not exist is written
	// without places: a deposed leader might still make it.
	Own
	// Divide: the object is to be cut off from the record that decides about it, or from none, see Cut.
	Divide
)

// Pass returns what is to be written about an object.
func (x *Index) Pass(s Subject) Pass {
	c := x.newest(s.ID)
	switch {
	case s.Ended && (c != nil && c.Ended || c == nil && s.Stamp == ""):
		return Remains
	case s.Ended:
		return x.divide(s)
	case c == nil && s.Stamp == "":
		return x.begin(s)
	case c != nil && !c.Ended && c.To == s.Wished && !(c.Arrived && s.Parts):
		if c.Arrived && s.Stamp != s.Wished {
			return Later
		}
		return Remains
	case c == nil && s.Stamp == s.Wished && !s.Parts:
		return Remains
	}
	return x.divide(s)
}

// begin gives an object that was never placed its first place. What must not be in two places comes as a
// cohort from nowhere: that one is void if a deposed leader has made it, and waits while its unit is in a
// change. Anything else waits while its unit may return to a target that it never was on.
func (x *Index) begin(s Subject) Pass {
	switch u := x.units[s.Wished]; {
	case s.Once:
		return Divide
	case u != nil && u.MayReturn():
		return NotYet
	}
	return Later
}

// Admits reports whether admission may stamp a new object with a unit. While such an object is on
// its way to the store, the unit must not take a target off that it may return to.
func (x *Index) Admits(id UnitID) bool {
	u := x.units[id]
	return u == nil || u.Settled()
}

func (x *Index) divide(s Subject) Pass {
	if x.Record(x.Of(s.ID, s.Stamp)).Era != x.term.Era {
		return Own
	}
	return Divide
}

// Alive tells of a member of a cohort whether it exists, and its stamp.
type Alive interface {
	StampOf(ObjectID) (stamp UnitID, exists bool)
}

// Done reports whether a cohort can be deleted without a change of any place. One that may have
// been written by a leader who has got no answer must be kept until that write cannot arrive any
// more.
func (x *Index) Done(seq uint64, objects Alive) bool {
	c := x.cohorts[seq]
	if c == nil {
		return false
	}
	if !x.term.Counts(&c.Cohort) {
		return true
	}
	for _, o := range c.Members {
		stamp, exists := objects.StampOf(o)
		if !exists || x.newest(o) != c {
			continue
		}
		if !c.Arrived || stamp != c.To || x.others(o, c) {
			return false
		}
	}
	return true
}

// others reports whether an older cohort that counts names an object.
func (x *Index) others(o ObjectID, c *cohort) bool {
	for _, other := range x.named[o] {
		if other != c && x.term.Counts(&other.Cohort) {
			return true
		}
	}
	return false
}

// Needed reports whether the Binding of a unit is named by a cohort. A stamp may name it, too.
func (x *Index) Needed(id UnitID) bool {
	for _, c := range x.cohorts {
		if c.To == id {
			return true
		}
	}
	return false
}
