package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"testing"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// center is an API over a map whose writes come back as a store's do, with reports and decisions set
// by hand.
type center struct {
	*spaceapitest.Center
	t *testing.T
	c *Collect

	// Mu is held for these, too.
	reports map[string]map[store.Key]store.Report
	placed  map[store.Key]placement.Located
	decided map[store.Key]string
	outages map[string]placement.Outage
	reads   int
}

func newCenter(t *testing.T, targets ...string) *center {
	c := &center{Center: spaceapitest.NewCenter(), t: t,
		reports: map[string]map[store.Key]store.Report{}, placed: map[store.Key]placement.Located{},
		decided: map[store.Key]string{}, outages: map[string]placement.Outage{}}
	for i, name := range targets {
		c.Put(targetKey(name), object("SyncTarget", name, map[string]any{"labels": map[string]any{
			"region": []string{"eu", "us"}[i%2]}}))
	}
	return c
}

func object(kind, name string, meta map[string]any, more ...any) map[string]any {
	m := map[string]any{"name": name, "uid": "uid-" + name, "generation": int64(1)}
	for k, v := range meta {
		m[k] = v
	}
	o := map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": kind, "metadata": m}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

func ours(resource, name string) store.Key {
	return store.Key{Space: "shop", Group: "skerry.dev", Resource: resource, Name: name}
}

func (c *center) start() {
	c.c = New(Config{API: c, Reports: c, Delivery: c, Outages: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	c.Mu.Lock()
	c.c.Reset(1, c.Listing())
	c.Apply = c.c.Apply
	c.Mu.Unlock()
	spaceapitest.Run(c.t, c.c.Run)
}

func (c *center) Report(target string, k store.Key) (store.Entry, bool, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.reads++
	r, ok := c.reports[target][k]
	body, err := json.Marshal(r)
	return store.Entry{Key: k, Body: body}, ok, err
}

func (c *center) Reported(target string) (keys []store.Key, err error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for k := range c.reports[target] {
		keys = append(keys, k)
	}
	return keys, nil
}

func (c *center) Located(k store.Key) (placement.Located, bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	at, ok := c.placed[k]
	return at, ok
}

func (c *center) Owner(space, namespace, group, kind, name string) (placement.Located, bool) {
	if kind != "Deployment" {
		return placement.Located{}, false
	}
	return c.Located(store.Key{Space: space, Group: group, Resource: "deployments", Namespace: namespace, Name: name})
}

func (c *center) Desired(_ context.Context, k store.Key) ([]byte, error) {
	return []byte(fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"app":%q}},"spec":{"replicas":3}}`, k.Name, k.Name)), nil
}

func (c *center) DecidedBy(k store.Key) string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.decided[k]
}

func (c *center) Outage(target string) (placement.Outage, bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	o, ok := c.outages[target]
	return o, ok
}

// place puts a Deployment on targets.
func (c *center) place(name, by string, targets ...string) store.Key {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	k := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: name}
	c.placed[k] = placement.Located{Key: k, UID: "uid-" + name, Targets: targets}
	c.decided[k] = by
	return k
}

// says has a target report; nil takes the report back.
func (c *center) says(target string, k store.Key, r *store.Report) {
	c.Mu.Lock()
	if c.reports[target] == nil {
		c.reports[target] = map[store.Key]store.Report{}
	}
	if delete(c.reports[target], k); r != nil {
		c.reports[target][k] = *r
	}
	c.Mu.Unlock()
	if c.c != nil {
		c.c.Reported(target, []store.Key{k})
	}
}

// pod has a target report a Pod of a Deployment.
func (c *center) pod(target, name, of, phase string) {
	k := store.Key{Space: "shop", Resource: "pods", Namespace: "app", Name: name}
	c.says(target, k, &store.Report{OriginUID: "uid-" + of, Status: json.RawMessage(`{"phase":"` + phase + `"}`),
		Object: json.RawMessage(`{"metadata":{"name":"` + name + `","ownerReferences":[{"apiVersion":"apps/v1",
			"kind":"Deployment","name":"` + of + `"}]},"spec":{"nodeName":"n"}}`)})
}

// rows waits until a result has these rows, and returns what stands beside them.
func (c *center) rows(name, result string, want ...[]string) map[string]any {
	c.t.Helper()
	var last any
	var out map[string]any
	storetest.Eventually(c.t, fmt.Sprint(name, " ", result, " has the rows ", want), func() bool {
		c.Mu.Lock()
		out = spaceapitest.Clone(c.Objects[ours("combinedstatuses", name)])
		c.Mu.Unlock()
		for r := range fields.Maps(out, "results") {
			if r["name"] != result {
				continue
			}
			var is [][]string
			for _, row := range fields.List(r, "rows") {
				var texts []string
				for _, v := range row.([]any) {
					texts = append(texts, v.(string))
				}
				is = append(is, texts)
			}
			if last = r; reflect.DeepEqual(is, want) {
				return true
			}
		}
		return false
	}, func() any { return last })
	return out
}

func (c *center) written(k store.Key) int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Writes[k]
}
