package catalog

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// counted counts how often a selector is compared with labels.
type counted struct {
	labels.Selector
	looks *int
}

func (s counted) Matches(l labels.Labels) bool { *s.looks++; return s.Selector.Matches(l) }

// A namespace of 2,500 Deployments, each with a Service, and with labels that all have, costs a few looks per
// object, whatever comes first; and a move of one of them settles its own Service alone, not the policy that
// selects all.
func TestSelectionIsNotQuadratic(t *testing.T) {
	const many = 2500
	for _, servicesFirst := range []bool{true, false} {
		looks := 0
		c := New()
		n := c.NamespaceOf(c.SpaceOf("shop"), "app")
		place := func(group, resource, kind, name string) *Object {
			o := c.Place(n, c.KindOf(store.Write{Key: store.Key{Group: group, Resource: resource}, APIVersion: "v1", Kind: kind}), name)
			o.Present = true
			return o
		}
		follow := func(name string, selector labels.Selector) {
			o := place("", "services", "Service", name)
			c.Tie(o, &placement.Follower{Selector: counted{selector, &looks}}, LabelText{}, false)
		}
		services := func() {
			for i := range many {
				follow(fmt.Sprint(i), labels.SelectorFromSet(labels.Set{"a-managed-by": "helm", "app": fmt.Sprint(i)}))
			}
		}
		if servicesFirst {
			services()
		}
		for i := range many {
			o := place("apps", "deployments", "Deployment", fmt.Sprint(i))
			c.Tie(o, nil, LabelsOf(map[string]any{"a-managed-by": "helm", "app": fmt.Sprint(i), "tier": "x"}), true)
		}
		if !servicesFirst {
			services()
		}
		if looks > 3*many {
			t.Errorf("services first: %t: %d looks for %d objects", servicesFirst, looks, 2*many)
		}
		follow("all", labels.Everything())
		all := place("", "services", "Service", "all")
		if looks -= 3 * many; all.Ties.Leaders.len() != many {
			t.Errorf("it selects %d of %d", all.Ties.Leaders.len(), many)
		}
		one := place("apps", "deployments", "Deployment", "7")
		if len(one.Ties.Followers) != 2 {
			t.Fatalf("it has %d followers", len(one.Ties.Followers))
		}
		told, a := 0, c.Sets.Of([]string{"a"})
		for l := range all.Ties.Leaders.all() {
			l.Source = &n.Group
			told += len(c.Leads(l))
		}
		if told != 0 {
			t.Errorf("%d followers settle although nothing has moved", told)
		}
		u := c.Records.UnitOf("uid-n")
		u.Stored.On = a
		for l := range all.Ties.Leaders.all() {
			l.UID, l.With = "uid-"+l.Name, u
			told += len(c.Leads(l))
		}
		if told != many+2 { // each its own Service, and that of all when the first comes and the last goes
			t.Errorf("%d followers settle when %d objects move", told, many)
		}
	}
}
