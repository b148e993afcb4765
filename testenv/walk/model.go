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
	// unknown is true while a write of it has no answer, or will never have one.
	unknown bool
	before  shape // what it was before that write
}

// shape is what the model knows of an object's content.
type shape struct {
	// version counts its changes, also over deletions: it never goes back. It stands in the
	// object's data.
	version int
	exists  bool
	// pin is the site that the object's own label names.
	pin string
	// everywhere is true when the Placement selects it.
	everywhere bool
}

// follows tells whether it is where its namespace is.
func (s shape) follows() bool { return s.exists && s.pin == "" && !s.everywhere }

// model is what the space and the sites are to be.
type model struct {
	sites      []string
	namespaces map[string]string // to the site that its label names
	// via are the sites that a namespace's label has named since the last rest: what is made
	// meanwhile may pass through them.
	via     map[string][]string
	objects []*object
}

func newModel(sites []string, namespaces, objects int) *model {
	m := &model{sites: sites, namespaces: map[string]string{}, via: map[string][]string{}}
	for i := range namespaces {
		m.namespaces[fmt.Sprintf("walk-%d", i)] = sites[i%len(sites)]
	}
	for i := range objects {
		m.objects = append(m.objects, &object{namespace: fmt.Sprintf("walk-%d", i%namespaces), name: fmt.Sprintf("o-%d", i)})
	}
	return m
}

// anchors are the first objects, one in each namespace: they are everywhere and never change, so
// that no namespace leaves a site. One that did and came back at once would have to wait until
// Kubernetes has removed it, which takes more than 5 s.
func (m *model) anchors() int { return len(m.namespaces) }

// on returns where an object of this shape is to be: what its own label says goes before the
// Placement, that before the namespace.
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

// ways tells what a change of where an object is may lead to. Its namespace may be on its way from
// one of the sites of via, and a write that has no answer may have been made or not.
func (m *model) ways(o *object, before []string) ways {
	outcomes := [][]string{m.on(o.namespace, o.shape)}
	if o.unknown {
		outcomes = append(outcomes, m.on(o.namespace, o.before))
	}
	via := m.via[o.namespace]
	if o.follows() && len(before) > 0 {
		// It changes while its namespace may be at each of these still, so it may leave even where
		// both are to be in the end, and come back.
		for _, s := range via {
			outcomes = append(outcomes, []string{s})
		}
	}
	w := ways{come: slices.Concat(append(outcomes, via)...)}
	for _, s := range slices.Concat(append(outcomes, before, via)...) {
		sure := true
		for _, on := range outcomes {
			sure = sure && slices.Contains(on, s)
		}
		if !sure {
			w.leave = append(w.leave, s)
		}
	}
	return w
}

// rest forgets the ways that are finished.
func (m *model) rest() { clear(m.via) }

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
