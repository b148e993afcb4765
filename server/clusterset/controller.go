package clusterset

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"sync"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// API is how a Controller reads and changes objects of the spaces.
type API interface {
	spaceapi.LiveGetter
	spaceapi.Creator
	spaceapi.Patcher
	spaceapi.Deleter
}

// Config is what a Controller needs. All fields are needed.
type Config struct {
	API API
	Log *slog.Logger
}

// Controller keeps the imports of all sets. Its methods may be called concurrently.
type Controller struct {
	cfg   Config
	slow  *patience // cfg.API
	queue queue.Queue[item]

	mu     sync.Mutex
	spaces map[string]member
	// ages are the ServiceExports of each space.
	ages map[string]ages
	// exports are the ServiceExports of each name, by space.
	exports map[name]map[string]*export
	// holders are the spaces that have something that the center made for a name, or a ServiceImport of their own.
	holders map[name]map[string]map[store.Key]bool
	// served are the names whose imports Services serve, by the names of these.
	served map[name]name
	leads  map[lead][]Offer
}

// item is a name to be looked at, or a space whose definitions are.
type item struct {
	name
	space string
}

// member is a space. Its set is empty where it is in none.
type member struct{ set, reach string }

// export is a ServiceExport that is not being deleted.
type export struct {
	since string
	seen  any // what counts of its Service, as it was last told
}

// lead is an import: a name in a set.
type lead struct {
	set string
	name
}

// Offer is a Service that an import leads to, of a UID.
type Offer struct {
	Key store.Key
	UID string
}

const workers = 4

// New returns a Controller. It does nothing before Run.
func New(c Config) *Controller {
	slow := newPatience(c.API)
	c.API = slow
	return &Controller{cfg: c, slow: slow, queue: queue.New[item](20*time.Millisecond, 30*time.Second),
		spaces: map[string]member{}, ages: map[string]ages{}, exports: map[name]map[string]*export{},
		holders: map[name]map[string]map[store.Key]bool{}, served: map[name]name{}, leads: map[lead][]Offer{}}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	queue.Serve(ctx, c.queue, workers, c.reconcile, func(i item, err error) {
		c.cfg.Log.Debug("what a set of spaces exports is tried again", "name", i.name.String(), "space", i.space, "err", err)
	})
	return nil
}

// Imports returns the Services that a Service of a space leads to, and which name they have there: the offers of the
// space's set. It is false for a Service that serves no import.
func (c *Controller) Imports(k store.Key) (service string, all []Offer, is bool) {
	if !k.IsService() {
		return "", nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, is := c.served[name{k.Namespace, k.Name}]
	set := c.spaces[k.Space].set
	if !is || set == "" {
		return "", nil, false
	}
	all = c.leads[lead{set, n}]
	return n.service, all, all != nil
}

func isSpace(k store.Key) bool {
	return k.Group == v1alpha1.GroupVersion.Group && k.Space == v1alpha1.RootSpace && k.Resource == "spaces"
}

func isOurs(k store.Key) bool {
	return k.Group == v1alpha1.FleetGroup &&
		(k.Resource == v1alpha1.ServiceExports || k.Resource == v1alpha1.ServiceImports)
}

func concerns(k store.Key) bool {
	return isSpace(k) || isOurs(k) || isDefinition(k) || k.IsService() || k.Group == "" && k.Resource == "namespaces"
}

// Reset takes everything that exists.
func (c *Controller) Reset(_ int64, all store.Listing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.spaces)
	clear(c.ages)
	clear(c.exports)
	clear(c.holders)
	c.slow.forget()
	for w := range all.Objects(concerns) {
		c.takeLocked(w)
	}
	c.allLocked()
}

// Apply takes one write.
func (c *Controller) Apply(w store.Write) {
	if !concerns(w.Key) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeLocked(w)
}

// Progress means nothing to it.
func (c *Controller) Progress(int64) {}

// allLocked has every name, and the definitions of every member, looked at. c.mu must be held.
func (c *Controller) allLocked() {
	for space, m := range c.spaces {
		if m.set != "" {
			c.queue.Add(item{space: space})
		}
	}
	for n := range c.exports {
		c.queue.Add(item{name: n})
	}
	for n := range c.holders {
		c.queue.Add(item{name: n})
	}
	for l := range c.leads {
		c.queue.Add(item{name: l.name})
	}
}

func (c *Controller) takeLocked(w store.Write) {
	meta := fields.Map(w.Object, "metadata")
	there := w.Object != nil && fields.String(meta, "deletionTimestamp") == ""
	n := name{w.Key.Namespace, w.Key.Name}
	switch {
	case isSpace(w.Key):
		is := member{fields.Clone(w.Object, "spec", "clusterSet"), fields.Clone(w.Object, "spec", "services", "reach")}
		was, known := c.spaces[w.Key.Name]
		if c.spaces[w.Key.Name] = is; !there {
			delete(c.spaces, w.Key.Name)
		}
		if known != there || was != is {
			c.allLocked()
		}
	case isDefinition(w.Key):
		c.slow.take(w.Key, w.Object)
		if c.spaces[w.Key.Space].set != "" && !staysInSpace(w.Object) {
			c.queue.Add(item{space: w.Key.Space})
		}
	case w.Key.Resource == "namespaces":
		if c.spaces[w.Key.Space].set != "" && (there || w.Object == nil) {
			c.namespaceLocked(w.Key.Name)
		}
	case w.Key.Resource == v1alpha1.ServiceExports:
		c.exportLocked(n, w.Key.Space, fields.Clone(meta, "creationTimestamp"), there)
	case w.Key.Resource == v1alpha1.ServiceImports:
		c.holdsLocked(n, w.Key, w.Object != nil)
	default:
		if e := c.exports[n][w.Key.Space]; e != nil {
			seen := counts(w.Object)
			if !reflect.DeepEqual(e.seen, seen) {
				c.queue.Add(item{name: n})
			}
			e.seen = seen
		}
		of := fields.String(meta, "labels", v1alpha1.LabelImported)
		if of != "" && v1alpha1.ServiceOfImport(of) == w.Key.Name {
			c.holdsLocked(name{w.Key.Namespace, of}, w.Key, isMade(w.Object))
		} else if of, is := c.served[n]; is && w.Object == nil {
			c.holdsLocked(of, w.Key, false)
		}
	}
}

// exportLocked takes over a ServiceExport. c.mu must be held.
func (c *Controller) exportLocked(n name, space, since string, there bool) {
	e, had := export{}, false
	if is := c.exports[n][space]; is != nil {
		e, had = *is, true
	}
	if had {
		c.ages[space] = c.ages[space].without(aged{e.since, n})
	}
	e.since = since
	put(c.exports, n, space, &e, there)
	c.queue.Add(item{name: n})
	if there {
		c.ages[space] = c.ages[space].with(aged{since, n})
	} else if had {
		if len(c.ages[space]) >= mostExports { // another one counts now
			c.queue.Add(item{name: c.ages[space][mostExports-1].name})
		}
		if len(c.ages[space]) == 0 {
			delete(c.ages, space)
		}
	}
}

// namespaceLocked has what is exported from a Namespace looked at: a space may have it only now. c.mu must be held.
func (c *Controller) namespaceLocked(namespace string) {
	for n := range c.exports {
		if n.namespace == namespace {
			c.queue.Add(item{name: n})
		}
	}
}

// holdsLocked takes over whether a space has something that the center made for a name. c.mu must be held.
func (c *Controller) holdsLocked(n name, k store.Key, has bool) {
	held := maps.Clone(c.holders[n][k.Space])
	if held == nil {
		held = map[store.Key]bool{}
	}
	if held[k] = true; !has {
		delete(held, k)
	}
	put(c.holders, n, k.Space, held, len(held) > 0)
	c.queue.Add(item{name: n})
}

// put keeps a value of a space under a name, or takes it off.
func put[T any](all map[name]map[string]T, n name, space string, v T, there bool) {
	if there {
		if all[n] == nil {
			all[n] = map[string]T{}
		}
		all[n][space] = v
		return
	}
	if delete(all[n], space); len(all[n]) == 0 {
		delete(all, n)
	}
}

// counts is what an export reads of a Service.
func counts(o map[string]any) any {
	if o == nil {
		return nil
	}
	return []any{fields.String(o, "metadata", "uid"), fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationReach],
		fields.Map(o, "spec"), fields.String(o, "metadata", "deletionTimestamp")}
}
