package progress

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// center has one Placement, whose content, reports and outages are set by hand.
type center struct {
	t *testing.T
	p *Progress

	mu       sync.Mutex
	revision int64
	object   map[string]any
	content  placement.Content
	reports  map[string]map[store.Key]store.Report
	read     int
	writes   int
	outages  map[string]placement.Outage
}

var (
	web = store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "web"}
	job = store.Key{Space: "shop", Group: "batch", Resource: "jobs", Namespace: "app", Name: "once"}
	pk  = store.Key{Space: "shop", Group: "skerry.dev", Resource: "placements", Name: "all"}
)

const uid = "uid-"

func hashOf(version int) store.Hash { return store.HashBody(int64(version), []byte("body")) }

func newCenter(t *testing.T, targets ...string) *center {
	c := &center{t: t, revision: 1, reports: map[string]map[store.Key]store.Report{}, outages: map[string]placement.Outage{}}
	c.object = map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
		"metadata": map[string]any{"name": "all", "uid": "uid-all", "generation": int64(3), "resourceVersion": "1"},
		"status":   map[string]any{"observedGeneration": int64(3)}}
	c.content = placement.Content{Targets: targets, Objects: []placement.Asked{
		{Key: web, Demand: placement.Demand{UID: uid + "web", Hash: hashOf(1), Replicas: 2}},
		{Key: job, Demand: placement.Demand{UID: uid + "once", Hash: hashOf(1)}},
	}}
	for _, target := range targets {
		c.good(target, 1)
	}
	return c
}

func (c *center) start() {
	c.p = New(Config{API: c, Placements: c, Reports: c, Outages: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	c.mu.Lock()
	w := store.Write{Key: pk, Revision: c.revision, Object: spaceapitest.Clone(c.object)}
	c.p.Reset(c.revision, storetest.Listing(func(yield func(store.Write) bool) { yield(w) }))
	c.mu.Unlock()
	spaceapitest.Run(c.t, c.p.Run)
}

func (c *center) Content(store.Key) (placement.Content, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.content, true
}

func (c *center) Report(target string, k store.Key) (store.Entry, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read++
	r, ok := c.reports[target][k]
	body, err := json.Marshal(r)
	return store.Entry{Key: k, Body: body}, ok, err
}

func (c *center) Outage(target string) (placement.Outage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.outages[target]
	return o, ok
}

func (c *center) Patch(_ context.Context, k store.Key, _, _ string, patch []byte) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var p map[string]any
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	if fields.String(p, "metadata", "resourceVersion") != strconv.FormatInt(c.revision, 10) {
		return nil, spaceapitest.Conflict(k)
	}
	spaceapitest.Merge(c.object, p)
	c.writes++
	c.storeLocked()
	return spaceapitest.Clone(c.object), nil
}

// storeLocked gives the object a revision, and hands it on.
func (c *center) storeLocked() {
	c.revision++
	c.object["metadata"].(map[string]any)["resourceVersion"] = strconv.FormatInt(c.revision, 10)
	c.p.Apply(store.Write{Key: pk, Revision: c.revision, Object: spaceapitest.Clone(c.object)})
}

// says sets what a target reports of an object.
func (c *center) says(target string, k store.Key, r store.Report) {
	c.mu.Lock()
	if c.reports[target] == nil {
		c.reports[target] = map[store.Key]store.Report{}
	}
	r.OriginUID = uid + k.Name
	c.reports[target][k] = r
	c.mu.Unlock()
	if c.p != nil {
		c.p.Changed(pk, target)
	}
}

// good has a target report that all is well with a version.
func (c *center) good(target string, version int) {
	h := hashOf(version)
	applied := hex.EncodeToString(h[:])
	c.says(target, web, store.Report{Applied: applied, Status: json.RawMessage(
		`{"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}`)})
	c.says(target, job, store.Report{Applied: applied, Status: json.RawMessage(
		`{"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]}`)})
}

func (c *center) silence(target string, since time.Time) {
	c.mu.Lock()
	if delete(c.outages, target); !since.IsZero() {
		c.outages[target] = placement.Outage{Since: since.Truncate(time.Second), Reason: placement.OutageSilent}
	}
	c.mu.Unlock()
	c.p.Outage(target)
}

// status waits until the status is as it should be, and returns the problems that it names.
func (c *center) status(ready, counts string) []string {
	c.t.Helper()
	var worst []string
	last := ""
	spaceapitest.Eventually(quiet{c.t, &last}, ready+" "+counts, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		s := fields.Map(c.object, "status")
		n := map[string]any{}
		for k, v := range fields.Map(s, "targets") {
			if v != 0.0 && k != "selected" {
				n[k] = v
			}
		}
		b, _ := json.Marshal(n)
		worst = nil
		for w := range fields.Maps(s, "worst") {
			worst = append(worst, fmt.Sprint(w["target"], " ", w["object"], " ", w["reason"]))
		}
		last = fmt.Sprint(s["ready"], " ", string(b), " ", worst)
		return s["ready"] == ready && string(b) == counts
	})
	return worst
}

// quiet says what was last seen.
type quiet struct {
	*testing.T
	last *string
}

func (q quiet) Fatalf(format string, args ...any) {
	q.Helper()
	q.T.Fatalf(format+"; last: %s", append(args, *q.last)...)
}

func (c *center) clone() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return spaceapitest.Clone(c.object)
}

func (c *center) counters() (read, writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, c.writes
}

func condition1(o map[string]any, kind string) map[string]any {
	for m := range fields.Maps(o, "status", "conditions") {
		if m["type"] == kind {
			return maps.Clone(m)
		}
	}
	return nil
}
