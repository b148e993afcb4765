package walk

import (
	"fmt"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// report prints the figures, and what was found with the history of the objects that it concerns.
func (w *walk) report(took time.Duration) error {
	v := w.judge.verdict()
	note := fmt.Sprintf("seed %d: %d cycles in %.0f s; %d cuts in silence, %d links down, kill -9 of agents %d, of the "+
		"center %d; %d writes to the space, %d events at %d sites with %d objects",
		w.Seed, w.cycles, took.Seconds(), w.done[cutSilent], w.done[cutLink], w.done[killAgent], w.done[killCenter],
		w.wrote.Load(), v.Events, len(w.model.sites), w.Objects)
	n := w.done[cutSilent] + w.done[cutLink] + w.done[killAgent] + w.done[killCenter]
	lines := []figure.Line{
		{Figure: "walk-lost", Value: float64(v.Lost), Goal: figure.Of(0), N: n, Note: note},
		{Figure: "walk-resurrected", Value: float64(v.Resurrected + v.WentBack), Goal: figure.Of(0), N: n},
		{Figure: "walk-wrongly-deleted", Value: float64(v.WronglyDeleted), Goal: figure.Of(0), N: n},
		{Figure: "walk-written-twice", Value: float64(v.WrittenTwice), Goal: figure.Of(0), N: n,
			Note: fmt.Sprintf("versions of an object that a target was written again; %d events were told twice, "+
				"%d not at all", v.Repeated, v.Untold)},
	}
	for _, k := range []kind{cutSilent, cutLink, killAgent, killCenter} {
		if times := w.converged[k]; len(times) > 0 {
			lines = append(lines, line("walk-converged-p99 "+string(k), times))
		}
	}
	lines = append(lines, line("walk-converged-p99", w.converged[anyKind]))
	for _, l := range lines {
		if err := figure.Print(w.Out, l); err != nil {
			return err
		}
	}
	for _, said := range v.Repeats {
		w.say("told twice: %s", said)
	}
	if v.faultless() {
		return nil
	}
	w.tell(v)
	return ErrBroken
}

// line is the figure of how long it took: of the sites that one kind of fault was done to, or of
// all sites in each cycle.
func line(name string, times []time.Duration) figure.Line {
	return figure.Line{Figure: name, Value: figure.Percentile(times, 99), Unit: "ms", Goal: figure.Of(5000), N: len(times),
		Note: fmt.Sprintf("p50 %.0f ms, max %.0f ms", figure.Percentile(times, 50), figure.Percentile(times, 100))}
}

// tell prints what was found: only the lines that concern the objects that it was found of.
func (w *walk) tell(v verdict) {
	fmt.Fprintf(w.Log, "\nseed %d found:\n", w.Seed)
	for _, said := range v.Said {
		fmt.Fprintln(w.Log, " ", said)
	}
	fmt.Fprintf(w.Log, "the last faults and moves:\n%s\n", strings.Join(w.history.ofFaults(), "\n"))
	told := map[string]bool{}
	for _, key := range v.keys {
		if !told[key] && len(told) < 3 {
			told[key] = true
			fmt.Fprintf(w.Log, "history of %s:\n%s\n", key, strings.Join(w.history.of(key), "\n"))
		}
	}
	fmt.Fprintln(w.Log, w.lab.logs())
}
