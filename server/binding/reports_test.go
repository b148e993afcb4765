package binding_test

import . "skerry.dev/skerry/server/binding"

// reports are those of the members of a record.
type reports struct {
	l       *leader
	of      Ref
	members []*thingRow
}

// Counts implements Reports.
func (r *reports) Counts(t TargetID) bool { return r.l.confirmed[t] >= r.l.x.Confirms(r.of, t) }

// Word implements Reports.
func (r *reports) Word(t TargetID, object int) Word {
	m := r.members[object]
	v := r.l.view()
	for i := range v.things {
		if v.things[i].uid == m.uid {
			switch c := r.l.inbox[t].has[i]; {
			case c.uid != m.uid:
				return NoWord
			case c.ready && c.version == m.version:
				return Available
			case !c.ready:
				return Unavailable
			}
			return Outdated
		}
	}
	return NoWord
}
