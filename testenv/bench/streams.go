package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// streams measures logs and exec through no relay, one and two, beside the cluster's own API server;
// what a busy stream does to the sync beside it; and what streams leave behind.
func (b *bench) streams(ctx context.Context) error {
	w, err := b.startWays(ctx)
	if err != nil {
		return err
	}
	before, err := w.sizes(ctx, 20*time.Second)
	if err != nil {
		return err
	}
	for relays := range 3 {
		b.say("measure streams through %d relays", relays)
		suffix := fmt.Sprintf("-%d-relays", relays)
		goal := time.Duration(relays+1) * tierGoal
		if err := b.roundTrips(ctx, w.ours, w.direct, streamsNS(relays), suffix, goal, 30); err != nil {
			return err
		}
		if err := b.throughput(ctx, w.ours, w.direct, streamsNS(relays), suffix, 3); err != nil {
			return err
		}
	}
	if err := b.streamsFar(ctx, w); err != nil {
		return err
	}
	if err := b.besideLog(ctx, w); err != nil {
		return err
	}
	if err := b.heartbeatsBesideLog(ctx, w); err != nil {
		return err
	}
	b.say("wait for two minutes without streams")
	after, err := w.sizes(ctx, 2*time.Minute)
	if err != nil {
		return err
	}
	for i, p := range w.watched {
		if err := b.print(figure.Line{Figure: "streams-rss-" + p.name, Value: after[i].rss / 1024, Unit: "MiB",
			Floor: figure.Of(before[i].rss / 1024), N: 1,
			Note: "2 min after the last stream; the floor is before the first"}); err != nil {
			return err
		}
	}
	return b.killedStreams(ctx, w, after)
}

// onlyKilled is the last part of streams alone.
func (b *bench) onlyKilled(ctx context.Context) error {
	w, err := b.startWays(ctx)
	if err != nil {
		return err
	}
	before, err := w.sizes(ctx, 20*time.Second)
	if err != nil {
		return err
	}
	return b.killedStreams(ctx, w, before)
}

// tierGoal is what a tier may add to an exchange on loopback.
const tierGoal = 5 * time.Millisecond

// roundTrips measures a command that ends at once, and a log of one line, taking turns with the
// cluster itself. goal is how much longer than there it may take.
func (b *bench) roundTrips(
	ctx context.Context,
	ours, direct *drive.Kube,
	ns, suffix string,
	goal time.Duration,
	rounds int,
) error {
	pod := pods(ns) + "/web"
	for _, m := range []struct {
		name string
		once func(context.Context, *drive.Kube, string) (time.Duration, error)
	}{{"exec-round-trip", execOnce}, {"log-first-byte", firstByte}} {
		var took, floor []time.Duration
		for range rounds {
			for _, k := range []*drive.Kube{direct, ours} {
				d, err := m.once(ctx, k, pod)
				if err != nil {
					return fmt.Errorf("%s%s: %w", m.name, suffix, err)
				}
				if k == ours {
					took = append(took, d)
				} else {
					floor = append(floor, d)
				}
			}
		}
		direct := figure.Percentile(floor, 50)
		if err := b.print(figure.Line{Figure: m.name + suffix, Value: figure.Percentile(took, 50), Unit: "ms",
			Floor: figure.Of(direct), Goal: figure.Of(direct + goal.Seconds()*1000), N: rounds,
			Note: fmt.Sprintf("median, over a connection that stands; p90 %.1f, of the floor %.1f",
				figure.Percentile(took, 90), figure.Percentile(floor, 90))}); err != nil {
			return err
		}
	}
	return nil
}

func execOnce(ctx context.Context, k *drive.Kube, pod string) (time.Duration, error) {
	conn, err := k.Dial(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	began := time.Now()
	if _, err := conn.Exec(pod, "/app", "env"); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

func firstByte(ctx context.Context, k *drive.Kube, pod string) (time.Duration, error) {
	began := time.Now()
	log, err := k.Open(ctx, pod+"/log?tailLines=1")
	if err != nil {
		return 0, err
	}
	defer log.Close()
	_, err = io.ReadFull(log, make([]byte, 1))
	took := time.Since(began)
	_, _ = io.Copy(io.Discard, log)
	return took, err
}

// throughput reads a whole log of 100 MB.
func (b *bench) throughput(
	ctx context.Context,
	ours, direct *drive.Kube,
	ns, suffix string,
	rounds int,
) error {
	pod := pods(ns) + "/log"
	var took, floor []float64
	for range rounds {
		for _, k := range []*drive.Kube{direct, ours} {
			rate, err := readLog(ctx, k, pod)
			if err != nil {
				return fmt.Errorf("log-throughput%s: %w", suffix, err)
			}
			if k == ours {
				took = append(took, rate)
			} else {
				floor = append(floor, rate)
			}
		}
	}
	return b.print(
		figure.Line{Figure: "log-throughput" + suffix, Value: figure.Median(took), Unit: "MB/s",
			Floor: figure.Of(figure.Median(floor)), N: rounds,
			Note: fmt.Sprintf(
				"a log of 100 MB; goal: ratio >= 0.7; each: %.1f; of the floor: %.1f",
				took,
				floor,
			)},
	)
}

func readLog(ctx context.Context, k *drive.Kube, pod string) (megabytes float64, err error) {
	began := time.Now()
	log, err := k.Open(ctx, pod+"/log")
	if err != nil {
		return 0, err
	}
	defer log.Close()
	n, err := io.Copy(io.Discard, log)
	if err == nil && n != logMiB<<20 {
		err = fmt.Errorf("the log has %d bytes of %d", n, logMiB<<20)
	}
	return float64(n) / 1e6 / time.Since(began).Seconds(), err
}
