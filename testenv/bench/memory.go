package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// memory is what the kernel says of a process, in KiB, and what the process says itself: of its
// heap, what the last collection of garbage has found in use, and for how many events the watch
// caches of a center have room, which follows the rate of writes.
type memory struct{ rss, anon, live, events float64 }

func memoryOf(pid int) (m memory, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		key, value, _ := strings.Cut(sc.Text(), ":")
		n, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		switch key {
		case "VmRSS":
			m.rss = n
		case "RssAnon":
			m.anon = n
		}
	}
	if m.rss == 0 {
		return m, fmt.Errorf("process %d tells no VmRSS", pid)
	}
	return m, nil
}

// withLive is memoryOf with what the metrics of the process say at an address.
func withLive(ctx context.Context, pid int, address string) (m memory, err error) {
	if m, err = memoryOf(pid); err != nil {
		return m, err
	}
	err = scrape(ctx, address, func(family string, value float64) {
		switch family {
		case "go_gc_heap_live_bytes":
			m.live = value / 1024
		case "watch_cache_capacity":
			m.events += value
		}
	})
	if err == nil && m.live == 0 {
		return m, fmt.Errorf("process %d tells nothing of its heap", pid)
	}
	return m, err
}

// scrape reads the metrics that a process serves.
func scrape(ctx context.Context, address string, visit func(family string, value float64)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("read metrics of %s: %s", address, answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil { // else a comment
			family, _, _ := strings.Cut(name, "{")
			visit(family, value)
		}
	}
	return lines.Err()
}

// liveHeap collects the garbage of a center and returns what its heap holds then, in KiB.
func liveHeap(ctx context.Context, center *drive.Kube) (float64, error) {
	profile, err := center.Do(ctx, "GET", "/debug/pprof/heap?gc=1&debug=1", "", nil)
	if err != nil {
		return 0, fmt.Errorf("read the profile of the heap: %w", err)
	}
	const name = "# HeapAlloc = "
	for line := range strings.Lines(string(profile)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			bytes, err := strconv.ParseFloat(text, 64)
			return bytes / 1024, err
		}
	}
	return 0, fmt.Errorf("the profile of the heap has no line %q", name)
}

// settled returns the memory once it has been steady for a while: garbage is collected and returned
// only with time.
func settled(ctx context.Context, pid int) (m memory, err error) {
	last := memory{}
	for steady, tries := 0, 0; steady < 8 && tries < 60; tries++ {
		if m, err = memoryOf(pid); err != nil {
			return m, err
		}
		if d := m.rss - last.rss; d > -1024 && d < 1024 {
			steady++
		} else {
			steady = 0
		}
		last = m
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return m, ctx.Err()
		}
	}
	return m, nil
}

// centerMemory measures a center of its own: start to ready, idle, and what empty spaces cost.
func (b *bench) centerMemory(ctx context.Context) error {
	b.say("measure a center with 0, 100 and 1,000 empty spaces")
	var starts []float64
	for i := range 5 {
		c, err := b.StartCenter(ctx, fmt.Sprintf("start-%d", i), "")
		if err != nil {
			return err
		}
		starts = append(starts, float64(c.Ready.Milliseconds()))
		c.Stop()
	}
	if err := b.print(figure.Line{Figure: "center-start-to-ready", Value: figure.Median(starts), Unit: "ms",
		Goal: figure.Of(1000), N: len(starts)}); err != nil {
		return err
	}
	c, err := b.StartCenter(ctx, "memory", "")
	if err != nil {
		return err
	}
	defer c.Stop()
	k, err := drive.OpenKube(c.Kubeconfig)
	if err != nil {
		return err
	}
	idle, err := settled(ctx, c.PID())
	if err != nil {
		return err
	}
	if err := b.print(figure.Line{Figure: "center-rss-idle", Value: idle.rss / 1024, Unit: "MiB", Goal: figure.Of(160),
		N: 1}); err != nil {
		return err
	}
	// The first space is the first write of all: it brings code and buffers that no further space
	// brings again, so it is a figure of its own.
	made, before := 0, idle
	for _, n := range []int{1, 100, 1000} {
		began := time.Now()
		for ; made < n; made++ {
			if err := makeSpace(ctx, k, fmt.Sprintf("s%04d", made)); err != nil {
				return err
			}
		}
		err := drive.Until(ctx, time.Minute, "the last space is ready", func(ctx context.Context) error {
			_, err := k.Do(ctx, "GET", fmt.Sprintf("/clusters/s%04d/api/v1/namespaces/default", n-1), "", nil)
			return err
		})
		if err != nil {
			return err
		}
		took := time.Since(began)
		m, err := settled(ctx, c.PID())
		if err != nil {
			return err
		}
		f := figure.Line{Figure: fmt.Sprintf("center-rss-per-space-%d", n), Value: (m.rss - before.rss) / float64(n-1),
			Unit: "KiB", Goal: figure.Of(40), N: n - 1,
			Note: fmt.Sprintf("RSS %.0f MiB; the last ones made in %.1f s", m.rss/1024, took.Seconds())}
		if n == 1 {
			f.Figure, f.Value, f.Goal, f.N, before = "center-rss-first-space", m.rss-idle.rss, nil, 1, m
			f.Note = "once, not for each space"
		}
		if err := b.print(f); err != nil {
			return err
		}
	}
	return nil
}

// agentMemory measures the agent with 200 objects and 500 pods on its target.
func (b *bench) agentMemory(ctx context.Context) error {
	if err := b.nodes(ctx, 8); err != nil {
		return err
	}
	idle, err := settled(ctx, b.agent.PID())
	if err != nil {
		return err
	}
	if err := b.printMemory("agent", "before the load", idle); err != nil {
		return err
	}
	for i := range 150 {
		if err := b.ours.Create(ctx, configMaps(ourNS), configMap(fmt.Sprintf("load-%d", i))); err != nil {
			return err
		}
	}
	for i := range 50 {
		if err := b.ours.Create(ctx, deployments(ourNS), deployment(fmt.Sprintf("load-%d", i), 10)); err != nil {
			return err
		}
	}
	if err := b.runningPods(ctx, b.ours, 500); err != nil {
		return err
	}
	loaded, err := settled(ctx, b.agent.PID())
	if err != nil {
		return err
	}
	return b.printMemory("agent-200-objects-500-pods", "", loaded)
}

func (b *bench) printMemory(name, note string, m memory) error {
	if err := b.print(figure.Line{Figure: name + "-rss", Value: m.rss / 1024, Unit: "MiB", Goal: figure.Of(45), N: 1,
		Note: note}); err != nil {
		return err
	}
	return b.print(figure.Line{Figure: name + "-rss-anon", Value: m.anon / 1024, Unit: "MiB", Goal: figure.Of(15),
		N: 1, Note: note})
}

// runningPods waits until the API shows at least n running pods in our namespace.
func (b *bench) runningPods(ctx context.Context, k *drive.Kube, n int) error {
	return drive.Until(ctx, 3*time.Minute+time.Duration(n)*100*time.Millisecond, fmt.Sprintf("%d running pods", n),
		func(ctx context.Context) error {
			data, err := k.Do(ctx, "GET", pods(ourNS)+"?fieldSelector=status.phase%3DRunning", "", nil)
			if err != nil {
				return err
			}
			if got := strings.Count(string(data), `"phase":"Running"`); got < n {
				return fmt.Errorf("%d of %d", got, n)
			}
			return nil
		})
}

// nodes gives the simulated edge enough nodes for the load.
func (b *bench) nodes(ctx context.Context, n int) error {
	for i := range n {
		name := fmt.Sprintf("bench-node-%d", i)
		resources := object{"cpu": "32", "memory": "64Gi", "pods": "110"}
		err := b.edge.Create(ctx, "/api/v1/nodes", object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name,
			"annotations": object{"kwok.x-k8s.io/node": "fake"},
			"labels":      object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
			"status": object{"allocatable": resources, "capacity": resources}})
		if se, ok := err.(*drive.StatusError); ok && se.Code == 409 {
			continue // made for an earlier figure
		} else if err != nil {
			return err
		}
	}
	return nil
}
