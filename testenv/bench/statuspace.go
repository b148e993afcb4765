package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// At statusPace changes a second of pacedGauges objects in turn, each changes every two seconds: seldom
// enough to be written at once.
const (
	statusPace  = 50
	pacedGauges = 100
)

// statusAtPace measures from a status change at the edge to the space, and bytes, while statuses change all
// the time: what saves bytes must not keep whoever looks waiting.
func (b *bench) statusAtPace(ctx context.Context) error {
	a, err := arrive(ctx, b.edge, gauges(ourNS), nameOf)
	if err != nil {
		return err
	}
	defer a.stop()
	for i := gaugeCount; i < pacedGauges; i++ {
		if err := b.ours.Create(ctx, gauges(ourNS), gauge(fmt.Sprint("g", i))); err != nil {
			return err
		}
	}
	for i := gaugeCount; i < pacedGauges; i++ {
		if _, err := a.wait(ctx, fmt.Sprint("g", i)); err != nil {
			return err
		}
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	seen, err := arrive(ctx, b.ours, gauges(ourNS), func(obj object) string {
		status, _ := obj["status"].(object)
		return fmt.Sprint(status["value"])
	})
	if err != nil {
		return err
	}
	defer seen.stop()
	before := b.link.bytes.Load()
	const n = 10 * statusPace
	answered := make([]time.Time, n)
	pace := time.NewTicker(time.Second / statusPace)
	defer pace.Stop()
	for i := range n {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		path := fmt.Sprintf("%s/g%d/status", gauges(ourNS), i%pacedGauges)
		if err := b.edge.MergePatch(ctx, path, object{"status": object{"value": fmt.Sprint("paced", i)}}); err != nil {
			return err
		}
		answered[i] = time.Now()
	}
	took := make([]time.Duration, n)
	for i := range n {
		at, err := seen.wait(ctx, fmt.Sprint("paced", i))
		if err != nil {
			return err
		}
		took[i] = max(0, at.Sub(answered[i]))
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	each := float64(b.link.bytes.Load()-before) / n
	for _, p := range []int{50, 90} {
		line := figure.Line{Figure: fmt.Sprintf("status-at-%d-a-second-p%d", statusPace, p), Unit: "ms", N: n,
			Value: figure.Percentile(took, float64(p)), Note: fmt.Sprintf("%.0f bytes each, with acks", each)}
		if p == 50 {
			line.Goal = figure.Of(50)
		}
		if err := b.print(line); err != nil {
			return err
		}
	}
	return nil
}
