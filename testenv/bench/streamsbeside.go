package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// besideLog measures how long an object takes to the site while logs of 100 MB come from there, one
// after the other, while they are read at the cluster itself, which needs as much of the machine
// and nothing of the link, and while none is read.
func (b *bench) besideLog(ctx context.Context, w *streamWays) error {
	b.say("measure the sync beside a log of 100 MB")
	b.edge = w.direct
	r := &route{from: w.ours, ns: streamsNS(0)}
	configMapsThere := func() ([]time.Duration, error) {
		return b.oneByOne(ctx, r, "configmap", configMaps, configMap, 50)
	}
	return b.besideLogs(ctx, w, streamsNS(0), "apply-to-edge-beside-log", "the floor is without a log", configMapsThere)
}

// besideLogs measures in three rounds: without a log, beside those of a namespace that the cluster
// itself is asked for, and beside those that come from the site. It prints percentiles of the last
// beside those of the first.
func (b *bench) besideLogs(
	ctx context.Context,
	w *streamWays,
	ns, name, note string,
	measure func() ([]time.Duration, error),
) error {
	var quiet, itself, busy []time.Duration
	for range 3 {
		for _, m := range []struct {
			log  *drive.Kube // nil reads none
			into *[]time.Duration
		}{{nil, &quiet}, {w.direct, &itself}, {w.ours, &busy}} {
			stop := readLogs(ctx, m.log, ns)
			took, err := measure()
			if err := errors.Join(err, stop()); err != nil {
				return err
			}
			*m.into = append(*m.into, took...)
		}
	}
	for _, p := range []float64{50, 99} {
		if err := b.print(figure.Line{
			Figure: fmt.Sprintf("%s-p%.0f", name, p),
			Value:  figure.Percentile(busy, p),
			Unit:   "ms",
			Floor:  figure.Of(figure.Percentile(quiet, p)),
			N:      len(busy),
			Note: fmt.Sprintf("%s; beside one that the cluster itself is asked for: %.1f ms; goal: ratio <= 2",
				note, figure.Percentile(itself, p)),
		}); err != nil {
			return err
		}
	}
	return nil
}

// readLogs reads the log of 100 MB of a namespace, again and again, until it is stopped.
func readLogs(ctx context.Context, k *drive.Kube, ns string) (stop func() error) {
	if k == nil {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		for {
			_, err := readLog(ctx, k, pods(ns)+"/log")
			if ctx.Err() != nil {
				err = nil // it was stopped in the middle
			} else if err == nil {
				continue
			}
			failed <- err
			return
		}
	}()
	return func() error { cancel(); return <-failed }
}

// Each session beats some 6 s after the last time that something came.
const (
	beatsOfSession = 12 // in each of three rounds
	beatLimit      = 30 * time.Second
)

// heartbeatsBesideLog measures the round trip of the heartbeats of three sessions, of two relays and
// of the agent below them, while logs of 100 MB come over their data connections, while the cluster
// itself is asked for them, and while none is read. A session whose data connection is busy is
// silent, so it beats as often as an idle one.
func (b *bench) heartbeatsBesideLog(ctx context.Context, w *streamWays) error {
	b.say("measure heartbeats beside a log of 100 MB")
	heartbeats := func() ([]time.Duration, error) {
		return w.heartbeats(ctx, "upper-relay", "lower-relay", "agent-below-two")
	}
	return b.besideLogs(ctx, w, streamsNS(2), "heartbeat-beside-log",
		"of three sessions in a row; the floor is without a log", heartbeats)
}

// beats are the heartbeats of a session so far: how many, and what they took in all, in seconds.
type beats struct{ n, seconds float64 }

func beatsOf(ctx context.Context, p *watched) (s beats, err error) {
	err = scrape(ctx, string(p.metrics), func(family string, value float64) {
		switch family {
		case "skerry_link_heartbeat_seconds_count":
			s.n = value
		case "skerry_link_heartbeat_seconds_sum":
			s.seconds = value
		}
	})
	return s, err
}

// heartbeats waits for the next heartbeats of some processes and returns what each took. Two that
// come between two looks count as long as both together.
func (w *streamWays) heartbeats(ctx context.Context, names ...string) (took []time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, beatsOfSession*beatLimit)
	defer cancel()
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	last, counted := map[string]beats{}, map[string]float64{}
	for missing := true; missing; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %d heartbeats each: %w; there were %v",
				beatsOfSession, ctx.Err(), counted)
		}
		missing = false
		for _, p := range w.watched {
			if !slices.Contains(names, p.name) {
				continue
			}
			now, err := beatsOf(ctx, p)
			if err != nil {
				return nil, err
			}
			if before, known := last[p.name]; known {
				for range int(now.n - before.n) {
					took = append(took, time.Duration((now.seconds-before.seconds)*float64(time.Second)))
					counted[p.name]++
				}
			}
			last[p.name] = now
			missing = missing || counted[p.name] < beatsOfSession
		}
	}
	return took, nil
}
