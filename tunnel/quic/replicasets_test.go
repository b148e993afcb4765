package quic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// rollout is a Deployment of three Pods that is made, and changed, with what a target reports of it.
type rollout struct {
	short   bool // ReplicaSets without what their Deployment says
	long    bool // a template as applications have it, of about 2.5 kB
	n       int
	desired *objects
	told    *objects
	reports int
}

func (r *rollout) body(version int) (store.Key, []byte) {
	k, body := deployment(5000 + r.n)
	text := strings.Replace(string(body), "orders:v3", fmt.Sprint("orders:v", version), 1)
	if r.long {
		var env []string
		for i := range 20 {
			env = append(env, fmt.Sprintf(`{"name":"ORDERS_SETTING_%d","value":"http://backend-%d.shop.svc:%d/%x"}`,
				i, i, 8000+i, random(i + r.n)[:6]))
		}
		probe := `{"failureThreshold":3,"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"periodSeconds":10,` +
			`"successThreshold":1,"timeoutSeconds":1}`
		text = strings.Replace(text, `"resources":{}`, `"env":[`+strings.Join(env, ",")+`],"livenessProbe":`+probe+
			`,"readinessProbe":`+probe+`,"resources":{"limits":{"memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}}`, 1)
	}
	return k, []byte(text)
}

// set is the report of the ReplicaSet of a version, while the Deployment has another version or the same.
func (r *rollout) set(t *testing.T, version, now, replicas, ready int) (store.Key, []byte) {
	of, body := r.body(version)
	k, uid := of, fmt.Sprintf("9b2f7a40-1111-4222-a333-1234567%05d", r.n)
	k.Resource, k.Name = "replicasets", fmt.Sprintf("%s-%x", of.Name, random(r.n*7 + version)[:5])
	source, ok := replicasetdiff.Of(body, uid, k)
	if !ok {
		t.Fatalf("%s is no source", body)
	}
	metadata := map[string]any{"creationTimestamp": "2026-11-21T12:30:56Z", "uid": fmt.Sprintf("%x", random(r.n + version)[:16])}
	if version > 1 {
		metadata["annotations"] = map[string]any{store.DeploymentRevision: fmt.Sprint(version)}
	}
	rest, err := json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"replicas": replicas}})
	if err != nil {
		t.Fatal(err)
	}
	report := store.Report{OriginUID: uid, Of: source.Name, Object: rest, At: 1795264256379 + int64(r.reports), Status: fmt.Appendf(nil,
		`{"availableReplicas":%d,"fullyLabeledReplicas":%d,"observedGeneration":1,"readyReplicas":%d,"replicas":%d}`,
		ready, replicas, ready, replicas)}
	if !r.short || version != now {
		report.Of = ""
		if report.Object, err = source.Whole(rest); err != nil {
			t.Fatal(err)
		}
	}
	out, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return k, out
}

func (r *rollout) tell(of map[store.Key][]byte) {
	r.told.setAll(of)
	r.reports += len(of)
	time.Sleep(400 * time.Millisecond)
}

// to rolls the Deployment out to a version.
func (r *rollout) to(t *testing.T, version int) {
	k, body := r.body(version)
	r.desired.set(k, body)
	time.Sleep(100 * time.Millisecond)
	status := func(ready int) []byte {
		return bytes.Replace(deploymentReport(body), []byte(`"observedGeneration":1`),
			fmt.Appendf(nil, `"observedGeneration":%d,"readyReplicas":%d,"replicas":3`, version, ready), 1)
	}
	for ready := range 4 {
		step := map[store.Key][]byte{k: status(ready)}
		set, report := r.set(t, version, version, min(3, ready+1), ready)
		if version == 1 {
			set, report = r.set(t, version, version, 3, ready)
		}
		step[set] = report
		if version > 1 {
			old, report := r.set(t, version-1, version, 3-ready, 3-ready)
			step[old] = report
		}
		if ready < 3 {
			step[podKey(r.n*100+version*10+ready)] = podReport(r.n*100+version*10+ready, 0)
		}
		if ready > 0 {
			step[podKey(r.n*100+version*10+ready-1)] = podReport(r.n*100+version*10+ready-1, 2)
		}
		r.tell(step)
	}
}

// TestReplicaSetsAreShort measures what store/replicasetdiff saves of what rollouts cost on the wire. It
// would have to go if whole ReplicaSets cost little more. The ReplicaSet of the version before is told
// whole once, so a second version saves nothing.
func TestReplicaSetsAreShort(t *testing.T) {
	cost := map[string]int{}
	for _, long := range []bool{false, true} {
		for _, short := range []bool{false, true} {
			inWorld(t, 1, func(t *testing.T, w *world) {
				child, parent := w.dial(0)
				r := &rollout{short: short, long: long, desired: newObjects(false), told: newObjects(true)}
				copied, inbox := storetest.NewMemory(), storetest.NewMemory()
				served := make(chan error, 2)
				ctx, cancel := context.WithCancel(w.ctx)
				go func() {
					served <- tunnel.ServeChild(ctx, child, tunnel.ChildConfig{Desired: copied, Reported: r.told.Feed})
				}()
				go func() {
					served <- tunnel.ServeParent(ctx, parent, tunneltest.Parent{Feed: r.desired.Feed, Inbox: inbox}.Config())
				}()
				for version := 1; version <= 2; version++ {
					settle(t, child)
					before := child.Stats()
					r.reports = 0
					for r.n = range 10 {
						r.to(t, version)
					}
					settle(t, child)
					after := child.Stats()
					all := int(after.SentBytes + after.ReceivedBytes - before.SentBytes - before.ReceivedBytes)
					up := int(after.SentBytes - before.SentBytes)
					name := fmt.Sprintf("version %d, long template %v", version, long)
					t.Logf("%s, short %v: %d bytes a rollout, %d up; %d a status", name, short, all/10, up/10, up/r.reports)
					cost[fmt.Sprint(name, short)] = all / 10
				}
				cancel()
				<-served
				<-served
			})
		}
	}
	for of, least := range map[string]float64{"version 1, long template false": 4, "version 2, long template false": -5,
		"version 1, long template true": 15, "version 2, long template true": -5} {
		whole, short := cost[of+"false"], cost[of+"true"]
		more := 100 * float64(whole-short) / float64(short)
		t.Logf("%s: %d bytes a rollout, %d with whole ReplicaSets: %.1f %% more", of, short, whole, more)
		if more < least {
			t.Errorf("%s: whole ReplicaSets cost only %.1f %% more, not %.0f", of, more, least)
		}
	}
}
