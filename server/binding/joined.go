package binding

// revisions say since which revision of its feed each target has, or has not any more, what a
// record decides about. What a target reports counts once it has confirmed that revision: it has
// durably stored the feed up to there, and told after that what it has. An older report may be of
// what it had before.
type revisions map[TargetID]int64

// follow takes over a change of a record.
func (j revisions) follow(from, to Record, revision int64) revisions {
	if j == nil {
		j = revisions{}
	}
	before, now := find(from.Places), find(to.Places)
	for _, p := range to.Places {
		old := before.of(p.Target)
		if old < 0 || from.Places[old].Off != p.Off {
			j[p.Target] = revision
		}
	}
	for t := range j {
		if now.of(t) < 0 {
			delete(j, t)
		}
	}
	return j
}

// joins says that the objects of a cohort have come to a unit at a revision: what its targets reported
// before that does not count for them.
func (x *Index) joins(id UnitID, revision int64) {
	if u := x.units[id]; u != nil {
		for t := range u.joined {
			u.joined[t] = revision
		}
	}
}

// Confirms returns the revision that a target must have confirmed before its reports count for a
// record.
func (x *Index) Confirms(r Ref, t TargetID) int64 {
	if r.Cohort != 0 {
		if c := x.cohorts[r.Cohort]; c != nil {
			return c.joined[t]
		}
		return 0
	}
	if u := x.units[r.Unit]; u != nil {
		return u.joined[t]
	}
	return 0
}
