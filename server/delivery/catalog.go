package delivery

import (
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// kind is a resource as the catalog knows it.
type kind struct {
	group, resource  string
	apiVersion, name string // as of the last write: "apps/v1", "Deployment"
	class            placement.Class
	order            store.Class
}

// object is one placed object, or one that a placed workload names and that does not exist (then
// present is false).
type object struct {
	kind           *kind
	ns             *namespace // the space's cluster for cluster-scoped objects
	name           string
	uid            string
	revision       int64
	generation     int64
	hash           store.Hash
	content        uint64         // of the body without its generation
	options        *renderOptions // what the hash was rendered with
	labels         labelText
	note           *set   // the annotation as last seen
	source         *group // who decides; nil for kinds that follow others
	on             *set   // whose feeds have it
	work           *work
	epoch          uint32
	present        bool
	leaving        bool // its deletion has begun: it is on no target any more
	finished       bool // it has run to its end, see Delivery.finished
	ownAnnotations bool // it has annotations of a record of its own, or of none yet
	undecided      bool // its annotation is from before who decides now
	// dependents: its deletion leaves what it owns, here and on the targets. parentKeeps: the parent
	// says with skerry.dev/sync that it stays where it is no longer placed. keeps: so it does where
	// it is let go of next. goes: it is let go of next because a user deleted by name what named it.
	dependents, parentKeeps, keeps, goes bool
}

// work is what only some objects have.
type work struct {
	names     []*object // what a workload's pods need
	namedBy   []*object // the workloads that need this object
	replicas  int64
	templates bool // a StatefulSet with claims of its own
	account   placement.PodAccount
	said      string // of its pods' API, in its annotation
}

func (o *object) key() store.Key {
	return store.Key{
		Space:     o.ns.space.name,
		Group:     o.kind.group,
		Resource:  o.kind.resource,
		Namespace: o.ns.name,
		Name:      o.name,
	}
}

func (o *object) demand() placement.Demand {
	d := placement.Demand{UID: o.uid, Hash: o.hash}
	if o.work != nil {
		d.Replicas = o.work.replicas
	}
	if o.options != nil && placement.Retains(o.options.policy, "/spec/replicas") {
		d.Replicas = 0 // how many there are is the target's business
	}
	return d
}

type objectID struct {
	kind *kind
	name string
}

// namespace indexes the objects of one namespace; a space's cluster-scoped objects are in one
// without a name.
type namespace struct {
	space   *space
	name    string
	labels  labelText
	self    *object // the Namespace object itself
	group   group
	objects map[objectID]*object
	here    map[*set]int // objects per set of targets
	state   conditions
	podAPI  placement.PodAPI     // what the Namespace says
	kept    *set                 // targets where something of it stays that is no longer placed there
	rights  map[*object]struct{} // its Roles and bindings; nil while it has none
}

// space is one logical cluster.
type space struct {
	name       string
	known      bool // a Space object exists
	offered    labels.Selector
	fallback   placement.Wish // where namespaces go that nothing names
	namespaces map[string]*namespace
	cluster    *namespace
	rules      []*placement.Rule
	placements map[string]*rulebook
	crds       map[*object]struct{}
	borrows    map[string]string   // group -> the space whose definitions of it serve this one
	lentTo     map[*space]struct{} // the spaces that borrow of this one
	here       map[*set]int
	kept       *set // as of a namespace
	rights     rights
}

// rulebook is a Placement with its record.
type rulebook struct {
	name       string
	rule       *placement.Rule // as last understood; nil when it never was
	problem    string          // why the spec cannot be understood
	uid        string
	revision   int64
	generation int64
	group      group
	options    *renderOptions
	status     map[string]any
	epoch      uint32
}

// renderOptions are what customize.Render writes into an object by the Placement that decides about
// it, and for its pods. They are nil for an object about which no Placement decides and whose pods
// get nothing. They are never changed, so equal pointers mean equal options.
type renderOptions struct {
	placement, sync string
	policy          v1alpha1.SyncPolicy
	// api is which API the pods of a workload use. variants are the same options with another api.
	api      placement.PodAPI
	variants map[placement.PodAPI]*renderOptions
}

// target is one SyncTarget with its feed.
type target struct {
	placement.Target
	uid   string
	feed  *store.Feed
	epoch uint32
	opened
	// emptied: the SyncTarget is being deleted, and nothing of what is placed there may stay.
	emptied bool
}

func (d *Delivery) kindOf(w store.Write) *kind {
	id := [2]string{w.Key.Group, w.Key.Resource}
	k, ok := d.kinds[id]
	if !ok {
		k = &kind{
			group:    w.Key.Group,
			resource: w.Key.Resource,
			class:    placement.ClassOf(w.Key.Group, w.Key.Resource),
			order:    w.Key.Class(),
		}
		d.kinds[id] = k
	}
	if w.Kind != "" && (k.name != w.Kind || k.apiVersion != w.APIVersion) {
		k.apiVersion, k.name = w.APIVersion, w.Kind
		d.kindNames[[2]string{k.group, k.name}] = k
	}
	return k
}

func (d *Delivery) spaceOf(name string) *space {
	s, ok := d.spaces[name]
	if !ok {
		s = &space{
			name:       name,
			namespaces: map[string]*namespace{},
			placements: map[string]*rulebook{},
			crds:       map[*object]struct{}{},
			lentTo:     map[*space]struct{}{},
			here:       map[*set]int{},
		}
		s.cluster = &namespace{space: s, objects: map[objectID]*object{}, here: map[*set]int{}}
		d.spaces[name] = s
	}
	return s
}

func (d *Delivery) namespaceOf(s *space, name string) *namespace {
	if name == "" {
		return s.cluster
	}
	n, ok := s.namespaces[name]
	if !ok {
		n = &namespace{space: s, name: name, objects: map[objectID]*object{}, here: map[*set]int{}}
		n.group = group{kind: ofNamespace, space: s, ns: n}
		s.namespaces[name] = n
	}
	return n
}

// find returns the object of a key, nil when the catalog does not have it. The lock must be held.
func (d *Delivery) find(k store.Key) *object {
	s := d.spaces[k.Space]
	kd := d.kinds[[2]string{k.Group, k.Resource}]
	if s == nil || kd == nil {
		return nil
	}
	n := s.cluster
	if k.Namespace != "" {
		n = s.namespaces[k.Namespace]
	}
	if n == nil {
		return nil
	}
	if o := n.objects[objectID{kd, k.Name}]; o != nil && o.present {
		return o
	}
	return nil
}

// place returns the object of an identity, making an absent one when there is none.
func (d *Delivery) place(n *namespace, k *kind, name string) *object {
	id := objectID{k, name}
	o, ok := n.objects[id]
	if !ok {
		o = &object{kind: k, ns: n, name: name}
		n.objects[id] = o
	}
	return o
}

func (o *object) subject() placement.Subject {
	s := placement.Subject{Key: o.key(), Labels: o.labels, NamespaceLabels: o.ns.labels}
	if o.ns.self == nil {
		s.NamespaceLabels = labelText{}
	}
	return s
}

func (o *object) wish() string { return o.labels.Get(v1alpha1.LabelTarget) }
