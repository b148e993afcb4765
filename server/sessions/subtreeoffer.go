package sessions

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// subtreeOffer knows what the clusters below this center offer, from the statuses of its SyncTargets:
// what a relay tells its own parent, which may then choose it or not. An API is offered that any of
// them serves: the relay chooses again, among those that do. A property is offered that all of them
// have with one value, so that a parent never chooses a relay for what only some of its sites are.
// Those that have said nothing do not count.
//
// Lists of APIs are shared, because most clusters serve the same.
type subtreeOffer struct {
	of     map[string]childOffer // by SyncTarget
	served map[string]*servedList
	values map[[2]string]int // how many have a property with a value
	said   *tunnel.ClusterOffer
}

type childOffer struct {
	list       string // its key among served
	properties map[string]string
}

type servedList struct {
	v1alpha1.ServedAPIs
	children int
}

func newSubtreeOffer() subtreeOffer {
	return subtreeOffer{of: map[string]childOffer{}, served: map[string]*servedList{}, values: map[[2]string]int{}}
}

// observe takes over what the status of a SyncTarget says, and reports whether that changes the offer.
func (o *subtreeOffer) observe(name string, status *v1alpha1.SyncTargetStatus) bool {
	was, knew := o.of[name]
	key := listKey(status.APIs)
	if knew == (status.APIs != nil) && was.list == key && maps.Equal(was.properties, status.Properties) {
		return false
	}
	if knew {
		o.forget(name, was)
	}
	if status.APIs != nil {
		o.add(name, key, status)
	}
	before := o.said
	o.said = o.sum()
	return !before.Equal(o.said)
}

func (o *subtreeOffer) add(name, key string, status *v1alpha1.SyncTargetStatus) {
	list := o.served[key]
	if list == nil {
		list = &servedList{ServedAPIs: *status.APIs}
		o.served[key] = list
	}
	list.children++
	for property, value := range status.Properties {
		o.values[[2]string{property, value}]++
	}
	o.of[name] = childOffer{key, status.Properties}
}

func (o *subtreeOffer) forget(name string, was childOffer) {
	list := o.served[was.list]
	if list.children--; list.children == 0 {
		delete(o.served, was.list)
	}
	for property, value := range was.properties {
		at := [2]string{property, value}
		if o.values[at]--; o.values[at] == 0 {
			delete(o.values, at)
		}
	}
	delete(o.of, name)
}

// sum is what all offer together, nil while nobody has said anything.
func (o *subtreeOffer) sum() *tunnel.ClusterOffer {
	if len(o.of) == 0 {
		return nil
	}
	out := &tunnel.ClusterOffer{}
	for _, list := range o.served {
		out.Versions = append(out.Versions, list.Versions...)
		out.Resources = append(out.Resources, list.Resources...)
		out.Incomplete = out.Incomplete || list.Incomplete
	}
	for at, children := range o.values {
		if children == len(o.of) {
			if out.Properties == nil {
				out.Properties = map[string]string{}
			}
			out.Properties[at[0]] = at[1]
		}
	}
	return out.Bounded()
}

func listKey(s *v1alpha1.ServedAPIs) string {
	if s == nil {
		return ""
	}
	key := strings.Join(slices.Concat(s.Versions, []string{""}, s.Resources), " ")
	if s.Incomplete {
		key += " ..."
	}
	return key
}

// SubtreeOffer returns what is to be told of what the clusters below this center offer, nil while that
// is not known. The channel of Subtree is closed when it is something else.
func (srv *Server) SubtreeOffer() *tunnel.ClusterOffer {
	srv.subtree.mu.Lock()
	defer srv.subtree.mu.Unlock()
	return srv.subtree.offer.said
}
