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
		if err := b.roundTrips(ctx, w.ours, w.direct, relays, suffix, 30); err != nil {
			return err
		}
		if err := b.throughput(ctx, w.ours, w.direct, relays, suffix, 3); err != nil {
			return err
		}
	}
	b.say("measure streams over a round trip of 100 ms")
	w.link.SetRTT(100 * time.Millisecond)
	w.farLink.SetRTT(100 * time.Millisecond)
	if err := b.roundTrips(ctx, w.ours, w.far, 0, "-0-relays-rtt100", 10); err != nil {
		return err
	}
	if err := b.throughput(ctx, w.ours, w.far, 0, "-0-relays-rtt100", 1); err != nil {
		return err
	}
	w.link.SetRTT(0)
	w.farLink.SetRTT(0)
	if err := b.besideLog(ctx, w); err != nil {
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

// roundTrips measures a command that ends at once, and a log of one line, taking turns with the
// cluster itself.
func (b *bench) roundTrips(
	ctx context.Context,
	ours, direct *drive.Kube,
	relays int,
	suffix string,
	rounds int,
) error {
	pod := pods(streamsNS(relays)) + "/web"
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
		if err := b.print(figure.Line{Figure: m.name + suffix, Value: figure.Percentile(took, 50), Unit: "ms",
			Floor: figure.Of(figure.Percentile(floor, 50)), N: rounds,
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
	relays int,
	suffix string,
	rounds int,
) error {
	pod := pods(streamsNS(relays)) + "/log"
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

// besideLog measures how long an object takes to the site while logs of 100 MB come from there, one
// after the other, while they are read at the cluster itself, which needs as much of the machine
// and nothing of the link, and while none is read.
func (b *bench) besideLog(ctx context.Context, w *streamWays) error {
	b.say("measure the sync beside a log of 100 MB")
	b.edge = w.direct
	r := &route{from: w.ours, ns: streamsNS(0)}
	var quiet, itself, busy []time.Duration
	for range 3 {
		for _, m := range []struct {
			log  *drive.Kube // nil reads none
			into *[]time.Duration
		}{{nil, &quiet}, {w.direct, &itself}, {w.ours, &busy}} {
			stop := readLogs(ctx, m.log)
			took, err := b.oneByOne(ctx, r, "configmap", configMaps, configMap, 50)
			stop()
			if err != nil {
				return err
			}
			*m.into = append(*m.into, took...)
		}
	}
	for _, p := range []float64{50, 99} {
		if err := b.print(figure.Line{
			Figure: fmt.Sprintf("apply-to-edge-beside-log-p%.0f", p),
			Value:  figure.Percentile(busy, p),
			Unit:   "ms",
			Floor:  figure.Of(figure.Percentile(quiet, p)),
			N:      len(busy),
			Note: fmt.Sprintf("the floor is without a log; beside one that the cluster itself is "+
				"asked for: %.1f ms; goal: ratio <= 2", figure.Percentile(itself, p)),
		}); err != nil {
			return err
		}
	}
	return nil
}

// readLogs reads the log of 100 MB, one after the other, until it is stopped.
func readLogs(ctx context.Context, k *drive.Kube) (stop func()) {
	if k == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = readLog(ctx, k, pods(streamsNS(0))+"/log")
		}
	}()
	return func() { cancel(); <-ended }
}
