package delivery

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
)

// claimAt is a claim of a unit, or a StatefulSet with templates of some.
type claimAt struct {
	question
	volumes.Claim
	feeds    *catalog.Set // the targets that have it, be it only for others
	other    string       // what mounts it, too, and does not move along
	uncommon placement.Uncommon
}

// block says why a claim is not copied that has no files, empty for every other one.
func (c claimAt) block() string {
	if c.uncommon.Block == "" {
		return ""
	}
	return c.asks(c.uncommon.Block) + " asks for a raw block volume (volumeMode: Block), and only files are copied: " +
		"bring over what it holds by the app's own backup, or have the app use a claim with volumeMode Filesystem"
}

// asks names what asks for a volume: the claim, or a template of that name.
func (c claimAt) asks(name string) string {
	if c.Templates {
		return "template " + name + " of " + c.text()
	}
	return c.text()
}

// add notes a claim. The lock must be held.
func (v *volumeMove) add(c *catalog.Catalog, q question, o *catalog.Object) {
	at := claimAt{question: q, feeds: c.Feeds(o), uncommon: c.Uncommon[o],
		Claim: volumes.Claim{Namespace: o.Namespace.Name, Name: o.Name, UID: o.UID}}
	switch {
	case !q.claim:
		at.Templates, at.User, at.UserVersion = true, o.Key(), o.Kind.ApiVersion
	case o.Work != nil:
		for _, w := range o.Work.NamedBy {
			switch {
			case !w.Present || w.Leaving || w.Finished || w.Mover() != nil:
			case w.Source != o.Source:
				at.other = w.Kind.Resource + "/" + w.Name
			case at.User.Name == "" || w.Name < at.User.Name:
				at.User, at.UserVersion = w.Key(), w.Kind.ApiVersion
			}
		}
	}
	v.claims = append(v.claims, at)
}
