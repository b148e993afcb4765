package delivery

import (
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// copySaid is what claims say of their copy, and StatefulSets of those of their claims, by who moves. The decision
// writer alone has it.
type copySaid map[catalog.Ref]map[store.Key]string

// tell says on each claim of a unit how far its copy is, and takes that off what is copied no more.
func (said copySaid) tell(d *Delivery, p *plan, next binding.Record) {
	v, text := &p.look.moves, p.look.copyWords(next)
	now := map[store.Key]string{}
	if text != "" {
		for _, c := range v.claims {
			copied := slices.ContainsFunc(v.move.Claims, func(m volumes.Claim) bool {
				return m.Namespace == c.Namespace && m.Name == c.Name && m.UID == c.UID
			})
			if copied && c.key != p.key { // who moves says so already
				now[c.key] = text
			}
		}
	}
	said.become(d, p.ref, now)
}

// forget takes off what is said for a group that is gone.
func (said copySaid) forget(d *Delivery, r catalog.Ref) { said.become(d, r, nil) }

func (said copySaid) become(d *Delivery, r catalog.Ref, now map[store.Key]string) {
	before := said[r]
	for k, text := range now {
		if before[k] != text {
			d.cfg.Condition(k, placement.Condition{Type: v1alpha1.ConditionObjectMoving, Status: true,
				Reason: string(placement.CopyingVolumes), Message: text})
		}
	}
	for k := range before {
		if _, goesOn := now[k]; !goesOn {
			d.cfg.Condition(k, placement.Condition{Type: v1alpha1.ConditionObjectMoving, Reason: string(placement.Settled)})
		}
	}
	if said[r] = now; len(now) == 0 {
		delete(said, r)
	}
}
