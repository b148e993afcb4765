package collect

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

const (
	// gather is how long reports gather before they are folded, and pause the least time between two
	// writes of one object.
	gather, pause = time.Second, 2 * time.Second
	// share is how many times as long as folding took the next one waits.
	share = 4
	// outageAge is how old an outage is when it counts.
	outageAge = 20 * time.Second
	// workers is how many collectors are worked on at a time.
	workers = 2
	// slice is how long reports are evaluated for a collector at a time. Then others have their turn.
	slice = time.Second
	// maxContributions is how many reports a collector keeps, and maxOfSpace how many all of a space do, of which
	// maxCollectors are folded.
	maxContributions = 200_000
	maxOfSpace       = 500_000
	maxCollectors    = 100
	// What could not be written comes back after these.
	firstDelay, longestDelay = 50 * time.Millisecond, 30 * time.Second
)

// Config is what collect needs. All fields are needed.
type Config struct {
	API      API
	Reports  Reports
	Delivery Delivery
	Outages  Outages
	Log      *slog.Logger
}

// API is what collect does to the objects of spaces.
type API interface {
	spaceapi.Getter
	spaceapi.Creator
	spaceapi.Patcher
	spaceapi.Deleter
}

// Reports has what targets reported last.
type Reports interface {
	// Report reads the last report of a key by a target. It returns false for what was never
	// reported, and for tombstones.
	Report(target string, key store.Key) (store.Entry, bool, error)
	// Reported lists the keys of all reports of a target.
	Reported(target string) ([]store.Key, error)
}

// Delivery knows where objects are, and what is sent of them.
type Delivery interface {
	// Located returns where an object is. It returns false for an object that is on no target.
	Located(key store.Key) (placement.Located, bool)
	// Owner is Located for an object that an owner reference names by its kind.
	Owner(space, namespace, group, kind, name string) (placement.Located, bool)
	// Desired returns the body that targets are sent of an object, as it is now.
	Desired(ctx context.Context, key store.Key) ([]byte, error)
	// DecidedBy returns the Placement that decides about an object, empty where none does.
	DecidedBy(key store.Key) string
}

// Outages knows whose reports are old.
type Outages interface {
	// Outage returns why the reports of a target are old. It returns false while they are current.
	Outage(target string) (placement.Outage, bool)
}

// Collect folds reports. Reset, Apply and Progress are called by one goroutine at a time, everything
// else may be called at any time.
type Collect struct {
	cfg   Config
	queue queue.Queue[store.Key]

	mu         sync.Mutex
	collectors map[store.Key]*collector
	bySpace    map[string]map[store.Key]*collector // those that do not wait
	kept       map[string]int                      // the contributions that a space has
	named      map[store.Key]naming                // Placements that name collectors
	targets    map[string]map[string]any           // what expressions see of them
	combined   map[store.Key]combined              // CombinedStatuses as stored
	turns      map[store.Key]*turn                 // of collectors and Placements
	spaces     map[string]time.Time                // when a space has its next turn; zero while it has one
}

// source is one report.
type source struct {
	target string
	key    store.Key
}

// collector is one StatusCollector.
type collector struct {
	key        store.Key
	uid        string
	generation int64
	revision   int64
	status     v1alpha1.StatusCollectorStatus
	program    *program // nil while the spec is not understood
	problem    string
	waits      *v1alpha1.StatusCollectorSpec // while the space has maxCollectors others
	listed     bool                          // all reports that there are have been looked at
	dirty      map[source]struct{}

	mu            sync.RWMutex // of the following; it is taken after that of Collect
	full          bool         // there are more reports than are kept
	contributions map[source]*folded
}

// folded is a contribution, with the placed object that it is of.
type folded struct {
	*contribution
	owner store.Key
}

// naming is a Placement that names collectors.
type naming struct {
	uid        string
	collectors []string
}

// combined is a CombinedStatus as it is stored.
type combined struct {
	uid      string
	revision int64
	object   v1alpha1.CombinedStatus
}

// turn is when something is worked on next.
type turn struct {
	waiting bool
	next    time.Time
}

// New returns a Collect that does nothing before Run.
func New(cfg Config) *Collect {
	return &Collect{
		cfg:        cfg,
		queue:      queue.NewFair(firstDelay, longestDelay, store.SpaceOf),
		collectors: map[store.Key]*collector{},
		bySpace:    map[string]map[store.Key]*collector{},
		kept:       map[string]int{},
		named:      map[store.Key]naming{},
		targets:    map[string]map[string]any{},
		combined:   map[store.Key]combined{},
		turns:      map[store.Key]*turn{},
		spaces:     map[string]time.Time{},
	}
}

// Run folds until the context ends. It may be called once.
func (c *Collect) Run(ctx context.Context) error {
	queue.Serve(ctx, c.queue, workers, c.work, func(k store.Key, err error) {
		c.cfg.Log.Debug("reports are folded again later", "of", k.String(), "err", err)
	})
	return nil
}

// Reported tells that a target has reported something new about some keys. It does not wait.
func (c *Collect) Reported(target string, keys []store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		for _, col := range c.bySpace[k.Space] {
			if col.concerns(k) {
				c.markLocked(col, source{target, k})
			}
		}
	}
}

// markLocked has a report evaluated.
func (c *Collect) markLocked(col *collector, s source) {
	if col.dirty == nil {
		col.dirty = map[source]struct{}{}
	}
	col.dirty[s] = struct{}{}
	c.wakeLocked(col.key, gather)
}

// concerns reports whether a key is in the scope of a collector, as far as the key tells.
func (col *collector) concerns(k store.Key) bool {
	if col.program == nil {
		return false
	}
	s := col.program.spec.Scope
	return k.Resource == s.Resource && k.Group == s.APIGroup &&
		(len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, k.Namespace))
}

// Changed tells that the objects or the targets of a Placement may be others. It does not wait.
func (c *Collect) Changed(placement store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.named[placement]; ok {
		c.wakeLocked(placement, gather)
	}
	for k := range c.bySpace[placement.Space] {
		c.wakeLocked(k, gather)
	}
}

// Outage tells that the reports of a target have begun to be old, or are current again. It does not
// wait.
func (c *Collect) Outage(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.collectors {
		c.wakeLocked(k, gather)
	}
}

// wakeLocked has a collector, or a Placement, worked on after a time.
func (c *Collect) wakeLocked(k store.Key, after time.Duration) {
	t := c.turns[k]
	if t == nil {
		t = &turn{}
		c.turns[k] = t
	}
	if !t.waiting {
		t.waiting = true
		c.queue.AddAfter(k, max(after, time.Until(t.next)))
	}
}

// Reset takes a snapshot of everything at a revision.
func (c *Collect) Reset(_ int64, all store.Listing) {
	seen := map[store.Key]struct{}{}
	for w := range all.Objects(isOurs) {
		seen[w.Key] = struct{}{}
		c.Apply(w)
	}
	c.mu.Lock()
	var gone []store.Key
	for _, keys := range []func(func(store.Key)){
		func(f func(store.Key)) {
			for k := range c.collectors {
				f(k)
			}
		},
		func(f func(store.Key)) {
			for k := range c.named {
				f(k)
			}
		},
		func(f func(store.Key)) {
			for k := range c.combined {
				f(k)
			}
		},
		func(f func(store.Key)) {
			for t := range c.targets {
				f(targetKey(t))
			}
		},
	} {
		keys(func(k store.Key) {
			if _, ok := seen[k]; !ok {
				gone = append(gone, k)
			}
		})
	}
	c.mu.Unlock()
	for _, k := range gone {
		c.Apply(store.Write{Key: k})
	}
}

// Progress is the end of a group of writes. There is nothing to do.
func (c *Collect) Progress(int64) {}

func targetKey(name string) store.Key {
	return store.Key{Space: v1alpha1.RootSpace, Group: v1alpha1.GroupVersion.Group, Resource: "synctargets", Name: name}
}

// isOurs reports whether a write is of what collect looks at.
func isOurs(k store.Key) bool {
	if k.Group != v1alpha1.GroupVersion.Group {
		return false
	}
	switch k.Resource {
	case "synctargets":
		return k.Space == v1alpha1.RootSpace
	case "placements", "statuscollectors", "combinedstatuses":
		return k.Space != v1alpha1.RootSpace
	}
	return false
}

// Apply takes one write, in the order of revisions.
func (c *Collect) Apply(w store.Write) {
	if !isOurs(w.Key) {
		return
	}
	switch w.Key.Resource {
	case "synctargets":
		c.target(w)
	case "placements":
		c.placement(w)
	case "statuscollectors":
		c.collector(w)
	case "combinedstatuses":
		c.stored(w)
	}
}

func (c *Collect) decode(w store.Write, into any) bool {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.Object, into)
	if err != nil {
		c.cfg.Log.Error("object of our own is not understood, the one before stays", "key", w.Key.String(), "err", err)
	}
	return err == nil
}
