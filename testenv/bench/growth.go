package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// How growth is measured. For soakWarm a process may fill what has a bound: the first five minutes
// roll each Deployment once, the center's watch caches keep some minutes of events, and the bodies
// that it makes patches against come to their 2 MB in a quarter of an hour. What comes after is
// compared with itself: the median of the last third of the samples with that of the first.
const (
	soakSamples = 15 * time.Second
	soakWarm    = 20 * time.Minute
	soakLeast   = soakWarm + 10*time.Minute
)

// address is where a process serves its metrics; empty when it does not.
type address string

func (a address) args() []string {
	if a == "" {
		return nil
	}
	return []string{"--metrics-listen", string(a)}
}

// scraped is where center and agent serve their metrics.
type scraped struct{ center, agent address }

func freeAddresses() (s scraped, err error) {
	for _, a := range []*address{&s.center, &s.agent} {
		free, err := drive.FreeAddress()
		if err != nil {
			return s, err
		}
		*a = address(free)
	}
	return s, nil
}

// growth is what a process held in the course of a soak.
type growth struct {
	name    string
	pid     int
	metrics address
	samples []sample
	warm    int // how many of the samples are from before the process was warm
}

// sample is a moment: what the process held, and how many Pods there were. A cluster that is slow
// to remove Pods has more of them, and so have all caches.
type sample struct {
	memory
	pods float64
}

func (g *growth) sample(ctx context.Context, after time.Duration, pods int) error {
	m, err := withLive(ctx, g.pid, string(g.metrics))
	if err != nil {
		return err
	}
	if g.samples = append(g.samples, sample{m, float64(pods)}); after < soakWarm {
		g.warm = len(g.samples)
	}
	return nil
}

func (g *growth) last() string {
	m := g.samples[len(g.samples)-1]
	out := fmt.Sprintf("RSS %.1f MiB, anonymous %.1f, live heap %.1f", m.rss/1024, m.anon/1024, m.live/1024)
	if m.events > 0 {
		out += fmt.Sprintf(", watch caches of %.0f events", m.events)
	}
	return out
}

// print prints by how much each part of the memory grew. What live heap does not do, garbage
// between collections and holes between objects do.
func (g *growth) print(r report, note string) error {
	third := (len(g.samples) - g.warm) / 3
	if third < 3 {
		return fmt.Errorf("%d samples of %s are too few to tell its growth: soak for longer", len(g.samples), g.name)
	}
	first, last := g.samples[g.warm:g.warm+third], g.samples[len(g.samples)-third:]
	pods := func(s sample) float64 { return s.pods }
	for _, v := range []struct {
		what  string
		value func(sample) float64
	}{{"rss", func(s sample) float64 { return s.rss }}, {"anon", func(s sample) float64 { return s.anon }},
		{"live-heap", func(s sample) float64 { return s.live }}} {
		before, after := medianOf(first, v.value), medianOf(last, v.value)
		if err := r.print(figure.Line{Figure: fmt.Sprintf("%s-%s-growth", g.name, v.what),
			Value: 100 * (after - before) / before, Unit: "%", Goal: figure.Of(1),
			N: len(g.samples) - g.warm, Note: fmt.Sprintf("%.1f -> %.1f MiB with %.0f -> %.0f Pods %s", before/1024,
				after/1024, medianOf(first, pods), medianOf(last, pods), note)}); err != nil {
			return err
		}
	}
	return nil
}

func medianOf(of []sample, value func(sample) float64) float64 {
	var v []float64
	for _, s := range of {
		v = append(v, value(s))
	}
	return figure.Median(v)
}
