package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/agent/uplink"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel"
)

// TestFleet measures a center under many agents: SKERRY_FLEET is how many, SKERRY_BIN the binary
// whose center it starts. Each agent is real but for its target: it joins with a token, has a
// certificate and a file of its own and a QUIC connection over loopback; what it is sent it calls
// applied. SKERRY_FLEET_DISK is where the agents' files are: on one disk they wait for each other,
// as sites never do, and in memory (/dev/shm) they wait for no disk. SKERRY_FLEET_PROFILES is a
// directory for profiles of the idle center. One JSON line a figure goes to standard output (make
// bench FIGURE=fleet).
func TestFleet(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SKERRY_FLEET"))
	if n <= 0 {
		t.Skip("SKERRY_FLEET=1000 SKERRY_BIN=bin/skerry runs a center and that many agents: make bench FIGURE=fleet")
	}
	c := startCenterProcess(t)
	empty := c.parts()
	base := c.idle(30 * time.Second)
	f := newFleet(t, n, c)
	// A tenth comes first, so that what the first agents cost once is not taken for the cost of one
	// more.
	first, rest := f.agents[:n/10], f.agents[n/10:]
	f.join(first)
	c.kill()
	c.start()
	f.start(first)
	f.allBack(first, time.Now(), patience(len(first)))
	some := c.settled()
	f.join(rest)
	c.kill()
	f.forget()
	c.start()
	f.allBack(first, time.Now(), patience(len(first)))
	joined := c.settled()
	began := time.Now()
	f.start(rest)
	took := f.allBack(rest, began, patience(len(rest)))
	calm := time.After(2*time.Minute + 20*time.Second) // until a link counts as not in use
	say(
		"fleet-first-sessions",
		took.Seconds(),
		"s",
		0,
		len(rest),
		"all these agents start at once; their SyncTargets exist; "+f.dialled(),
	)

	f.statuses("fleet-first-statuses", began)
	f.memory(empty, some, joined, len(first))
	<-calm
	f.idleCPU(base)
	f.oneChange()
	f.restart("fleet-back-after-kill", time.Second)
	f.restart("fleet-back-after-outage", 40*time.Second)
	l := &load{fleet: f, ctx: t.Context()}
	l.everywhere()
	l.reports("fleet")
}

// patience is how long so many agents may take to come: far longer than they should, since it is
// measured.
func patience(agents int) time.Duration {
	return 2*time.Minute + time.Duration(agents)*100*time.Millisecond
}

// say prints a figure; a goal of 0 is none.
func say(figure string, value float64, unit string, goal float64, n int, note string) {
	line := map[string]any{"figure": figure, "value": float64(int(value*100+0.5)) / 100, "unit": unit, "n": n}
	if goal != 0 {
		line["goal"] = goal
	}
	if note != "" {
		line["note"] = note
	}
	out, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
}

// fleet is agents without targets.
type fleet struct {
	t      *testing.T
	center *centerProcess
	agents []*fleetAgent
	dir    string
	most   time.Duration // how long nine of ten took when they came the last time
}

type fleetAgent struct {
	name, dir string
	sink      *fleetSink
	feed      *store.Feed
	ready     chan struct{}
	dials     atomic.Int64
	file      *bolt.File
	latest    atomic.Pointer[string] // the body that was stored last

	mu       sync.Mutex
	reports  map[store.Key]store.Entry
	revision int64
}

// fleetSink counts what a durable copy is asked for.
type fleetSink struct {
	*bolt.Sink
	then    func([]store.Entry)
	hellos  atomic.Int64 // exchanges that the center began
	commits atomic.Int64
	at      atomic.Int64 // of the last commit, Unix nanoseconds
}

func (s *fleetSink) Admit(head store.Position) error {
	s.hellos.Add(1)
	return s.Sink.Admit(head)
}

func (s *fleetSink) Commit(ctx context.Context, b store.Batch) error {
	err := s.Sink.Commit(ctx, b)
	s.commits.Add(1)
	s.at.Store(time.Now().UnixNano())
	if err == nil {
		s.then(b.Entries)
	}
	return err
}

func newFleet(t *testing.T, n int, c *centerProcess) *fleet {
	f := &fleet{t: t, center: c, dir: t.TempDir()}
	if parent := os.Getenv("SKERRY_FLEET_DISK"); parent != "" {
		dir, err := os.MkdirTemp(parent, "fleet-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ignore(os.RemoveAll(dir)) })
		f.dir = dir
	}
	for i := range n {
		a := &fleetAgent{
			name:    fmt.Sprintf("site-%04d", i),
			reports: map[store.Key]store.Entry{},
			ready:   make(chan struct{}),
		}
		a.dir = filepath.Join(f.dir, a.name)
		close(a.ready)
		if err := os.Mkdir(a.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file, err := bolt.Open(filepath.Join(a.dir, "agent.db"), bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ignore(file.Close()) })
		sink, err := file.Sink("desired", bolt.SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.file = file
		a.latest.Store(new(string))
		a.sink = &fleetSink{Sink: sink, then: a.applied}
		a.feed = store.NewFeed(store.NewIncarnation(), 1, a.body)
		f.agents = append(f.agents, a)
	}
	return f
}

// applied reports every key as applied, as an agent does whose target is infinitely fast.
func (a *fleetAgent) applied(entries []store.Entry) {
	var changes []store.Change
	a.mu.Lock()
	for _, e := range entries {
		if e.Tombstone {
			delete(a.reports, e.Key)
			changes = append(changes, store.Change{Key: e.Key})
			continue
		}
		var object struct {
			Metadata struct{ Annotations map[string]string }
		}
		text := string(e.Body)
		a.latest.Store(&text)
		ignore(json.Unmarshal(e.Body, &object))
		body, err := json.Marshal(
			store.Report{OriginUID: object.Metadata.Annotations["skerry.dev/origin-uid"], Generation: e.Generation,
				Applied: e.Hash.String(), At: time.Now().UnixMilli()},
		)
		ignore(err)
		a.reports[e.Key] = store.Entry{Generation: e.Generation, Body: body}
		changes = append(
			changes,
			store.Change{Key: e.Key, Hash: store.HashReport(e.Generation, body), Generation: e.Generation},
		)
	}
	a.revision++
	revision := a.revision
	a.mu.Unlock()
	a.feed.Apply(revision+1, changes...)
}

func (a *fleetAgent) body(_ context.Context, k store.Key) ([]byte, int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.reports[k]
	if !ok {
		return nil, 0, store.ErrGone
	}
	return e.Body, e.Generation, nil
}

// start runs the uplinks of agents until the test ends.
func (f *fleet) start(agents []*fleetAgent) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	f.t.Cleanup(func() { cancel(); running.Wait() })
	for _, a := range agents {
		running.Go(func() {
			err := uplink.Run(ctx, uplink.Config{
				Dir: a.dir, Parents: []string{f.center.url}, Name: a.name, Desired: a.sink,
				Reported: a.feed, ReportedReady: a.ready,
				Conditions: &tunnel.Conditions{}, Log: discard(),
				Hello: func(context.Context) tunnel.Hello {
					return tunnel.Hello{AgentVersion: "fleet", KubernetesVersion: "v1.36.3"}
				},
				OnDial: func(uplink.Route) { a.dials.Add(1) },
			})
			if ctx.Err() == nil {
				f.t.Errorf("%s: %v", a.name, err)
			}
		})
	}
}

// allBack waits until each of these agents has had a hello since forget, and returns how long that
// took.
func (f *fleet) allBack(agents []*fleetAgent, since time.Time, limit time.Duration) time.Duration {
	f.t.Helper()
	f.most = 0
	for {
		missing := 0
		for _, a := range agents {
			if a.sink.hellos.Load() == 0 {
				missing++
			}
		}
		took := time.Since(since)
		if f.most == 0 && missing <= len(agents)/10 {
			f.most = took
		}
		if missing == 0 {
			return took
		}
		if took > limit {
			f.t.Fatalf("%d of %d agents have no session after %s", missing, len(agents), limit)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (f *fleet) forget() {
	for _, a := range f.agents {
		a.sink.hellos.Store(0)
		a.sink.commits.Store(0)
		a.dials.Store(0)
	}
}

// dialled says how the agents came the last time.
func (f *fleet) dialled() string {
	_, dials, _ := f.counts()
	return fmt.Sprintf("nine of ten after %.1f s; %d dials", f.most.Seconds(), dials)
}

func (f *fleet) counts() (commits, dials, most int64) {
	for _, a := range f.agents {
		commits += a.sink.commits.Load()
		dials += a.dials.Load()
		most = max(most, a.sink.commits.Load())
	}
	return commits, dials, most
}
