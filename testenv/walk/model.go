package walk

import (
	"fmt"
	"maps"
	"slices"
)

// object is a ConfigMap of the space as the writers last knew it.
type object struct {
	namespace, name string
	shape
	// unknown is true while a write of it has no answer.
	unknown bool
	before  shape // what it was before that write
}

// shape is what the model knows of an object's content.
type shape struct {
	// version counts its changes, also over deletions: it never goes back. It stands in the object's data.
	version int
	exists  bool
	// pin is the site that the object's own label names.
	pin string
	// everywhere is true when the Placement selects it.
	everywhere bool
}

// model is what the space and the sites are to be.
type model struct {
	sites      []string
	namespaces map[string]string // to the site that its label names
	objects    []*object
}

func newModel(sites []string, namespaces, objects int) *model {
	m := &model{sites: sites, namespaces: map[string]string{}}
	for i := range namespaces {
		m.namespaces[fmt.Sprintf("walk-%d", i)] = sites[i%len(sites)]
	}
	for i := range objects {
		m.objects = append(m.objects, &object{namespace: fmt.Sprintf("walk-%d", i%namespaces), name: fmt.Sprintf("o-%d", i)})
	}
	return m
}

// on returns where an object of this shape is to be: what its own label says goes before the Placement, that before the namespace.
func (m *model) on(namespace string, s shape) []string {
	switch {
	case !s.exists:
		return nil
	case s.pin != "":
		return []string{s.pin}
	case s.everywhere:
		return m.sites
	}
	return []string{m.namespaces[namespace]}
}

// wanted returns the version of every object that is to be on a site, by namespace and name.
func (m *model) wanted(site string) map[string]int {
	out := map[string]int{}
	for _, o := range m.objects {
		if slices.Contains(m.on(o.namespace, o.shape), site) {
			out[o.key()] = o.version
		}
	}
	return out
}

func (m *model) namespaceNames() []string { return slices.Sorted(maps.Keys(m.namespaces)) }

func (o *object) key() string { return o.namespace + "/" + o.name }
