package catalog

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// maxCompanions is how many objects a list of Companions has at most.
const maxCompanions = 1000

// Companions lists what goes along with an object, at second hand, too: an Ingress goes along with the
// Service of a Deployment. stays lists what is tied to one of these and does not go along. The lock must be
// held.
func (o *Object) Companions(c *Catalog) (goes, stays []v1alpha1.ReviewedCompanion) {
	going, staying := map[*Object]bool{o: true}, map[*Object]string{}
	for queue := []*Object{o}; len(queue) > 0 && len(goes) < maxCompanions; queue = queue[1:] {
		tied := queue[0].tied()
		for _, f := range slices.SortedFunc(maps.Keys(tied), byTitle) {
			if going[f] {
				continue
			}
			if why := f.staysBehind(queue[0], c); why != "" {
				staying[f] = tied[f] + ", and " + why
				continue
			}
			going[f] = true
			goes = append(goes, f.companion(tied[f]))
			queue = append(queue, f)
		}
	}
	for _, f := range slices.SortedFunc(maps.Keys(staying), byTitle) {
		if !going[f] {
			stays = append(stays, f.companion(staying[f]))
		}
	}
	return goes[:min(len(goes), maxCompanions)], stays[:min(len(stays), maxCompanions)]
}

// tied are the objects that an object names, and those that select or name it, with what ties them.
func (o *Object) tied() map[*Object]string {
	out := map[*Object]string{}
	add := func(f *Object, tie string) {
		if f.Present && !f.Leaving {
			out[f] = tie
		}
	}
	if o.Finished {
		return nil
	}
	if o.Ties != nil {
		for f := range o.Ties.Followers.all() {
			add(f, f.tie(o))
		}
		if o.Ties.runs {
			for f := range o.Namespace.followers.whole.followers.all() {
				add(f, f.tie(o))
			}
		}
	}
	if o.Work != nil {
		for _, dep := range o.Work.Names {
			add(dep, o.title()+" names it")
		}
	}
	return out
}

// tie says what ties a follower to a leader.
func (o *Object) tie(leader *Object) string {
	is := placement.ObjectName{Group: leader.Kind.Group, Kind: leader.Kind.Name, Name: leader.Name}
	if slices.Contains(o.Ties.of.Names, is) {
		return "it names " + leader.title()
	}
	if o.Kind.Resource == "serviceaccounts" {
		return "pods without another ServiceAccount have it, such as those of " + leader.title()
	}
	return "it selects the pods of " + leader.title()
}

// staysBehind says why an object that is tied to a leader does not go along with it, empty for one that does.
// The lock must be held.
func (o *Object) staysBehind(leader *Object, c *Catalog) string {
	named := leader.Work != nil && slices.Contains(leader.Work.Names, o)
	switch {
	case !named && o.StandsAlone():
		return c.stays(o)
	case !leader.BringsDependencies():
		return "Placement " + leader.Source.Book.Name + " has includeDependencies: false"
	}
	return ""
}

// title is what people read for an object.
func (o *Object) title() string { return o.Kind.Resource + "/" + o.Name }

func byTitle(a, b *Object) int { return strings.Compare(a.title(), b.title()) }

func (o *Object) companion(because string) v1alpha1.ReviewedCompanion {
	return v1alpha1.ReviewedCompanion{Because: because, Object: v1alpha1.ReviewedObject{
		APIGroup: o.Kind.Group, Resource: o.Kind.Resource, Namespace: o.Namespace.Name, Name: o.Name}}
}
