package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel/enroll"
)

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	placements = schema.GroupVersionResource{Group: "skerry.dev", Version: "v1alpha1", Resource: "placements"}
)

// client is for a space of the center; "" is root.
func (f *fleet) client(space string) dynamic.Interface {
	f.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.center.kubeconfig)
	if err != nil {
		f.t.Fatal(err)
	}
	if space != "" {
		config.Host += "/clusters/" + space
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		f.t.Fatal(err)
	}
	return client
}

// join gives agents their credentials, each with a token of its own. The tokens are copies of one
// that the command line made, but for their secret.
func (f *fleet) join(agents []*fleetAgent) {
	f.t.Helper()
	out, err := exec.Command(
		os.Getenv("SKERRY_BIN"),
		"token",
		"create",
		"-o",
		"token",
		"--kubeconfig",
		f.center.kubeconfig,
	).Output()
	if err != nil {
		f.t.Fatalf("create a token: %v", err)
	}
	first, err := enroll.ParseToken(strings.TrimSpace(string(out)))
	if err != nil {
		f.t.Fatal(err)
	}
	tokens := f.client("").Resource(secrets).Namespace("kube-system")
	list, err := tokens.List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	at := slices.IndexFunc(
		list.Items,
		func(u unstructured.Unstructured) bool { return strings.HasSuffix(u.GetName(), first.ID) },
	)
	if at < 0 {
		f.t.Fatal("the token that was made has no Secret")
	}
	began := time.Now()
	work := make(chan *fleetAgent)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for a := range work {
				token := enroll.NewToken(first.Pin)
				secret := list.Items[at].DeepCopy()
				secret.SetName(strings.TrimSuffix(secret.GetName(), first.ID) + token.ID)
				secret.SetResourceVersion("")
				secret.SetUID("")
				secret.Object["stringData"] = map[string]any{"hash": token.Hash()}
				_, err := tokens.Create(f.t.Context(), secret, metav1.CreateOptions{})
				if err == nil {
					err = f.redeem(a, token)
				}
				if err != nil {
					f.t.Errorf("join %s: %v", a.name, err)
				}
			}
		})
	}
	for _, a := range agents {
		work <- a
	}
	close(work)
	running.Wait()
	if f.t.Failed() {
		f.t.FailNow()
	}
	say(
		"fleet-join",
		float64(len(agents))/time.Since(began).Seconds(),
		"sites/s",
		0,
		len(agents),
		"a token made and used for each",
	)
}

// redeem joins one agent, and comes back as long as the center has no time for it.
func (f *fleet) redeem(a *fleetAgent, token enroll.Token) error {
	for tries := 0; ; tries++ {
		_, err := enroll.Join(
			f.t.Context(),
			enroll.JoinConfig{Dir: a.dir, Parent: f.center.url, Token: token.String(), Name: a.name, Log: discard()},
		)
		if err == nil || enroll.Refused(err) || tries == 100 {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// memory says what an agent costs the center: all in, the parts of that, and of that the session
// alone, beside a QUIC connection with nothing on it; and what one more costs when there are some.
// some is with the first agents and their sessions, joined with the SyncTargets of all.
func (f *fleet) memory(empty, some, joined parts, first int) {
	n, more := float64(len(f.agents)), float64(len(f.agents)-first)
	with := f.center.settled()
	bare := bareConnections(f.t, len(f.agents))
	live, stacks := (with.live-empty.live)/n, (with.stacks-empty.stacks)/n
	say(
		"fleet-center-rss-per-agent",
		(with.rss-empty.rss)/n,
		"KiB",
		120,
		len(f.agents),
		fmt.Sprintf("all in: center %.0f MiB empty, %.0f MiB with as many sessions; "+
			"of all live heap %.1f KiB, stacks of %.1f goroutines %.1f KiB, the rest %.1f KiB "+
			"(heap between collections, and what is mapped of files)", empty.rss/1024, with.rss/1024,
			live, (with.goroutines-empty.goroutines)/n, stacks, (with.rss-empty.rss)/n-live-stacks),
	)
	live, stacks = (with.live-some.live)/more, (with.stacks-some.stacks)/more
	say(
		"fleet-center-rss-per-further-agent",
		(with.rss-some.rss)/more,
		"KiB",
		120,
		len(f.agents)-first,
		fmt.Sprintf("%.0f MiB with %d agents, %.0f MiB with the SyncTargets of all; "+
			"a session alone %.1f KiB, a bare QUIC connection %.1f KiB; of all live heap %.1f "+
			"KiB, stacks %.1f KiB, the rest %.1f KiB", some.rss/1024, first, joined.rss/1024,
			(with.rss-joined.rss)/more, bare, live, stacks, (with.rss-some.rss)/more-live-stacks),
	)
}

// idleCPU measures the center while nothing happens, over more than one heartbeat of every target.
// base is what it needs without agents.
func (f *fleet) idleCPU(base float64) {
	n, window := float64(len(f.agents)), 90*time.Second
	before := f.center.written()
	share := f.center.idle(window)
	wrote := f.center.written() - before
	say("fleet-idle-cpu", share, "% of a core", 0, len(f.agents), fmt.Sprintf("without agents %.2f %%", base))
	say(
		"fleet-idle-cpu-5000",
		base+(share-base)*5000/n,
		"% of a core",
		10,
		len(f.agents),
		"the figure above, extrapolated",
	)
	say(
		"fleet-idle-writes",
		wrote*float64(time.Hour/window)/n,
		"statuses/h",
		0,
		len(f.agents),
		fmt.Sprintf("of each site, while nothing happens; of all together %.2f a second", wrote/window.Seconds()),
	)
	f.center.profile("idle", time.Minute)
}

// statuses says how often the center has written the status of a site since it started, when it is
// done with that.
func (f *fleet) statuses(figure string, since time.Time) {
	f.t.Helper()
	f.center.quiet()
	say(
		figure,
		f.center.written()/float64(len(f.agents)),
		"writes",
		2,
		len(f.agents),
		fmt.Sprintf("of the status of each site; the center is calm after %.0f s", time.Since(since).Seconds()),
	)
}

// oneChange changes one ConfigMap that is placed on every agent, and measures until each has it on disk:
// so long it takes until it is applied, as the target of these agents is infinitely fast.
func (f *fleet) oneChange() {
	ctx := context.Background()
	if out, err := exec.Command(os.Getenv("SKERRY_BIN"), "space", "create", "fleet", "--kubeconfig",
		f.center.kubeconfig).CombinedOutput(); err != nil {
		f.t.Fatalf("create a space: %v\n%s", err, out)
	}
	client := f.client("fleet")
	_, err := client.Resource(
		placements,
	).Create(
		ctx,
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
			"metadata": map[string]any{"name": "everywhere"}, "spec": map[string]any{
				"objects": []any{map[string]any{"apiGroup": "", "resources": []any{"configmaps"}}},
				"targets": map[string]any{"selectors": []any{map[string]any{}}}}}},
		metav1.CreateOptions{},
	)
	if err != nil {
		f.t.Fatal(err)
	}
	maps := client.Resource(configMaps).Namespace("default")
	if _, err := maps.Create(ctx, &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "one"}, "data": map[string]any{"v": "0"}}}, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.everyoneHas(`"v":"0"`)
	f.center.quiet()
	var last, each, answers []time.Duration
	var center, own time.Duration
	var down, up float64
	before := f.revision("fleet")
	const changes = 11
	for i := range changes {
		f.center.quiet()
		runtime.GC() // each site has a heap of its own, and collects it when it has nothing to do
		down, up = down-f.center.crossed("sent"), up-f.center.crossed("received")
		used, agents, began := f.center.cpu(), ownCPU(), time.Now()
		if _, err := maps.Patch(ctx, "one", types.MergePatchType,
			fmt.Appendf(nil, `{"data":{"v":"%d"}}`, i+1), metav1.PatchOptions{}); err != nil {
			f.t.Fatal(err)
		}
		answer := time.Now()
		answers = append(answers, answer.Sub(began))
		last = append(last, f.everyoneHas(fmt.Sprintf(`"v":"%d"`, i+1)).Sub(began))
		for _, a := range f.agents {
			each = append(each, max(0, time.Unix(0, a.sink.at.Load()).Sub(answer)))
		}
		time.Sleep(2 * time.Second) // for reports and statuses
		center, own = center+f.center.cpu()-used, own+ownCPU()-agents
		down, up = down+f.center.crossed("sent"), up+f.center.crossed("received")
	}
	f.center.quiet()
	floor := f.floor()
	slices.Sort(answers)
	slices.Sort(each)
	share := func(name string, took time.Duration) {
		say("fleet-one-change-"+name, ms(took), "ms", 0, len(each), "from the API's answer to the commit on the disk of "+
			"an agent, over all agents and changes; before the answer is 0")
	}
	share("p50", middle(each))
	share("p99", each[len(each)*99/100])
	share("max", each[len(each)-1])
	slices.Sort(last)
	say("fleet-one-change", ms(middle(last)), "ms", 300, len(last), fmt.Sprintf(
		"median, from the request to the last of %d commits on disk; worst %.0f ms; the API's answer after %.0f ms; the "+
			"commits alone, without a network: %.0f ms", len(f.agents), ms(last[len(last)-1]), ms(middle(answers)), ms(floor)))
	per := float64(changes * len(f.agents))
	say("fleet-one-change-bytes", (down+up)/per, "bytes", 0, len(f.agents), fmt.Sprintf("a target, payload of UDP until "+
		"2 s after the last has it, with signs of life: %.0f down, %.0f up", down/per, up/per))
	say("fleet-one-change-cpu", ms(center)/changes, "ms", 0, len(f.agents), fmt.Sprintf("of the center, until 2 s after; "+
		"an agent alone %.2f ms; all share %d cores", ms(own)/per, runtime.NumCPU()))
	f.center.wrote(before).without("configmaps", changes).each(func(kind string, n int) {
		say("fleet-one-change-writes/"+kind, float64(n)/changes, "writes", 0, len(f.agents), kindsOfWrites[kind])
	})
}

// middle is the median of what is sorted.
func middle(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// everyoneHas waits until every agent's copy has a ConfigMap "one" with this text, and returns when
// the last was committed.
func (f *fleet) everyoneHas(text string) time.Time {
	f.t.Helper()
	missing := slices.Clone(f.agents)
	for began := time.Now(); len(missing) > 0; time.Sleep(5 * time.Millisecond) {
		missing = slices.DeleteFunc(missing, func(a *fleetAgent) bool { return a.has(text) })
		if time.Since(began) > 2*time.Minute {
			f.t.Fatalf("%d agents do not have %s", len(missing), text)
		}
	}
	last := int64(0)
	for _, a := range f.agents {
		last = max(last, a.sink.at.Load())
	}
	return time.Unix(0, last)
}

func (a *fleetAgent) has(text string) bool { return strings.Contains(*a.latest.Load(), text) }

// floor commits one small entry in every agent's file at the same time.
func (f *fleet) floor() time.Duration {
	body, err := json.Marshal(map[string]any{"data": map[string]any{"v": "1"}})
	if err != nil {
		f.t.Fatal(err)
	}
	var sinks []*bolt.Sink
	for _, a := range f.agents {
		sink, err := a.file.Sink("reported", bolt.SinkOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		sinks = append(sinks, sink)
	}
	at, key := store.Position{
		Incarnation: store.NewIncarnation(),
		Revision:    1,
	}, store.Key{
		Space:     "s",
		Resource:  "configmaps",
		Namespace: "default",
		Name:      "one",
	}
	batch := store.Batch{
		Through: at,
		Entries: []store.Entry{{Key: key, Hash: store.HashBody(1, body), Revision: 1, Generation: 1, Body: body}},
	}
	var running sync.WaitGroup
	began := time.Now()
	for _, s := range sinks {
		running.Go(func() {
			if err := s.Commit(context.Background(), batch); err != nil {
				f.t.Error(err)
			}
		})
	}
	running.Wait()
	return time.Since(began)
}

// restart kills the center, starts it after a while and measures until every agent has a session
// again: everybody comes at once, and nobody is sent anything that it has.
func (f *fleet) restart(figure string, away time.Duration) {
	f.t.Helper()
	f.center.quiet()
	f.center.kill()
	time.Sleep(away)
	f.forget()
	began := time.Now()
	f.center.start()
	ready := time.Since(began)
	took := f.allBack(f.agents, began, patience(len(f.agents)))
	how := f.dialled()
	time.Sleep(2 * time.Second) // what is sent needlessly comes now
	commits, _, most := f.counts()
	f.statuses(figure+"-statuses", began)
	say(
		figure,
		took.Seconds(),
		"s",
		30,
		len(f.agents),
		fmt.Sprintf("kill -9, away for %s; from its start to the last session, of which %.1f s until ready; %s; "+
			"batches stored by all agents %d, by one at most %d", away, ready.Seconds(), how, commits, most),
	)
	say(figure+"-lists", float64(most), "batches", 1, len(f.agents), "stored by one agent at most")
}
