package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// route is one way from an API to the edge.
type route struct {
	from     *drive.Kube
	ns       string
	sequence int
	gauges   int // that change in turn; 0 is one
}

// apply measures from the API's answer to the object existing at the edge, on both ways, taking
// turns so that both see the same machine.
func (b *bench) apply(ctx context.Context) error {
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for _, path := range []func(string) string{configMaps, deployments} {
		stop, err := floor(ctx, b.up, b.edge, path(floorNS), applyTo(path(floorNS)))
		if err != nil {
			return err
		}
		stops = append(stops, stop)
	}
	base, ours := &route{from: b.up, ns: floorNS}, &route{from: b.ours, ns: ourNS}
	for _, m := range []struct {
		name   string
		path   func(string) string
		make   func(string) object
		rounds int
		each   int
	}{
		{"configmap", configMaps, configMap, 4, 50},
		{"deployment", deployments, func(n string) object { return deployment(n, 0) }, 2, 25},
	} {
		var floorTimes, ourTimes []time.Duration
		for range m.rounds {
			for _, r := range []*route{base, ours} {
				took, err := b.oneByOne(ctx, r, m.name, m.path, m.make, m.each)
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
		for _, p := range []float64{50, 99} {
			f := figure.Line{Figure: fmt.Sprintf("apply-to-edge-%s-p%.0f", m.name, p), Value: figure.Percentile(ourTimes,
				p), Unit: "ms",
				Floor: figure.Of(figure.Percentile(floorTimes, p)), N: len(ourTimes)}
			if p == 50 {
				f.Note = "goal: ratio <= 1.3"
			}
			if err := b.print(f); err != nil {
				return err
			}
		}
	}
	if err := b.bursts(ctx, base, ours); err != nil {
		return err
	}
	b.link.SetRTT(100 * time.Millisecond)
	defer b.link.SetRTT(0)
	far, err := b.oneByOne(ctx, ours, "configmap-far", configMaps, configMap, 50)
	if err != nil {
		return err
	}
	return b.print(figure.Line{Figure: "apply-to-edge-configmap-rtt100-p50", Value: figure.Percentile(far, 50),
		Unit: "ms", Goal: figure.Of(70), N: len(far)})
}

func (b *bench) oneByOne(ctx context.Context, r *route, kind string, path func(string) string,
	make func(string) object, n int) ([]time.Duration, error) {
	a, err := arrive(ctx, b.edge, path(r.ns), nameOf)
	if err != nil {
		return nil, err
	}
	defer a.stop()
	var took []time.Duration
	for range n {
		r.sequence++
		name := fmt.Sprintf("%s-%d", kind, r.sequence)
		if err := r.from.Create(ctx, path(r.ns), make(name)); err != nil {
			return nil, err
		}
		answered := time.Now()
		at, err := a.wait(ctx, name)
		if err != nil {
			return nil, err
		}
		took = append(took, max(0, at.Sub(answered)))
	}
	return took, nil
}

// bursts measures how long 100 objects, written by 10 writers at once, take until the last is at
// the edge.
func (b *bench) bursts(ctx context.Context, base, ours *route) error {
	var floorTimes, ourTimes []float64
	for range 3 {
		for _, r := range []*route{base, ours} {
			took, err := b.burst(ctx, r, 100)
			if err != nil {
				return err
			}
			if r == base {
				floorTimes = append(floorTimes, took)
			} else {
				ourTimes = append(ourTimes, took)
			}
		}
	}
	return b.print(figure.Line{Figure: "apply-to-edge-burst-100", Value: figure.Median(ourTimes), Unit: "ms",
		Floor: figure.Of(figure.Median(floorTimes)), N: len(ourTimes),
		Note: "goal: ratio <= 1.5"})
}

func (b *bench) burst(ctx context.Context, r *route, n int) (float64, error) {
	a, err := arrive(ctx, b.edge, configMaps(r.ns), nameOf)
	if err != nil {
		return 0, err
	}
	defer a.stop()
	r.sequence++
	prefix := fmt.Sprintf("burst-%d", r.sequence)
	began := time.Now()
	if err := sideBySide(10, n, func(i int) error {
		return r.from.Create(ctx, configMaps(r.ns), configMap(fmt.Sprintf("%s-%d", prefix, i)))
	}); err != nil {
		return 0, err
	}
	last := began
	for i := range n {
		at, err := a.wait(ctx, fmt.Sprintf("%s-%d", prefix, i))
		if err != nil {
			return 0, err
		}
		if at.After(last) {
			last = at
		}
	}
	return float64(last.Sub(began).Microseconds()) / 1000, nil
}
