package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// flashObjects is how many objects the site has whose flash is spared, flashIdle for how long
// nothing happens to them, and flashBusy for how long something does once a second.
const (
	flashObjects = 1000
	flashIdle    = 5 * time.Minute
	flashBusy    = time.Minute
)

// flash counts how often an agent makes its file durable, and what it writes: when nothing happens,
// when the status of an object changes at the site once a second, and when an object changes in the
// space once a second. The last has no goal: what is acknowledged is durable, so it is two syncs at
// least.
func (b *bench) flash(ctx context.Context) error {
	if err := b.needGauge(ctx); err != nil {
		return err
	}
	if err := sideBySide(8, flashObjects, func(i int) error {
		return b.ours.Create(ctx, configMaps(ourNS), configMap(fmt.Sprint("flash-", i)))
	}); err != nil {
		return err
	}
	if err := errors.Join(b.quiet(ctx), b.quiet(ctx)); err != nil {
		return err
	}
	r := &route{from: b.ours, ns: ourNS, sequence: 200_000, gauges: gaugeCount}
	for _, c := range []struct {
		name, what string
		during     time.Duration
		goal       *float64
		second     func(n int) error
	}{
		{"idle", "nothing happens", flashIdle, figure.Of(1.0 / 300), func(int) error { return nil }},
		{"status", "the status of an object changes each second", flashBusy, figure.Of(0.2), func(int) error {
			_, err := b.statusBack(ctx, r, 1, 0)
			return err
		}},
		{"desired", "one object changes each second in the space", flashBusy, nil, func(n int) error {
			return b.ours.MergePatch(ctx, configMaps(ourNS)+"/flash-7", object{"data": object{"second": fmt.Sprint(n)}})
		}},
	} {
		before, err := b.settled(ctx)
		if err != nil {
			return err
		}
		b.say("watch the agent's file for %s while %s", c.during, c.what)
		began := time.Now()
		for n := 1; time.Since(began) < c.during; n++ {
			if err := c.second(n); err != nil {
				return err
			}
			select {
			case <-time.After(time.Until(began.Add(time.Duration(n) * time.Second))):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		after, err := b.written(ctx)
		if err != nil {
			return err
		}
		syncs, seconds := after.syncs-before.syncs, time.Since(began).Seconds()
		if err := b.print(figure.Line{Figure: "flash-" + c.name + "-syncs", Value: syncs / seconds, Unit: "/s",
			Goal: c.goal, N: int(syncs),
			Note: fmt.Sprintf("%d objects; %s, for %.0f s; %.0f B written", flashObjects, c.what, seconds,
				after.bytes-before.bytes)}); err != nil {
			return err
		}
	}
	return nil
}

// fileRests is how long nothing is written when all that has happened is: what need not be durable
// at once waits for less.
const fileRests = 8 * time.Second

// settled returns when what happened before is written.
func (b *bench) settled(ctx context.Context) (written, error) {
	now, err := b.written(ctx)
	for since := time.Now(); err == nil && time.Since(since) < fileRests; {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return now, ctx.Err()
		}
		before := now
		if now, err = b.written(ctx); now != before {
			since = time.Now()
		}
	}
	return now, err
}

// written is what an agent has done to its file so far.
type written struct{ syncs, bytes float64 }

func (b *bench) written(ctx context.Context) (w written, err error) {
	found := false
	err = scrape(ctx, string(b.scraped.agent), func(family string, value float64) {
		switch family {
		case "skerry_store_fsyncs_total":
			w.syncs, found = value, true
		case "skerry_store_bytes_written_total":
			w.bytes = value
		}
	})
	if err == nil && !found {
		err = errors.New("the agent does not tell how often it makes its file durable")
	}
	return w, err
}
