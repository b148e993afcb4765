package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// API is how a Controller changes Placements.
type API interface {
	spaceapi.Creator
	spaceapi.Patcher
	spaceapi.Deleter
}

// Config is what a Controller needs. All fields are needed.
type Config struct {
	API API
	Log *slog.Logger
}

// statusDelay is how long changes of copies are gathered before the status of a policy is written.
const statusDelay = time.Second

const workers = 4

// Controller keeps the copies of all policies, and their statuses.
type Controller struct {
	cfg   Config
	queue queue.Queue[item]

	mu       sync.Mutex
	policies map[string]*policy
	spaces   map[string]map[string]string // labels, of those that are not being deleted
	copies   map[string]map[string]*kept  // by policy and space
}

// item is a copy to be looked at, or the status of a policy where space is empty.
type item struct{ policy, space string }

// policy is a Placement of root.
type policy struct {
	uid        string
	generation int64
	revision   int64
	spec       map[string]any // never changed
	status     map[string]any // as stored; never changed
	selects    func(labels map[string]string) bool
}

// kept is a copy.
type kept struct {
	uid  string
	mark string // AnnotationPolicy
	// conditions are those of its status, by type.
	conditions map[string]condition
}

type condition struct{ status, reason, message string }

// New returns a Controller. It does nothing before Run.
func New(c Config) *Controller {
	return &Controller{
		cfg:      c,
		queue:    queue.New[item](20*time.Millisecond, 30*time.Second),
		policies: map[string]*policy{},
		spaces:   map[string]map[string]string{},
		copies:   map[string]map[string]*kept{},
	}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	queue.Serve(ctx, c.queue, workers, c.reconcile, func(i item, err error) {
		c.cfg.Log.Debug(
			"a Placement of root is tried again",
			"placement",
			i.policy,
			"space",
			i.space,
			"err",
			err,
		)
	})
	return nil
}

// Reset takes everything that exists.
func (c *Controller) Reset(_ int64, all store.Listing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.policies)
	clear(c.spaces)
	clear(c.copies)
	for w := range all.Objects(concerns) {
		c.takeLocked(w)
	}
	for name := range c.policies {
		c.enqueueLocked(name)
	}
	for name := range c.copies {
		c.enqueueLocked(name)
	}
}

// Apply takes one write.
func (c *Controller) Apply(w store.Write) {
	if !concerns(w.Key) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeLocked(w)
	switch {
	case w.Key.Resource == "spaces":
		for name := range c.policies {
			c.queue.Add(item{name, w.Key.Name})
			c.queue.AddAfter(item{policy: name}, statusDelay)
		}
	case w.Key.Space == v1alpha1.RootSpace:
		c.enqueueLocked(w.Key.Name)
	default:
		name := strings.TrimPrefix(w.Key.Name, v1alpha1.PolicyPrefix)
		c.queue.Add(item{name, w.Key.Space})
		c.queue.AddAfter(item{policy: name}, statusDelay)
	}
}

// Progress means nothing to it.
func (c *Controller) Progress(int64) {}

// concerns reports whether a write is of a Space, of a policy or of a copy.
func concerns(k store.Key) bool {
	if k.Group != v1alpha1.GroupVersion.Group {
		return false
	}
	return k.Space == v1alpha1.RootSpace &&
		(k.Resource == "spaces" || k.Resource == "placements") ||
		k.Resource == "placements" && v1alpha1.IsPolicy(k.Name)
}

// enqueueLocked has every copy that a policy has, or should have, looked at. c.mu must be held.
func (c *Controller) enqueueLocked(name string) {
	for space := range c.spaces {
		c.queue.Add(item{name, space})
	}
	for space := range c.copies[name] {
		c.queue.Add(item{name, space})
	}
	c.queue.AddAfter(item{policy: name}, statusDelay)
}

func (c *Controller) takeLocked(w store.Write) {
	meta := fields.Map(w.Object, "metadata")
	gone := w.Object == nil || fields.String(meta, "deletionTimestamp") != ""
	switch {
	case w.Key.Resource == "spaces":
		if delete(c.spaces, w.Key.Name); !gone {
			c.spaces[w.Key.Name] = texts(fields.Map(meta, "labels"))
		}
	case w.Key.Space == v1alpha1.RootSpace:
		if delete(c.policies, w.Key.Name); gone {
			return
		}
		c.policies[w.Key.Name] = c.readPolicy(w, meta)
	default:
		name := strings.TrimPrefix(w.Key.Name, v1alpha1.PolicyPrefix)
		if w.Object == nil {
			if delete(c.copies[name], w.Key.Space); len(c.copies[name]) == 0 {
				delete(c.copies, name)
			}
			return
		}
		if c.copies[name] == nil {
			c.copies[name] = map[string]*kept{}
		}
		c.copies[name][w.Key.Space] = &kept{uid: fields.String(meta, "uid"),
			mark:       fields.String(meta, "annotations", v1alpha1.AnnotationPolicy),
			conditions: conditionsOf(w.Object)}
	}
}

func (c *Controller) readPolicy(w store.Write, meta map[string]any) *policy {
	generation, _ := fields.Number(meta["generation"])
	p := &policy{
		uid:        fields.String(meta, "uid"),
		generation: generation,
		revision:   w.Revision,
		spec:       fields.Map(w.Object, "spec"),
		status:     fields.Map(w.Object, "status"),
	}
	var spec v1alpha1.PlacementSpec
	b, err := json.Marshal(p.spec)
	if err == nil {
		err = json.Unmarshal(b, &spec)
	}
	if err == nil {
		p.selects, err = spec.SelectsSpaces()
	}
	if err != nil {
		c.cfg.Log.Warn("the spaceSelector of a Placement is not understood, it selects nothing",
			"placement", w.Key.Name, "err", err)
		p.selects = func(map[string]string) bool { return false }
	}
	return p
}

func (p *policy) mark() string { return fmt.Sprintf("%s/%d", p.uid, p.generation) }

// copySpec is the spec of a copy.
func (p *policy) copySpec() map[string]any {
	spec := maps.Clone(p.spec)
	delete(spec, "spaceSelector")
	if spec["precedence"] == nil {
		spec["precedence"] = string(v1alpha1.PrecedenceDefault)
	}
	return spec
}

func copyKey(i item) store.Key {
	return store.Key{Space: i.space, Group: v1alpha1.GroupVersion.Group, Resource: "placements",
		Name: v1alpha1.PolicyPrefix + i.policy}
}

// reconcile brings one copy, or one status, to what it should be.
func (c *Controller) reconcile(ctx context.Context, i item) error {
	if i.space == "" {
		return c.writeStatus(ctx, i.policy)
	}
	c.mu.Lock()
	p, have := c.policies[i.policy], c.copies[i.policy][i.space]
	labels, served := c.spaces[i.space]
	c.mu.Unlock()
	k, version := copyKey(i), v1alpha1.GroupVersion.String()
	wanted := p != nil && served && p.selects(labels)
	switch {
	case !served: // the copy goes with the space
		return nil
	case !wanted && have == nil:
		return nil
	case !wanted:
		err := c.cfg.API.Delete(ctx, k, version, have.uid)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", k, err)
		}
		return nil
	case have == nil:
		_, err := c.cfg.API.Create(
			ctx,
			k,
			version,
			map[string]any{"apiVersion": version, "kind": "Placement",
				"metadata": map[string]any{
					"name":        k.Name,
					"annotations": map[string]any{v1alpha1.AnnotationPolicy: p.mark()},
				},
				"spec": p.copySpec()},
		)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", k, err)
		}
		return nil
	case have.mark == p.mark():
		return nil
	}
	patch, err := json.Marshal([]any{
		map[string]any{"op": "replace", "path": "/spec", "value": p.copySpec()},
		map[string]any{"op": "add", "path": "/metadata/annotations", "value": map[string]any{
			v1alpha1.AnnotationPolicy: p.mark()}},
	})
	if err != nil {
		return fmt.Errorf("encode %s: %w", k, err)
	}
	if _, err := c.cfg.API.Patch(ctx, k, version, "", patch); err != nil {
		return fmt.Errorf("change %s: %w", k, err)
	}
	return nil
}

func texts(m map[string]any) map[string]string {
	out := make(map[string]string, len(m))
	for name, v := range m {
		out[name], _ = v.(string)
	}
	return out
}
