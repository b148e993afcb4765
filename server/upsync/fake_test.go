package upsync

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/upsync"
)

// center is an API over a map whose writes come back as a store's do, with reports and decisions set
// by hand.
type center struct {
	*spaceapitest.Center
	t *testing.T
	u *Upsync
	// stop ends the controller, as a crash does.
	stop func()

	// Mu is held for these, too.
	reports map[string]map[store.Key]store.Report
	partial map[string]bool // targets whose reports are not complete
	targets map[store.Key][]string
	full    error
	refuses error // of new Secrets
	events  []placement.Event
}

func newCenter(t *testing.T) *center {
	return &center{Center: spaceapitest.NewCenter(), t: t, reports: map[string]map[store.Key]store.Report{},
		partial: map[string]bool{}, targets: map[store.Key][]string{}}
}

// start begins with what is stored, and tells of all reports, as a center does.
func (c *center) start() {
	c.u = New(Config{API: c, Reports: c, Delivery: c, Room: func(store.Key) error {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		return c.full
	}, Event: func(e placement.Event) {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.events = append(c.events, e)
	}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	c.Mu.Lock()
	c.u.Reset(1, c.Listing())
	c.Apply = c.u.Apply
	for target, reports := range c.reports {
		c.u.Reported(target, slices.Collect(maps.Keys(reports)))
	}
	c.Mu.Unlock()
	c.stop = spaceapitest.Run(c.t, c.u.Run)
}

// Create refuses Secrets for as long as it is told to.
func (c *center) Create(ctx context.Context, k store.Key, apiVersion string, o map[string]any) (map[string]any, error) {
	c.Mu.Lock()
	err := c.refuses
	c.Mu.Unlock()
	if err != nil && k.Resource == "secrets" {
		return nil, err
	}
	return c.Center.Create(ctx, k, apiVersion, o)
}

func (c *center) Report(target string, k store.Key) (store.Entry, bool, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	r, ok := c.reports[target][k]
	body, err := json.Marshal(r)
	return store.Entry{Key: k, Body: body}, ok, err
}

func (c *center) Complete(target string) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return !c.partial[target]
}

func (c *center) Located(k store.Key) (placement.Located, bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	at := placement.Located{Key: k, Targets: slices.Clone(c.targets[k])}
	return at, len(at.Targets) > 0 && (!k.IsUpsync() || c.Objects[k] != nil)
}

// says has a target report something, nil nothing any more.
func (c *center) says(target string, k store.Key, r *store.Report) {
	c.Mu.Lock()
	if c.reports[target] == nil {
		c.reports[target] = map[store.Key]store.Report{}
	}
	if r == nil {
		delete(c.reports[target], k)
	} else {
		c.reports[target][k] = *r
	}
	u := c.u
	c.Mu.Unlock()
	if u != nil {
		u.Reported(target, []store.Key{k})
	}
}

// place decides where a Placement, and its space, is.
func (c *center) place(name string, targets ...string) {
	rule := upsync.RuleKey("shop", name)
	c.Mu.Lock()
	c.targets[rule] = targets
	all := map[string]bool{}
	for k, list := range c.targets {
		for _, t := range list {
			all[t] = all[t] || k.IsUpsync()
		}
	}
	c.targets[store.Key{Space: "shop", Resource: "namespaces", Name: "app"}] = slices.Sorted(maps.Keys(all))
	u := c.u
	c.Mu.Unlock()
	if u != nil {
		u.Moved(rule)
	}
}

// placement stores a Placement that brings Secrets with the label made.
func (c *center) placement(name string, names ...any) {
	clause := map[string]any{"apiVersion": "v1", "resources": []any{"secrets"}}
	if len(names) > 0 {
		clause["names"] = names
	} else {
		clause["labelSelector"] = map[string]any{"matchLabels": map[string]any{"made": "here"}}
	}
	k := placementKey(upsync.RuleKey("shop", name))
	generation := int64(1)
	var status any
	if was := c.Object(k); was != nil {
		generation = int64(was["metadata"].(map[string]any)["generation"].(float64)) + 1
		status = was["status"]
	}
	o := map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
		"metadata": map[string]any{"name": name, "uid": "uid-of-" + name, "generation": generation},
		"spec":     map[string]any{"objects": []any{}, "targets": map[string]any{}, "upsync": []any{clause}}}
	if status != nil {
		o["status"] = status
	}
	c.Put(k, o)
}

func secret(name string) store.Key {
	return store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: name}
}

// born has a target report a Secret by the Upsync of a Placement, as soon as that is there: it does
// not wait until all rests.
func (c *center) born(target, rule, name, value string, more map[string]any) {
	c.t.Helper()
	k := upsync.RuleKey("shop", rule)
	storetest.Eventually(c.t, "the Upsync "+rule, func() bool { return c.Object(k) != nil })
	o := map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": name, "namespace": "app", "uid": "there-" + target + name,
			"labels": map[string]any{"made": "here", "skerry.dev/target": "x"}}, "data": map[string]any{"p": value}}
	maps.Copy(o, more)
	body, err := json.Marshal(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.says(target, upsync.Key(secret(name)), &store.Report{
		OriginUID: fields.String(c.Object(k), "metadata", "uid"), Object: body})
}

// shows waits until the space has a Secret from a target with a value; an empty one is none.
func (c *center) shows(name, target, value string) {
	c.t.Helper()
	spaceapitest.Eventually(c.t, fmt.Sprintf("Secret %s is %q of %s", name, value, target), func() bool {
		o := c.Object(secret(name))
		return fields.String(o, "data", "p") == value &&
			fields.String(o, "metadata", "annotations", "skerry.dev/reported-from") == target
	})
}

// condition waits for the condition of a Placement, with texts in its message.
func (c *center) condition(name, status, reason string, texts ...string) {
	c.t.Helper()
	spaceapitest.Eventually(c.t, fmt.Sprintf("%s is %s %s, %q", name, status, reason, texts), func() bool {
		for m := range fields.Maps(c.Object(placementKey(upsync.RuleKey("shop", name))), "status", "conditions") {
			message, _ := m["message"].(string)
			if m["type"] == "Upsynced" && m["status"] == status && m["reason"] == reason {
				return !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(message, t) })
			}
		}
		return false
	})
}

// told is how many Events there are.
func (c *center) told() int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.events)
}
