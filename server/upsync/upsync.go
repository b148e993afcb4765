package upsync

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/upsync"
)

const (
	// gather is how long changes gather before the status of an Upsync is made.
	gather = 300 * time.Millisecond
	// lookAgain is when a mirror is looked at again whose target's reports are not complete.
	lookAgain = 2 * time.Second
	// askAgain is when the space is asked again that did not take an object: its definition, its Namespace
	// or room may be there meanwhile.
	askAgain = 30 * time.Second
	workers  = 4
	// What could not be written comes back after these.
	firstDelay, longestDelay = 50 * time.Millisecond, 30 * time.Second
)

// Config is what upsync needs. All fields are needed.
type Config struct {
	API      API
	Reports  Reports
	Delivery Delivery
	// Room is why a space may not have one more object, nil where it may.
	Room func(k store.Key) error
	// Event tells people in the space of an object.
	Event func(placement.Event)
	Log   *slog.Logger
}

// API is what upsync does to the objects of spaces.
type API interface {
	spaceapi.LiveGetter
	spaceapi.Creator
	spaceapi.Patcher
	spaceapi.Deleter
}

// Reports has what targets reported last.
type Reports interface {
	// Report reads the last report of a key by a target. It returns false for what was never
	// reported, and for tombstones.
	Report(target string, key store.Key) (store.Entry, bool, error)
	// Complete reports whether all that a target reports is stored.
	Complete(target string) bool
}

// Delivery knows where objects are.
type Delivery interface {
	// Located returns where an object is. It returns false for an object that is on no target.
	Located(key store.Key) (placement.Located, bool)
}

// Upsync writes Upsyncs and mirrors. Reset, Apply and Progress are called by one goroutine at a time,
// everything else may be called at any time.
type Upsync struct {
	cfg   Config
	queue queue.Queue[store.Key]

	mu      sync.Mutex
	wishes  map[store.Key]*wish     // by the key of the Upsync
	records map[store.Key]*record   // Upsyncs as stored
	names   map[store.Key]*name     // by the key that is reported
	mirrors map[store.Key]mirror    // objects in spaces
	waiting map[store.Key]store.Key // objects of spaces that are in the way -> the key that is reported
}

// wish is a Placement with spec.upsync.
type wish struct {
	uid        string
	generation int64
	revision   int64
	objects    []v1alpha1.UpsyncClause
	conditions []metav1.Condition
}

// record is an Upsync as it is stored.
type record struct {
	uid        string
	generation int64
	revision   int64
	fromParent bool
	of         string // the UID of its Placement
	object     v1alpha1.Upsync
	rule       *upsync.Rule // nil while it is not understood
	told       string       // the last Event
}

// name is a key that targets report.
type name struct {
	targets  map[string]int // with how often they reported, so that none is forgotten while it reports again
	mirror   store.Key      // the Upsync whose object the space has, zero for none
	problems []problem
}

// problem is why an object that a target reports does not come.
type problem struct {
	rule store.Key
	left upsync.Left
}

// mirror is an object that came.
type mirror struct {
	target, uid, hash, of, apiVersion string
}

// New returns an Upsync that does nothing before Run.
func New(cfg Config) *Upsync {
	return &Upsync{
		cfg: cfg, queue: queue.NewFair(firstDelay, longestDelay, store.SpaceOf),
		wishes: map[store.Key]*wish{}, records: map[store.Key]*record{}, names: map[store.Key]*name{},
		mirrors: map[store.Key]mirror{}, waiting: map[store.Key]store.Key{},
	}
}

// Run works until the context ends. It may be called once.
func (u *Upsync) Run(ctx context.Context) error {
	queue.Serve(ctx, u.queue, workers, u.work, func(k store.Key, err error) {
		u.cfg.Log.Debug("what comes from targets is looked at again later", "key", k.String(), "err", err)
	})
	return nil
}

func (u *Upsync) work(ctx context.Context, k store.Key) error {
	if _, is := upsync.Object(k); is {
		return u.bring(ctx, k)
	}
	return u.rule(ctx, k)
}

// Reported tells that a target has reported something new about some keys. It does not wait.
func (u *Upsync) Reported(target string, keys []store.Key) {
	for _, k := range keys {
		if _, is := upsync.Object(k); is {
			u.mu.Lock()
			u.nameLocked(k).targets[target]++
			u.mu.Unlock()
			u.queue.Add(k)
		} else if k.IsUpsync() {
			u.queue.AddAfter(k, gather)
		}
	}
}

// nameLocked returns what is known of a reported key.
func (u *Upsync) nameLocked(k store.Key) *name {
	n := u.names[k]
	if n == nil {
		n = &name{targets: map[string]int{}}
		u.names[k] = n
	}
	return n
}

// Moved tells that the targets of an Upsync, or of a Namespace of its space, are others. It does not
// wait.
func (u *Upsync) Moved(rule store.Key) { u.wake(rule) }

// wake looks again at an Upsync and at all that may come by it.
func (u *Upsync) wake(rule store.Key) {
	u.queue.AddAfter(rule, gather)
	u.mu.Lock()
	defer u.mu.Unlock()
	for k := range u.names {
		if k.Space == rule.Space {
			u.queue.Add(k)
		}
	}
}

// Reset takes a snapshot of everything at a revision.
func (u *Upsync) Reset(_ int64, all store.Listing) {
	seen := map[store.Key]struct{}{}
	for w := range all.Objects(nil) {
		if u.observe(w) {
			seen[w.Key] = struct{}{}
		}
	}
	u.mu.Lock()
	var gone []store.Key
	for k := range u.wishes {
		p := placementKey(k)
		if _, ok := seen[p]; !ok {
			gone = append(gone, p)
		}
	}
	for k := range u.records {
		if _, ok := seen[k]; !ok {
			gone = append(gone, k)
		}
	}
	for k := range u.mirrors {
		if _, ok := seen[k]; !ok {
			gone = append(gone, k)
		}
	}
	u.mu.Unlock()
	for _, k := range gone {
		u.Apply(store.Write{Key: k})
	}
}

// Progress is the end of a group of writes. There is nothing to do.
func (u *Upsync) Progress(int64) {}

// Apply takes one write, in the order of revisions.
func (u *Upsync) Apply(w store.Write) { u.observe(w) }

func placementKey(rule store.Key) store.Key {
	rule.Resource = "placements"
	return rule
}

// reported is a report of an object.
type reported struct {
	target string
	order  int // of its target
	rule   store.Key
	object map[string]any
}

// encode is for what was decoded from JSON.
func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}
