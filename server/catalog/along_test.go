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
		var led []*Object
		c.leaders(n, all.Ties.of, func(l *Object) { led = append(led, l) })
		if len(led) != many {
			t.Errorf("it selects %d of %d", len(led), many)
		}
		one := place("apps", "deployments", "Deployment", "7")
		if f := one.Ties.Followers.len() + n.followers.whole.followers.len(); f != 2 {
			t.Fatalf("it has %d followers", f)
		}
		told, a := 0, c.Sets.Of([]string{"a"})
		for _, l := range led {
			l.Source = &n.Group
			told += len(c.Leads(l))
		}
		if told != 0 {
			t.Errorf("%d followers settle although nothing has moved", told)
		}
		u := c.Records.UnitOf("uid-n")
		u.Stored.On = a
		for _, l := range led {
			l.UID, l.With = "uid-"+l.Name, u
			told += len(c.Leads(l))
		}
		if told != many+2 { // each its own Service, and that of all when the first comes and the last goes
			t.Errorf("%d followers settle when %d objects move", told, many)
		}
	}
}

// 2,000 policies with an empty selector and 2,000 Pods in one namespace cost as much as there are of both, and
// not of the one times the other: when they come in either order, move, and go.
func TestWhatSelectsAllIsNotQuadratic(t *testing.T) {
	const many = 2000
	for _, policiesFirst := range []bool{true, false} {
		c, looks, settled := New(), 0, 0
		n := c.NamespaceOf(c.SpaceOf("shop"), "app")
		objects := func(group, resource, kind string) (made []*Object) {
			k := c.KindOf(store.Write{Key: store.Key{Group: group, Resource: resource}, APIVersion: "v1", Kind: kind})
			for i := range many {
				o := c.Place(n, k, fmt.Sprint(i))
				o.Present, o.Source = true, &n.Group
				made = append(made, o)
			}
			return made
		}
		policies, pods := objects("networking.k8s.io", "networkpolicies", "NetworkPolicy"), objects("", "pods", "Pod")
		all := &placement.Follower{Selector: counted{labels.Everything(), &looks}}
		tie := func(policies, pods []*Object, f *placement.Follower, runs bool) {
			for _, o := range policies {
				settled += len(c.Tie(o, f, LabelText{}, false))
			}
			for _, o := range pods {
				settled += len(c.Tie(o, nil, LabelsOf(map[string]any{"app": o.Name}), runs))
			}
		}
		if policiesFirst {
			tie(policies, pods, all, true)
		} else {
			tie(nil, pods, nil, true)
			tie(policies, nil, all, false)
		}
		edges := 0
		for _, o := range append(policies, pods...) {
			edges += o.Ties.Followers.len() + o.Ties.Leaders.len()
		}
		on := c.Sets.Of([]string{"a"})
		u := c.Records.UnitOf("uid-n")
		u.Stored.On = on
		for _, o := range pods {
			o.UID, o.With = "uid-"+o.Name, u
			settled += len(c.Leads(o))
		}
		for _, o := range policies {
			if got := c.along(o, nil); got != on {
				t.Fatalf("a policy is on %q", got.Record())
			}
		}
		tie(nil, pods[1:], nil, false)
		if got := c.along(policies[0], nil); got != on {
			t.Errorf("with one Pod left a policy is on %q", got.Record())
		}
		tie(nil, pods[:1], nil, false)
		if got := c.along(policies[0], nil); got != nil {
			t.Errorf("without a Pod a policy is on %q", got.Record())
		}
		tie(policies, nil, nil, false)
		if w := &n.followers.whole; w.followers.len()+w.alone.len()+len(w.here)+n.followers.pods[""].len() != 0 {
			t.Errorf("left: %d followers, %d places", w.followers.len(), len(w.here))
		}
		// Each policy settles with the first place that comes, the next, when either goes, and for itself.
		if edges > 2*many || looks > 2*many || settled > 8*many {
			t.Errorf("policies first: %t: %d edges, %d looks, %d settled", policiesFirst, edges, looks, settled)
		}
	}
}
