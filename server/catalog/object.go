package catalog

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/store"
)

// Kind is a resource as the catalog knows it.
type Kind struct {
	Group, Resource  string
	ApiVersion, Name string // as of the last write: "apps/v1", "Deployment"
	Class            placement.Class
	Order            store.Class
}

// Object is one placed object, or one that a placed workload names and that does not exist (then
// present is false).
type Object struct {
	Kind       *Kind
	Namespace  *Namespace // the space's cluster for cluster-scoped objects
	Name       string
	UID        string
	Revision   int64
	Generation int64
	Hash       store.Hash
	Content    uint64         // of the body without its generation
	sent       *store.Value   // see version
	Digest     uint64         // of what of it makes a release, where its Placement has releases
	Options    *RenderOptions // what the hash was rendered with
	Labels     LabelText
	Note       *Set   // the annotation as last seen
	Source     *Group // whose wish it is for; nil for kinds that follow others
	With       *Unit  // the unit of its stamp; nil for one that was never placed
	On         *Set   // where it is
	Named      *Set   // targets that have it for its name, see NamedAt
	Work       *Work
	Ties       *Ties
	Epoch      uint32
	Present    bool
	Deleting   bool            // its deletion has begun
	Leaving    bool            // it is being deleted, and is on no target any more: no finalizer holds it there
	Finished   bool            // it has run to its end, see step.object
	Duplicates bool            // a StatefulSet that may run on several targets
	Apart      bool            // the definitions of its space do not follow it, see settleApart
	Hook       *HookMark       // a Job that is a hook of a move; nil for any other object
	Reach      placement.Reach // what it says of its name itself
	Ends       bool            // it runs once to its end, see placement.Ends
	Paused     bool            // see placement.Paused
	OneJob     bool            // see placement.StartsOneAtATime
	once       bool            // it must not run twice, or of a claim: workloads must not for its sake
	Stays      bool            // a definition that is on no target, nor are its custom resources
	Reaches    bool            // its name answers wherever its space runs pods, see Reach
	Retired    bool            // it is gone from the space, and targets have it by their release, see rolled
	// dependents: its deletion leaves what it owns, here and on the targets. ParentKeeps: the parent
	// says with skerry.dev/sync that it stays where it is no longer placed. keeps: so it does where
	// it is let go of next. goes: it is let go of next because a user deleted by name what named it.
	Dependents, ParentKeeps, Keeps, Goes bool
}

// Work is what only some objects have.
type Work struct {
	Names     []*Object // what a workload's pods need
	NamedBy   []*Object // the workloads that need this object
	Replicas  int64
	Requests  placement.Requests // of its pods, times replicas
	Charged   Charge             // what of it counts for the targets that it is on
	Templates bool               // a StatefulSet with claims of its own
	Hosts     *placement.Hosts   // of its pods, nil where they have none
	Mover     *Mover             // a Deployment that copies a volume
	Security  placement.SecurityNeed
	Account   placement.PodAccount
	Said      string        // of its pods' API, in its annotation
	StopTime  time.Duration // how long its pods may take to stop
}

// Key is where an object is stored.
func (o *Object) Key() store.Key {
	return store.Key{
		Space:     o.Namespace.Space.Name,
		Group:     o.Kind.Group,
		Resource:  o.Kind.Resource,
		Namespace: o.Namespace.Name,
		Name:      o.Name,
	}
}

// Demand is what a target has to report of an object so that it has arrived there.
func (o *Object) Demand() placement.Demand {
	d := placement.Demand{UID: o.UID, Hash: o.Hash}
	if o.Work != nil {
		d.Replicas = o.Work.Replicas
	}
	if o.Options != nil && placement.Retains(o.Options.Policy, "/spec/replicas") {
		d.Replicas = 0 // how many there are is the target's business
	}
	return d
}

type objectID struct {
	kind *Kind
	name string
}

// Rulebook is a Placement with its record.
type Rulebook struct {
	Name       string
	Rule       *placement.Rule // as last understood; nil when it never was
	Problem    string          // why the spec cannot be understood
	UID        string
	PolicyOf   string // the UID of the Placement of root that it is kept for
	Revision   int64
	Generation int64
	Group      Group
	Rollout    *rollout.Policy // nil: all targets get each change at once
	Options    *RenderOptions
	Status     map[string]any
	Labels     labels.Set
	Epoch      uint32
	// objects are those that its wish is for; lost are those that another one of its priority has.
	Objects, Lost map[*Object]struct{}
}

// RenderOptions are what customize.Render writes into an object by the Placement that decides about
// it, and for its pods. They are nil for an object about which no Placement decides and whose pods
// get nothing. They are never changed, so equal pointers mean equal options.
type RenderOptions struct {
	placement, Sync string
	Policy          v1alpha1.SyncPolicy
	Division        *placement.Division
	runsOnce        bool // the workloads must not run twice, see customize.Origin
	Releases        bool // the Placement has releases
	variant
	// variants are the same options for other objects.
	variants map[variant]*RenderOptions
	// whole are the same options with all replicas on each target, where division says otherwise.
	whole *RenderOptions
	// made are weak pointers to the same options for single objects whose variant has words. They are made when they are
	// asked for.
	made *sync.Map
}

// variant is what options say of single objects.
type variant struct {
	Api     placement.PodAPI // which API the pods of a workload use
	Reaches bool             // a Service reaches its space
	Entered bool             // others than Pods of the space are sent to such a Service, see entered
	Hosts   string           // the pods that such a Service governs, see hosts
	Members string           // of an import, see members
	Stops   string           // the targets at which a CronJob starts no more Jobs, see stops
	Started bool             // an autoscaler scales a workload whose replicas are divided
}

// KindOf returns the kind of a write, and takes over what the write says of it. The lock must be held.
func (c *Catalog) KindOf(w store.Write) *Kind {
	id := [2]string{w.Key.Group, w.Key.Resource}
	k, ok := c.Kinds[id]
	if !ok {
		k = &Kind{
			Group:    w.Key.Group,
			Resource: w.Key.Resource,
			Class:    placement.ClassOf(w.Key.Group, w.Key.Resource),
			Order:    w.Key.Class(),
		}
		c.Kinds[id] = k
	}
	if w.Kind != "" && (k.Name != w.Kind || k.ApiVersion != w.APIVersion) {
		k.ApiVersion, k.Name = w.APIVersion, w.Kind
		c.KindNames[[2]string{k.Group, k.Name}] = k
	}
	return k
}

// Find returns the object of a key, nil when the catalog does not have it. The lock must be held.
func (c *Catalog) Find(k store.Key) *Object {
	s := c.Spaces[k.Space]
	kd := c.Kinds[[2]string{k.Group, k.Resource}]
	if s == nil || kd == nil {
		return nil
	}
	n := s.Cluster
	if k.Namespace != "" {
		n = s.Namespaces[k.Namespace]
	}
	if n == nil {
		return nil
	}
	if o := n.Objects[objectID{kd, k.Name}]; o != nil && o.Present {
		return o
	}
	return nil
}

// Place returns the object of an identity, making an absent one when there is none.
func (c *Catalog) Place(n *Namespace, k *Kind, name string) *Object {
	id := objectID{k, name}
	o, ok := n.Objects[id]
	if !ok {
		o = &Object{Kind: k, Namespace: n, Name: name}
		n.Objects[id] = o
	}
	return o
}

// Subject is an object as the clauses of a Placement see it.
func (o *Object) Subject() placement.Subject {
	s := placement.Subject{Key: o.Key(), Labels: o.Labels, NamespaceLabels: o.Namespace.Labels}
	if o.Namespace.Self == nil {
		s.NamespaceLabels = LabelText{}
	}
	return s
}

// Wish is the target that the label of an object names, empty for none.
func (o *Object) Wish() string { return o.Labels.Get(v1alpha1.LabelTarget) }

// WantedReplicas is how many pods a workload asks for, 0 for what has no replicas.
func WantedReplicas(k store.Key, obj map[string]any) int64 {
	if placement.HasReplicas(k.Group, k.Resource) {
		if v, ok := fields.Map(obj, "spec")["replicas"]; ok {
			return customize.Number(v)
		}
		return 1
	}
	return 0
}
