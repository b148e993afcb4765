package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// gaugeCount is how many objects change in turn: one whose status changes all the time is not written at
// once.
const gaugeCount = 25

// gauge is the name of the object whose status changes next.
func (r *route) gauge() string { return fmt.Sprint("g", r.sequence%max(1, r.gauges)) }

// status measures from a status change at the edge to the upstream object showing it, on both ways,
// taking turns.
func (b *bench) status(ctx context.Context) error {
	stop, err := floor(ctx, b.edge, b.up, gauges(floorNS), statusTo(gauges(floorNS)))
	if err != nil {
		return err
	}
	defer stop()
	for _, k := range []*drive.Kube{b.up, b.edge} {
		for i := range gaugeCount {
			if err := k.Create(ctx, gauges(floorNS), gauge(fmt.Sprint("g", i))); err != nil {
				return err
			}
		}
	}
	if err := b.placeGauge(ctx); err != nil {
		return err
	}
	base, ours := &route{from: b.up, ns: floorNS, gauges: gaugeCount},
		&route{from: b.ours, ns: ourNS, gauges: gaugeCount}
	var floorTimes, ourTimes []time.Duration
	for range 4 {
		for _, r := range []*route{base, ours} {
			took, err := b.statusBack(ctx, r, 25, 100*time.Millisecond)
			if err != nil {
				return err
			}
			if r == base {
				floorTimes = append(floorTimes, took...)
			} else {
				ourTimes = append(ourTimes, took...)
			}
		}
	}
	if err := b.print(figure.Line{Figure: "status-back-p50", Value: figure.Percentile(ourTimes, 50), Unit: "ms",
		Floor: figure.Of(figure.Percentile(floorTimes, 50)),
		Goal:  figure.Of(15), N: len(ourTimes)}); err != nil {
		return err
	}
	if err := b.statusAtPace(ctx); err != nil {
		return err
	}
	b.link.SetRTT(100 * time.Millisecond)
	defer b.link.SetRTT(0)
	far, err := b.statusBack(ctx, ours, 30, 300*time.Millisecond)
	if err != nil {
		return err
	}
	return b.print(figure.Line{Figure: "status-back-rtt100-p50", Value: figure.Percentile(far, 50), Unit: "ms",
		Goal: figure.Of(70), N: len(far)})
}

// needGauge places them, unless another figure has.
func (b *bench) needGauge(ctx context.Context) error {
	if _, err := b.ours.Do(ctx, "GET", gauges(ourNS)+"/g0", "", nil); err == nil {
		return nil
	}
	return b.placeGauge(ctx)
}

// placeGauge writes the measured objects into the space and waits until they are at the edge.
func (b *bench) placeGauge(ctx context.Context) error {
	a, err := arrive(ctx, b.edge, gauges(ourNS), nameOf)
	if err != nil {
		return err
	}
	defer a.stop()
	for i := range gaugeCount {
		if err := b.ours.Create(ctx, gauges(ourNS), gauge(fmt.Sprint("g", i))); err != nil {
			return err
		}
	}
	for i := range gaugeCount {
		if _, err := a.wait(ctx, fmt.Sprint("g", i)); err != nil {
			return err
		}
	}
	return nil
}

// statusBack changes the status at the edge n times, one after another with a pause between, and
// times each on the way back.
func (b *bench) statusBack(ctx context.Context, r *route, n int, pause time.Duration) ([]time.Duration, error) {
	a, err := arrive(ctx, r.from, gauges(r.ns), func(obj object) string {
		status, _ := obj["status"].(object)
		return fmt.Sprint(status["value"])
	})
	if err != nil {
		return nil, err
	}
	defer a.stop()
	var took []time.Duration
	for range n {
		r.sequence++
		value := fmt.Sprintf("v%d", r.sequence)
		path := gauges(r.ns) + "/" + r.gauge() + "/status"
		if err := b.edge.MergePatch(ctx, path, object{"status": object{"value": value}}); err != nil {
			return nil, err
		}
		answered := time.Now()
		at, err := a.wait(ctx, value)
		if err != nil {
			return nil, err
		}
		took = append(took, max(0, at.Sub(answered)))
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return took, nil
}
