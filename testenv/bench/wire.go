package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// wire counts the bytes between agent and center, payload of UDP datagrams in both directions.
func (b *bench) wire(ctx context.Context) error {
	if err := b.bytesPerDeployment(ctx); err != nil {
		return err
	}
	if err := b.idleBytes(ctx); err != nil {
		return err
	}
	if err := b.bytesPerStatus(ctx); err != nil {
		return err
	}
	return b.bytesPerRollout(ctx)
}

// quiet waits until nothing has crossed the link for a second, at most half a minute.
func (b *bench) quiet(ctx context.Context) error {
	last, since := b.link.bytes.Load(), time.Now()
	for began := time.Now(); time.Since(since) < time.Second && time.Since(began) < 30*time.Second; {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if now := b.link.bytes.Load(); now != last {
			last, since = now, time.Now()
		}
	}
	return nil
}

func (b *bench) idleBytes(ctx context.Context) error {
	const (
		watched = 2 * time.Minute
		told    = 70 * time.Second // an agent looks each minute what its cluster's pods request, and tells it
	)
	b.say("watch the idle link for %s", watched)
	select {
	case <-time.After(told):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	before, packets := b.link.bytes.Load(), b.link.packets.Load()
	select {
	case <-time.After(watched):
	case <-ctx.Done():
		return ctx.Err()
	}
	per := float64(time.Hour / watched)
	return b.print(figure.Line{Figure: "wire-idle-per-hour", Value: float64(b.link.bytes.Load()-before) * per,
		Unit: "B", Goal: figure.Of(1e6 / 24), N: 1,
		Note: fmt.Sprintf("measured over %s; %.0f packets an hour", watched, float64(b.link.packets.Load()-packets)*per)})
}

func (b *bench) bytesPerDeployment(ctx context.Context) error {
	var each []float64
	raw, err := json.Marshal(deployment("wire-0", 0))
	if err != nil {
		return err
	}
	a, err := arrive(ctx, b.edge, deployments(ourNS), nameOf)
	if err != nil {
		return err
	}
	defer a.stop()
	for i := range 10 {
		name := fmt.Sprintf("wire-%d", i)
		if err := b.quiet(ctx); err != nil {
			return err
		}
		before := b.link.bytes.Load()
		if err := b.ours.Create(ctx, deployments(ourNS), deployment(name, 0)); err != nil {
			return err
		}
		if _, err := a.wait(ctx, name); err != nil {
			return err
		}
		if err := b.quiet(ctx); err != nil {
			return err
		}
		each = append(each, float64(b.link.bytes.Load()-before))
	}
	return b.print(figure.Line{Figure: "wire-per-placed-deployment", Value: figure.Median(each), Unit: "B",
		Goal: figure.Of(700), N: len(each),
		Note: fmt.Sprintf("with acks and the status that comes back; the object alone is %d B of JSON", len(raw))})
}

func (b *bench) bytesPerStatus(ctx context.Context) error {
	if err := b.needGauge(ctx); err != nil {
		return err
	}
	var each []float64
	r := &route{from: b.ours, ns: ourNS, sequence: 100_000}
	for range 10 {
		if err := b.quiet(ctx); err != nil {
			return err
		}
		before := b.link.bytes.Load()
		if _, err := b.statusBack(ctx, r, 1, 0); err != nil {
			return err
		}
		if err := b.quiet(ctx); err != nil {
			return err
		}
		each = append(each, float64(b.link.bytes.Load()-before))
	}
	return b.print(figure.Line{Figure: "wire-per-status-update-alone", Value: figure.Median(each), Unit: "B",
		Goal: figure.Of(400), N: len(each)})
}

// bytesPerRollout counts the status updates of pods while a Deployment of 50 rolls, and the bytes
// that crossed meanwhile.
func (b *bench) bytesPerRollout(ctx context.Context) error {
	if err := b.nodes(ctx, 4); err != nil {
		return err
	}
	if err := b.ours.Create(ctx, deployments(ourNS), deployment("rolling", 50)); err != nil {
		return err
	}
	if err := b.rolledOut(ctx, "rolling", 50); err != nil {
		return err
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	u, err := countUpdates(ctx, b.edge, pods(ourNS))
	if err != nil {
		return err
	}
	before := b.link.bytes.Load()
	if err := b.ours.MergePatch(ctx, deployments(ourNS)+"/rolling",
		object{"spec": object{"template": object{"metadata": object{
			"annotations": object{"rolled": "once"}}}}}); err != nil {
		return err
	}
	if err := b.rolledOut(ctx, "rolling", 50); err != nil {
		return err
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	u.stop()
	crossed := float64(b.link.bytes.Load() - before)
	return b.print(figure.Line{Figure: "wire-per-status-update-rolling-50", Value: crossed / float64(u.n), Unit: "B",
		Goal: figure.Of(110), N: u.n,
		Note: fmt.Sprintf("all bytes of the rollout by pod updates at the edge; the same updates as JSON: %d B each, "+
			"each compressed alone by zstd: %d B",
			u.bytes/max(1, u.n), u.packed/max(1, u.n))})
}

// rolledOut waits until the space shows that the rollout is complete.
func (b *bench) rolledOut(ctx context.Context, name string, n int) error {
	_, err := b.K(ctx, b.spaceConfig, "rollout", "status", "-n", ourNS, "deployment/"+name, "--timeout=120s")
	if err != nil {
		return err
	}
	return b.runningPods(ctx, b.edge, n)
}

// updates counts the events of a collection, and their bytes: as JSON, and each compressed by
// itself.
type updates struct {
	mu               sync.Mutex
	n, bytes, packed int
	stop             func()
}

func countUpdates(ctx context.Context, k *drive.Kube, path string) (*updates, error) {
	ctx, cancel := context.WithCancel(ctx)
	u := &updates{}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		cancel()
		return nil, err
	}
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- k.Watch(ctx, path, began, func(typ string, _ time.Time, raw json.RawMessage) {
			if typ == "BOOKMARK" {
				return
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			u.n++
			u.bytes += len(raw)
			u.packed += len(encoder.EncodeAll(raw, nil))
		})
	}()
	select {
	case <-began:
	case err := <-ended:
		cancel()
		return nil, err
	}
	u.stop = func() { cancel(); <-ended }
	return u, nil
}
