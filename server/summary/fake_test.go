package summary

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// center is an API over a map whose writes come back as a store's do, with inboxes and decisions
// set by hand.
type center struct {
	t    *testing.T
	s    *Summary
	stop func()

	mu       sync.Mutex
	revision int64
	objects  map[store.Key]map[string]any
	creates  int     // that were asked for
	writes   int     // but for Events, which come when they come
	fail     []error // of the next writes
	reports  map[string]map[store.Key]store.Entry
	placed   map[store.Key]placement.Located
	desired  map[store.Key][]byte
	outages  map[string]placement.Outage
	hashes   map[store.Key]store.Hash // what is placed
	needs    map[store.Key][]store.Key
}

func newCenter(t *testing.T) *center {
	c := &center{t: t, objects: map[store.Key]map[string]any{}, reports: map[string]map[store.Key]store.Entry{},
		placed: map[store.Key]placement.Located{}, desired: map[store.Key][]byte{},
		outages: map[string]placement.Outage{}, hashes: map[store.Key]store.Hash{}}
	c.s = New(
		Config{API: c, Reports: c, Delivery: c, References: c, Outages: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))},
	)
	c.stop = spaceapitest.Run(t, c.s.Run)
	return c
}

func (c *center) Report(target string, k store.Key) (store.Entry, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.reports[target][k]
	return e, ok, nil
}

func (c *center) Desired(_ context.Context, k store.Key) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.desired[k], nil
}

func (c *center) Located(k store.Key) (placement.Located, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.placed[k]
	return l, ok
}

func (c *center) Owner(space, namespace, group, kind, name string) (placement.Located, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, l := range c.placed {
		if k.Space == space && k.Namespace == namespace && k.Group == group && l.Kind == kind && k.Name == name {
			return l, true
		}
	}
	return placement.Located{}, false
}

func (c *center) Outage(target string) (placement.Outage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.outages[target]
	return o, ok
}

func (c *center) Needs(k store.Key) []store.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.needs[k]
}

func (c *center) NeededBy(k store.Key) (out []store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w, needs := range c.needs {
		if slices.Contains(needs, k) {
			out = append(out, w)
		}
	}
	return out
}

func (c *center) Placed(target string) (entries []store.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, l := range c.placed {
		if slices.Contains(l.Targets, target) {
			entries = append(entries, store.Entry{Key: k, Hash: c.hashes[k]})
		}
	}
	return entries
}

// falls has a target fall silent, or come back.
func (c *center) falls(target string, silent bool) {
	c.mu.Lock()
	delete(c.outages, target)
	if silent {
		c.outages[target] = placement.Outage{Since: time.Now().Truncate(time.Second), Reason: placement.OutageSilent}
	}
	c.mu.Unlock()
	c.s.Outage(target)
}

// place stores an object that is on some targets.
func (c *center) place(k store.Key, apiVersion, kind string, targets ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.objects[k]; !ok {
		c.commit(
			k,
			map[string]any{
				"apiVersion": apiVersion,
				"kind":       kind,
				"metadata":   map[string]any{"name": k.Name, "uid": "uid-" + k.Name},
			},
		)
	}
	c.placed[k] = placement.Located{
		Key:        k,
		APIVersion: apiVersion,
		Kind:       kind,
		UID:        "uid-" + k.Name,
		Generation: 1,
		Targets:    targets,
	}
}

// says makes a target report; a nil report is a tombstone.
func (c *center) says(target string, k store.Key, r *store.Report) {
	c.t.Helper()
	e := store.Entry{Key: k, Tombstone: r == nil}
	if r != nil {
		b, err := json.Marshal(r)
		if err != nil {
			c.t.Fatal(err)
		}
		e.Body = b
	}
	c.mu.Lock()
	if c.reports[target] == nil {
		c.reports[target] = map[store.Key]store.Entry{}
	}
	c.reports[target][k] = e
	c.mu.Unlock()
	c.s.Reported(target, []store.Key{k})
}

func (c *center) commit(k store.Key, o map[string]any) {
	c.revision++
	if o == nil {
		delete(c.objects, k)
		c.s.Apply(store.Write{Key: k, Revision: c.revision})
		return
	}
	o["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(c.revision)
	c.objects[k] = o
	seen := spaceapitest.Clone(o)
	delete(seen["metadata"].(map[string]any), "managedFields") // as a store.Write has it
	c.s.Apply(
		store.Write{
			Key:        k,
			APIVersion: o["apiVersion"].(string),
			Kind:       o["kind"].(string),
			Revision:   c.revision,
			Object:     seen,
		},
	)
}

func (c *center) failing() error {
	if len(c.fail) == 0 {
		return nil
	}
	err := c.fail[0]
	c.fail = c.fail[1:]
	return err
}

func (c *center) Get(_ context.Context, k store.Key, _ string) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.objects[k]; ok {
		return spaceapitest.Clone(o), nil
	}
	return nil, spaceapitest.NotFound(k)
}

func (c *center) Create(_ context.Context, k store.Key, _ string, o map[string]any) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failing(); err != nil {
		return nil, err
	}
	c.creates++
	if _, ok := c.objects[k]; ok {
		return nil, spaceapitest.AlreadyExists(k)
	}
	if k.Resource != "events" {
		c.writes++
	}
	o = spaceapitest.Clone(o)
	o["metadata"].(map[string]any)["uid"] = fmt.Sprint("made-", c.revision)
	c.commit(k, o)
	return spaceapitest.Clone(o), nil
}

func (c *center) Patch(_ context.Context, k store.Key, _, sub string, patch []byte) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failing(); err != nil {
		return nil, err
	}
	o, ok := c.objects[k]
	if !ok {
		return nil, spaceapitest.NotFound(k)
	}
	o = spaceapitest.Clone(o)
	if patch[0] == '[' {
		var ops []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(patch, &ops); err != nil {
			return nil, err
		}
		for _, op := range ops {
			in, field := parentOf(o, op.Path)
			if in == nil || op.Op == "test" && in[field] != op.Value {
				return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "x"}, k.Name, nil)
			}
			if op.Op == "add" && field == "resourceVersion" {
				if in[field] != op.Value {
					return nil, spaceapitest.Conflict(k)
				}
				continue
			}
			with := strings.HasPrefix(op.Path, "/metadata/annotations/") // which writes of a status may bring
			if _, there := in[field]; op.Op == "remove" {
				if !there {
					return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "x"}, k.Name, nil)
				}
				delete(in, field)
				continue
			}
			if op.Op == "add" && (with || (sub == "status") == (field == "status")) || isMirrored(k) {
				in[field] = op.Value
			}
		}
	} else {
		var fields map[string]any
		if err := json.Unmarshal(patch, &fields); err != nil {
			return nil, err
		}
		spaceapitest.Merge(o, fields)
	}
	c.writes++
	c.commit(k, o)
	return spaceapitest.Clone(o), nil
}

// parentOf is what a JSON pointer's last part is a field of, nil when that is not there.
func parentOf(o map[string]any, pointer string) (map[string]any, string) {
	path := strings.Split(pointer, "/")[1:]
	var at any = o
	for _, part := range path[:len(path)-1] {
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, _ := strconv.Atoi(part)
			at = v[i]
		}
	}
	in, _ := at.(map[string]any)
	return in, strings.ReplaceAll(path[len(path)-1], "~1", "/")
}

func (c *center) Delete(_ context.Context, k store.Key, _, uid string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects[k]
	if !ok {
		return spaceapitest.NotFound(k)
	}
	if uid != "" && o["metadata"].(map[string]any)["uid"] != uid {
		return spaceapitest.Conflict(k)
	}
	if meta := fields.Map(o, "metadata"); len(fields.List(meta, "finalizers")) > 0 {
		if meta["deletionTimestamp"] == nil || graceOf(meta) > 0 {
			o = spaceapitest.Clone(o)
			fields.Map(o, "metadata")["deletionTimestamp"] = "now"
			fields.Map(o, "metadata")["deletionGracePeriodSeconds"] = 0.0
			c.writes++
			c.commit(k, o)
		}
		return nil
	}
	c.writes++
	c.commit(k, nil)
	return nil
}

func (c *center) Terminate(_ context.Context, k store.Key, _, uid string, grace int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects[k]
	if !ok {
		return spaceapitest.NotFound(k)
	}
	o = spaceapitest.Clone(o)
	meta := o["metadata"].(map[string]any)
	if meta["uid"] != uid {
		return spaceapitest.Conflict(k)
	}
	meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = "2026-01-01T00:00:00Z", float64(grace)
	c.writes++
	c.commit(k, o)
	return nil
}

func (c *center) status(k store.Key) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, _ := c.objects[k]["status"].(map[string]any)
	return status
}

func (c *center) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

func (c *center) exists(k store.Key) bool {
	_, err := c.Get(context.Background(), k, "")
	return err == nil
}

func (c *center) eventually(what string, ok func() bool) {
	c.t.Helper()
	spaceapitest.Eventually(c.t, what, ok)
}

func key(group, resource, name string) store.Key {
	return store.Key{Space: "shop", Group: group, Resource: resource, Namespace: "app", Name: name}
}

func status(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}
