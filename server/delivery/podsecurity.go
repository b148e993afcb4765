package delivery

import (
	"slices"
	"strings"

	"skerry.dev/skerry/server/placement"
)

// PodSecurity returns to which Pod Security level each of some targets keeps the Pods of a space, in
// the order of names. Without targets it is all that the space may use. Sites that have not said are
// left out.
func (d *Delivery) PodSecurity(space string, targets []string) (out []placement.SecurityLevel) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	sp := d.catalog.Spaces[space]
	if sp == nil {
		return nil
	}
	for name, t := range d.catalog.Targets {
		if t.Emptied || len(targets) > 0 && !slices.Contains(targets, name) ||
			len(targets) == 0 && sp.Offered != nil && !sp.Offered.Matches(t.Labels) {
			continue
		}
		if level := t.PodSecurity(space); level != "" || t.Relay() {
			out = append(out, placement.SecurityLevel{Target: name, Level: level, Relay: t.Relay()})
		}
	}
	slices.SortFunc(out, func(a, b placement.SecurityLevel) int { return strings.Compare(a.Target, b.Target) })
	return out
}
