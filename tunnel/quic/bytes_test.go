package quic_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// objects is a feed whose bodies a test sets.
type objects struct {
	*store.Feed
	bodies   map[store.Key][]byte
	lock     chan struct{}
	revision int64
	report   bool
}

func newObjects(report bool) *objects {
	o := &objects{bodies: map[store.Key][]byte{}, lock: make(chan struct{}, 1), report: report}
	o.Feed = store.NewFeed(store.NewIncarnation(), 0, func(_ context.Context, k store.Key) ([]byte, int64, error) {
		o.lock <- struct{}{}
		defer func() { <-o.lock }()
		return o.bodies[k], 1, nil
	})
	return o
}

func (o *objects) set(k store.Key, body []byte) { o.setAll(map[store.Key][]byte{k: body}) }

// setAll sets some bodies as one step.
func (o *objects) setAll(bodies map[store.Key][]byte) {
	o.lock <- struct{}{}
	var changes []store.Change
	for k, body := range bodies {
		o.bodies[k] = body
		h := store.HashBody(1, body)
		if o.report {
			h = store.HashReport(1, body)
		}
		change := store.Change{Key: k, Hash: h, Generation: 1}
		if o.report && k.Resource != "deployments" { // as agents do
			change.Priority = store.PriorityAssociated
		}
		changes = append(changes, change)
	}
	o.revision++
	o.Apply(o.revision, changes...)
	<-o.lock
}

// random is 32 bytes that do not compress, as IDs are.
func random(i int) []byte {
	sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
	return sum[:]
}

// podReport is a pod's report as an agent makes it; step is how far its start has got.
func podReport(i, step int) []byte {
	name := podKey(i).Name
	ready, phase, at := "False", "Pending", time.Unix(1764000000+int64(i*10+step), 0).UTC().Format(time.RFC3339)
	state := `{"waiting":{"reason":"ContainerCreating"}}`
	id := ""
	if step >= 1 {
		phase, state = "Running", `{"running":{"startedAt":"`+at+`"}}`
		id = fmt.Sprintf(`"containerID":"containerd://%x",`, random(i))
	}
	if step >= 2 {
		ready = "True"
	}
	condition := func(kind, status string) string {
		return fmt.Sprintf(
			`{"lastProbeTime":null,"lastTransitionTime":%q,"observedGeneration":1,"status":%q,"type":%q}`,
			at,
			status,
			kind,
		)
	}
	status := fmt.Sprintf(
		`{"conditions":[%s,%s,%s,%s],`+
			`"containerStatuses":[{%s"image":"registry.example.com/orders:v3",`+
			`"imageID":"sha256:1f8b","lastState":{},"name":"orders","ready":%t,"restartCount":0,"started":%t,"state":%s}],`+
			`"hostIP":"10.1.0.5","hostIPs":[{"ip":"10.1.0.5"}],"phase":%q,"podIP":"10.42.0.%d",`+
			`"podIPs":[{"ip":"10.42.0.%d"}],"qosClass":"BestEffort","startTime":"2026-11-21T05:50:00Z"}`,
		condition(
			"Initialized",
			"True",
		),
		condition("Ready", ready),
		condition("ContainersReady", ready),
		condition("PodScheduled", "True"),
		id,
		ready == "True",
		step >= 1,
		state,
		phase,
		i%250,
		i%250,
	)
	object := fmt.Sprintf(
		`{"metadata":{"labels":{"app":"orders","pod-template-hash":"7c9f8b6d5"},"name":%q,`+
			`"namespace":"shop","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment",`+
			`"name":"orders","uid":"9b2f7a40-1111-4222-a333-123456789abc"}]},`+
			`"spec":{"containers":[{"image":"registry.example.com/orders:v3","name":"orders"}],"nodeName":"node-1"}}`,
		name,
	)
	b, err := json.Marshal(
		store.Report{
			OriginUID: "9b2f7a40-1111-4222-a333-123456789abc",
			Status:    json.RawMessage(status),
			Object:    json.RawMessage(object),
			At:        1764000000000 + int64(i*1000+step),
		},
	)
	if err != nil {
		panic(err)
	}
	return b
}

func podKey(i int) store.Key {
	return store.Key{
		Space:     "shop",
		Resource:  "pods",
		Namespace: "shop",
		Name:      fmt.Sprintf("orders-7c9f8b6d5c-%x", random(i)[:3]),
	}
}

func deployment(i int) (store.Key, []byte) {
	name := fmt.Sprintf("orders-%d", i)
	return store.Key{
			Space:     "shop",
			Group:     "apps",
			Resource:  "deployments",
			Namespace: "shop",
			Name:      name,
		}, fmt.Appendf(
			nil,
			`{"apiVersion":"apps/v1","kind":"Deployment",`+
				`"metadata":{"annotations":{"skerry.dev/origin":"shop/",`+
				`"skerry.dev/origin-uid":"%x-0000-4000-a000-%x"},"labels":{"app":%q},"name":%q,"namespace":"shop"},`+
				`"spec":{"progressDeadlineSeconds":600,"replicas":3,"revisionHistoryLimit":10,`+
				`"selector":{"matchLabels":{"app":%q}},`+
				`"strategy":{"rollingUpdate":{"maxSurge":"25%%","maxUnavailable":"25%%"},`+
				`"type":"RollingUpdate"},"template":{"metadata":{"labels":{"app":%q}},`+
				`"spec":{"containers":[{"image":"registry.example.com/orders:v3",`+
				`"imagePullPolicy":"IfNotPresent","name":"orders","ports":[{"containerPort":8080,`+
				`"protocol":"TCP"}],"resources":{},`+
				`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],`+
				`"dnsPolicy":"ClusterFirst","restartPolicy":"Always",`+
				`"schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`,
			random(i)[:4],
			random(i)[4:10],
			name,
			name,
			name,
			name,
		)
}

// deploymentReport is the report of a Deployment without replicas, as an agent makes it.
func deploymentReport(body []byte) []byte {
	condition := func(kind, reason, message string) string {
		const at = "2026-11-21T12:30:56Z"
		return fmt.Sprintf(
			`{"lastTransitionTime":%q,"lastUpdateTime":%q,"message":%q,"reason":%q,"status":"True","type":%q}`,
			at,
			at,
			message,
			reason,
			kind,
		)
	}
	status := fmt.Sprintf(
		`{"conditions":[%s,%s],"observedGeneration":1,"terminatingReplicas":0}`,
		condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
		condition(
			"Progressing",
			"NewReplicaSetAvailable",
			`ReplicaSet "orders-1000-7545f8db65" has successfully progressed.`,
		),
	)
	b, err := json.Marshal(
		store.Report{
			OriginUID:  "adf87688-b3aa-431f-8e81-2f54ba5fcba5",
			Generation: 1,
			Applied:    store.HashBody(1, body).String(),
			Status:     json.RawMessage(status),
			At:         1795264256388,
		},
	)
	if err != nil {
		panic(err)
	}
	return b
}

// replicaSetReport is the report of the ReplicaSet that a target makes of that Deployment, without
// what the parent knows.
func replicaSetReport(of store.Key) (store.Key, []byte) {
	k := of
	k.Resource, k.Name = "replicasets", of.Name+"-7545f8db65"
	b, err := json.Marshal(
		store.Report{
			OriginUID: "adf87688-b3aa-431f-8e81-2f54ba5fcba5",
			Status:    json.RawMessage(`{"replicas":0,"terminatingReplicas":0,"observedGeneration":1}`),
			Of:        "8xaffGXS",
			Object:    json.RawMessage(`{"metadata":{"creationTimestamp":"2026-11-21T12:30:56Z"},"spec":{"replicas":0}}`),
			At:        1795264256379,
		},
	)
	if err != nil {
		panic(err)
	}
	return k, b
}

// TestBytes holds what a change costs on the wire: payload of all UDP datagrams in both directions,
// acknowledgements included.
func TestBytes(t *testing.T) { inWorld(t, 1, changesCost) }

func changesCost(t *testing.T, w *world) {
	child, parent := w.dial(0)
	desired, reported := newObjects(false), newObjects(true)
	copied, inbox := storetest.NewMemory(), storetest.NewMemory()
	var crossed atomic.Int64
	var late latencies
	for _, sink := range []*storetest.Memory{copied, inbox} {
		sink.OnCommit = func(b store.Batch) {
			crossed.Add(int64(len(b.Entries)))
			late.arrived(b)
		}
	}
	served := make(chan error, 2)
	ctx, cancel := context.WithCancel(w.ctx)
	go func() {
		served <- tunnel.ServeChild(ctx, child, tunnel.ChildConfig{Desired: copied, Reported: reported.Feed})
	}()
	go func() {
		served <- tunnel.ServeParent(ctx, parent, tunneltest.Parent{Feed: desired.Feed, Inbox: inbox}.Config())
	}()
	count := func(what string, limit, n int, src *objects, sink *storetest.Memory, change func()) {
		t.Helper()
		settle(t, child)
		before, entries := child.Stats(), crossed.Load()
		change()
		for end := time.Now().Add(20 * time.Second); sink.Position() != src.Head(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the copy is at %s, the feed at %s", what, sink.Position(), src.Head())
			}
		}
		settle(t, child)
		after := child.Stats()
		each := int(after.SentBytes+after.ReceivedBytes-before.SentBytes-before.ReceivedBytes) / n
		t.Logf(
			"%s: %d bytes each; %d of %d values crossed, the others were superseded",
			what,
			each,
			crossed.Load()-entries,
			n,
		)
		if each > limit {
			t.Errorf("%s: %d bytes each, goal %d", what, each, limit)
		}
	}
	hello := child.Stats()
	settle(t, child)
	plain, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"handshake and hello: %d bytes; a pod's report is %d bytes of JSON, %d with zstd each",
		hello.SentBytes+hello.ReceivedBytes,
		len(podReport(1, 2)),
		len(plain.EncodeAll(podReport(1, 2), nil)),
	)
	if err := plain.Close(); err != nil {
		t.Error(err)
	}
	count("placed Deployment, alone", 320, 10, desired, copied, func() {
		for i := range 10 {
			desired.set(deployment(i))
			time.Sleep(60 * time.Millisecond)
		}
	})
	count("placed Deployment, 50 at once", 150, 50, desired, copied, func() {
		for i := range 50 {
			desired.set(deployment(100 + i))
		}
	})
	for i := range 5 {
		const back = "placed Deployment with the status and the ReplicaSet that come back"
		count(back, 680, 1, desired, copied, func() {
			k, body := deployment(1000 + i)
			desired.set(k, body)
			time.Sleep(100 * time.Millisecond) // it is applied, and the target's controllers have answered
			set, report := replicaSetReport(k)
			reported.setAll(map[store.Key][]byte{k: deploymentReport(body), set: report})
		})
	}
	time.Sleep(1100 * time.Millisecond)
	count("new pod, alone", 430, 1, reported, inbox, func() { reported.set(podKey(1), podReport(1, 0)) })
	time.Sleep(100 * time.Millisecond)
	for i := range 5 {
		count("pod status update, alone", 290, 1, reported, inbox, func() { reported.set(podKey(1), podReport(1, 1+i%2)) })
		time.Sleep(100 * time.Millisecond)
	}
	count("rolling update of 50 pods, 150 updates", 60, 150, reported, inbox, func() {
		for i := range 50 {
			for step := range 3 {
				reported.set(podKey(100+i), podReport(100+i, step))
				time.Sleep(7 * time.Millisecond)
			}
		}
	})
	count("the same with the status of its Deployment, 200 updates", 70, 200, reported, inbox, func() {
		for i := range 50 {
			for step := range 3 {
				reported.set(podKey(400+i), podReport(400+i, step))
				time.Sleep(7 * time.Millisecond)
			}
			k, body := gaugeReport(0, i)
			reported.set(k, body)
		}
	})
	count("50 status updates a second, 250 updates of 50 pods", 25, 250, reported, inbox, func() {
		for n := range 250 {
			i := 100 + n%50
			reported.set(podKey(i), podReport(i, 1+(n/50)%2))
			time.Sleep(20 * time.Millisecond)
		}
	})
	count("50 status updates a second, each of another pod", 85, 250, reported, inbox, func() {
		for i := range 250 {
			reported.set(podKey(100+i), podReport(100+i, 2))
			time.Sleep(20 * time.Millisecond)
		}
	})
	// A steady rhythm would meet the window at one place, whichever that is.
	pauses := rand.New(rand.NewPCG(1, 2))
	pause := func() time.Duration { return time.Duration(10_000+pauses.IntN(20_000)) * time.Microsecond }
	count("50 statuses of placed objects a second, 250 of 25", 60, 250, reported, inbox, func() {
		for n := range 250 {
			k, body := gaugeReport(n%25, n)
			late.set(k)
			reported.set(k, body)
			time.Sleep(pause())
		}
	})
	late.within(t, 35*time.Millisecond, 75*time.Millisecond)
	count("the same while 50 pods change as often", 40, 500, reported, inbox, func() {
		for n := range 250 {
			k, body := gaugeReport(n%25, 1000+n)
			late.set(k)
			reported.set(k, body)
			i := 100 + n%50
			reported.set(podKey(i), podReport(i, 1+(n/50)%2))
			time.Sleep(pause())
		}
	})
	late.within(t, 35*time.Millisecond, 75*time.Millisecond)
	cancel()
	<-served
	<-served
}

// settle waits until nothing has crossed for a while.
func settle(t *testing.T, c tunnel.Conn) {
	t.Helper()
	last := c.Stats()
	for quiet := 0; quiet < 6; quiet++ {
		time.Sleep(25 * time.Millisecond)
		if now := c.Stats(); now.SentBytes != last.SentBytes || now.ReceivedBytes != last.ReceivedBytes {
			last, quiet = now, 0
		}
	}
}
