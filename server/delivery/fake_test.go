package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// center is a store with an API: every write gets the next revision and reaches the catalog in
// order.
type center struct {
	t    *testing.T
	d    *Delivery
	stop func() // ends the decision writer of d

	mu       sync.Mutex
	revision int64
	eras     store.Eras
	follower bool // users write through a replica that does not lead
	objects  map[store.Key]map[string]any
	patches  map[store.Key]int
	writes   int // of records
	fail     func(store.Key) error
	said     map[string]placement.Condition
	events   []placement.Event
	refused  map[store.Key]store.ReportError

	reports  sync.Mutex // of progress: it is asked while a snapshot is read
	progress map[string]map[store.Key]placement.Progress
	tells    map[store.Key]map[string]bool // what Config.Placement was called with

	// ready, if there is one, is called when a restart has read its snapshot and before anything is decided, and asked
	// once when a decision asks for what a target reports.
	ready func()
	asked atomic.Pointer[func()]

	upsyncs map[store.Key]int // how often Config.Upsync was called with what, under reports

	webhook hookAnswers

	copies copies

	lease atomic.Pointer[placement.Lease] // of every target; nil is none

	// confirm is what a target does that is asked to confirm; by default it does at once. It is
	// called without a lock.
	confirm func(target string, revision int64)
}

func newCenter(t *testing.T) *center {
	c := &center{t: t, objects: map[store.Key]map[string]any{}, patches: map[store.Key]int{}, revision: 100,
		progress: map[string]map[store.Key]placement.Progress{}, said: map[string]placement.Condition{},
		refused: map[store.Key]store.ReportError{}}
	c.confirm = func(target string, revision int64) { c.d.Confirmed(target, revision) }
	c.d = c.newDelivery()
	return c
}

func (c *center) newDelivery() *Delivery {
	c.eras = append(c.eras[:len(c.eras):len(c.eras)], store.EraStart{Era: store.NewEra(), From: c.revision})
	return New(
		Config{
			Config: desired.Config{
				Incarnation: store.Incarnation{1},
				Eras:        c.eras,
				Progress:    c.reported,
				Event:       c.event,
				Refuse:      c.unsent,
				Placement:   c.tell,
				Upsync:      c.upsyncMoved,
				Log:         slog.New(slog.NewTextHandler(io.Discard, nil)),
			},
			API:       c,
			Records:   c,
			Condition: c.condition,
			Webhook:   c.webhook.call,
			Volumes:   &c.copies,
			Leases:    c,
			Confirm:   func(target string, revision int64) { c.confirm(target, revision) },
		},
	)
}

// Lease implements Leases.
func (c *center) Lease(string, time.Duration) placement.Lease {
	if l := c.lease.Load(); l != nil {
		return *l
	}
	return placement.Lease{}
}

// run starts the decision writer after a first snapshot; it ends with the test, or when the center
// is restarted.
func (c *center) run() {
	c.reset()
	if c.ready != nil {
		c.ready()
	}
	c.ends(c.d)
	c.stop = spaceapitest.Run(c.t, c.d.Run)
}

// restart ends the catalog and replaces it by a new one that knows only what is stored.
func (c *center) restart() {
	c.stop()
	c.mu.Lock()
	c.d = c.newDelivery()
	c.mu.Unlock()
	c.run()
}

// reset gives the catalog a snapshot. No write comes between: the follower of a real store hands on
// both, in one order.
func (c *center) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.d.Reset(c.revision, storetest.Listing(func(yield func(store.Write) bool) {
		for k, o := range c.objects {
			if !yield(c.write(k, o)) {
				return
			}
		}
	}))
}

func (c *center) write(k store.Key, o map[string]any) store.Write {
	w := store.Write{Key: k, Revision: c.revision, Object: o}
	if o != nil {
		w.APIVersion, w.Kind = o["apiVersion"].(string), o["kind"].(string)
		var rev int64
		fmt.Sscan(o["metadata"].(map[string]any)["resourceVersion"].(string), &rev)
		w.Revision = rev
	}
	return w
}

// put stores an object as it is given, with admission's annotation when it is a user's write.
func (c *center) put(k store.Key, o map[string]any) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commit(k, c.admit(k, o))
}

func (c *center) commit(k store.Key, o map[string]any) {
	c.revision++
	if o == nil {
		delete(c.objects, k)
		c.d.Apply(store.Write{Key: k, Revision: c.revision})
		return
	}
	o = spaceapitest.Clone(o)
	meta := o["metadata"].(map[string]any)
	meta["resourceVersion"] = fmt.Sprint(c.revision)
	if meta["uid"] == nil {
		meta["uid"] = "uid-" + k.String()
	}
	c.objects[k] = o
	c.d.Apply(c.write(k, o))
}

func (c *center) Get(_ context.Context, k store.Key, _ string) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.objects[k]; ok {
		return spaceapitest.Clone(o), nil
	}
	return nil, spaceapitest.NotFound(k)
}

func (c *center) Patch(_ context.Context, k store.Key, _, sub string, patch []byte) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		if err := c.fail(k); err != nil {
			return nil, err
		}
	}
	o, ok := c.objects[k]
	if !ok {
		return nil, spaceapitest.NotFound(k)
	}
	var p map[string]any
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	if meta, ok := p["metadata"].(map[string]any); ok {
		if rv, ok := meta["resourceVersion"]; ok && rv != o["metadata"].(map[string]any)["resourceVersion"] {
			return nil, spaceapitest.Conflict(k)
		}
	}
	c.patches[k]++
	o = spaceapitest.Clone(o)
	spaceapitest.Merge(o, p)
	c.commit(k, o)
	return spaceapitest.Clone(c.objects[k]), nil
}

func (c *center) reported(target string, k store.Key) (placement.Progress, bool) {
	if f := c.asked.Swap(nil); f != nil {
		(*f)()
	}
	c.reports.Lock()
	defer c.reports.Unlock()
	p, ok := c.progress[target][k]
	return p, ok
}

func (c *center) condition(k store.Key, n placement.Condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said[k.String()+" "+n.Type] = n
}

// unsent is called while a write is applied, which has the lock already, or while a body is
// rendered again.
func (c *center) unsent(k store.Key, why *store.ReportError) {
	c.reports.Lock()
	defer c.reports.Unlock()
	if delete(c.refused, k); why != nil {
		c.refused[k] = *why
	}
}

// tell is called with and without the lock, as unsent is.
func (c *center) tell(k store.Key, target string) {
	c.reports.Lock()
	defer c.reports.Unlock()
	if c.tells == nil {
		c.tells = map[store.Key]map[string]bool{}
	}
	if c.tells[k] == nil {
		c.tells[k] = map[string]bool{}
	}
	c.tells[k][target] = true
}

func (c *center) told(k store.Key) map[string]bool {
	c.reports.Lock()
	defer c.reports.Unlock()
	return maps.Clone(c.tells[k])
}

// event is called with and without the lock, as unsent is.
func (c *center) event(e placement.Event) {
	c.reports.Lock()
	defer c.reports.Unlock()
	c.events = append(c.events, e)
}

// report makes a target say that it has applied an object as its feed has it, and how available it
// is.
func (c *center) report(target string, k store.Key, change func(*placement.Progress)) {
	c.t.Helper()
	if !c.mayReport(target, k, change) {
		c.t.Fatalf("%s has no %s to report", target, k)
	}
}

// mayReport is report where the target may have lost the object by now. It tells whether it has it.
func (c *center) mayReport(target string, k store.Key, change func(*placement.Progress)) bool {
	e, ok := c.d.Feed(target).Get(k)
	if !ok || e.Tombstone {
		return false
	}
	c.mu.Lock()
	p := placement.Progress{
		UID:       c.objects[k]["metadata"].(map[string]any)["uid"].(string),
		Applied:   e.Hash,
		Ready:     true,
		Available: 3,
	}
	c.mu.Unlock()
	if change != nil {
		change(&p)
	}
	c.reports.Lock()
	if c.progress[target] == nil {
		c.progress[target] = map[store.Key]placement.Progress{}
	}
	c.progress[target][k] = p
	c.reports.Unlock()
	c.d.Reported(target, []store.Key{k})
	return true
}

func (c *center) annotation(k store.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fields.Clone(c.objects[k], "metadata", "annotations", v1alpha1.AnnotationTargets)
}

func (c *center) eventually(what string, ok func() bool) {
	c.t.Helper()
	spaceapitest.Eventually(c.t, what, ok)
}

func (c *center) has(target string, k store.Key) bool {
	f := c.d.Feed(target)
	if f == nil {
		return false
	}
	e, ok := f.Get(k)
	return ok && !e.Tombstone
}

// label changes labels of a stored object as a user would.
func (c *center) label(k store.Key, labels map[string]any) {
	c.change(k, map[string]any{"labels": labels})
}

// change changes the metadata of a stored object, also what admission would have set otherwise.
func (c *center) change(k store.Key, metadata map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := spaceapitest.Clone(c.objects[k])
	spaceapitest.Merge(o, map[string]any{"metadata": metadata})
	c.commit(k, o)
}

// makers of the objects that the tests use

func obj(apiVersion, kind string, meta map[string]any, fields ...any) map[string]any {
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	for i := 0; i < len(fields); i += 2 {
		o[fields[i].(string)] = fields[i+1]
	}
	return o
}

func meta(name string) map[string]any { return map[string]any{"name": name} }

func rootKey(resource, name string) store.Key {
	return store.Key{Space: "root", Group: "skerry.dev", Resource: resource, Name: name}
}

func (c *center) target(name string, labels map[string]any) {
	m := meta(name)
	m["labels"] = labels
	c.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", map[string]any{
		"conditions": []any{map[string]any{"type": "Connected", "status": "True"}}}))
}

func (c *center) space(name string) {
	c.put(rootKey("spaces", name), obj("skerry.dev/v1alpha1", "Space", meta(name), "spec",
		map[string]any{"defaultTargets": map[string]any{"count": 1}}))
}

func nsKey(name string) store.Key { return catalog.NamespaceKey("shop", name) }

func (c *center) namespace(name string, labels map[string]any) {
	m := meta(name)
	m["labels"] = labels
	c.put(nsKey(name), obj("v1", "Namespace", m))
}

func key(group, resource, name string) store.Key {
	return store.Key{Space: "shop", Group: group, Resource: resource, Namespace: "app", Name: name}
}

func (c *center) configMap(name string) store.Key {
	k := key("", "configmaps", name)
	m := meta(name)
	m["namespace"] = "app"
	c.put(k, obj("v1", "ConfigMap", m, "data", map[string]any{"k": "v"}))
	return k
}

func (c *center) deployment(name string, labels map[string]any, configMap string) store.Key {
	k := key("apps", "deployments", name)
	m := meta(name)
	m["namespace"], m["labels"], m["generation"] = "app", labels, 1
	pod := map[string]any{}
	if configMap != "" {
		pod["volumes"] = []any{map[string]any{"name": "c", "configMap": map[string]any{"name": configMap}}}
	}
	c.put(
		k,
		obj("apps/v1", "Deployment", m, "spec", map[string]any{"replicas": 3, "template": map[string]any{"spec": pod}}),
	)
	return k
}
