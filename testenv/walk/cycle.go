package walk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// cycle lets writers and faults run, mends everything and waits until every site is as the model
// says.
func (w *walk) cycle(ctx context.Context, c cycle) error {
	var running sync.WaitGroup
	mended := make([]time.Time, len(c.faults))
	errs := make([]error, len(c.faults))
	began := time.Now()
	for i, f := range c.faults {
		running.Go(func() { mended[i], errs[i] = w.suffer(ctx, f, began) })
	}
	err := w.write(ctx, c)
	stopped := time.Now()
	running.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("cycle %d: %w", c.number, err)
	}
	again, err := w.settleSpace(ctx)
	if err != nil {
		return fmt.Errorf("cycle %d: %w", c.number, err)
	}
	if again {
		stopped = time.Now()
	}
	as, awaited, err := w.converge(ctx)
	if err != nil {
		return fmt.Errorf("cycle %d: %w", c.number, err)
	}
	w.cycles++
	whole := healed(mended, stopped)
	var told []string
	for _, f := range c.faults {
		w.converged[f.kind] = append(w.converged[f.kind], took(as, whole, f.site))
		w.done[f.kind]++
		told = append(told, f.String())
	}
	slowest := took(as, whole, noPartition)
	if len(c.faults) > 0 {
		w.converged[anyKind] = append(w.converged[anyKind], slowest)
	}
	w.say("cycle %d: %s; as the model says %.1f s after that", c.number, strings.Join(told, "; "), slowest.Seconds())
	if slowest > slow {
		w.tellSlow(c, as, awaited, mended, stopped)
	}
	return w.lab.dead()
}

// slow is what the log says more about.
const slow = 5 * time.Second

// healed is from when on nothing keeps the sites from being as they are to be: the last fault is
// mended, and the last write is made. It is one time for all, because what moves between sites goes
// from the one only when it is at the other.
func healed(mended []time.Time, stopped time.Time) time.Time {
	return slices.MaxFunc(append(slices.Clone(mended), stopped), time.Time.Compare)
}

// took is how long after it was healed a site, or for noPartition every site, was as it is to be.
func took(as map[string]time.Time, whole time.Time, site string) (longest time.Duration) {
	for s, at := range as {
		if site == noPartition || site == s {
			longest = max(longest, at.Sub(whole))
		}
	}
	return longest
}

// tellSlow tells what happened when in a cycle that took long, what the agents said, and what each
// site waited for at the end.
func (w *walk) tellSlow(c cycle, as map[string]time.Time, awaited map[string][]difference, mended []time.Time,
	stopped time.Time) {
	at := func(t time.Time) string { return t.UTC().Format("15:04:05.000") }
	for i, f := range c.faults {
		fmt.Fprintf(w.Log, "   %s: mended at %s\n", f, at(mended[i]))
	}
	fmt.Fprintf(w.Log, "   the last write at %s\n", at(stopped))
	for site, is := range as {
		fmt.Fprintf(w.Log, "   %s: as the model says at %s; the end of its agent's log:\n%s\n", site, at(is),
			w.lab.tail(site))
		if end := awaited[site]; len(end) > 0 {
			fmt.Fprintf(w.Log, "   one of the %d objects that it waited for at the end, %s:\n%s\n", len(end), end[0],
				strings.Join(last(w.history.of(end[0].key), 10), "\n"))
		}
	}
}

// suffer does one fault and mends it, and returns when that was.
func (w *walk) suffer(ctx context.Context, f fault, began time.Time) (time.Time, error) {
	time.Sleep(time.Until(began.Add(f.at)))
	w.history.fault("%s", f)
	var err error
	switch f.kind {
	case cutSilent, cutLink:
		err = w.lab.cut(ctx, f.site, f.kind == cutLink)
	case killAgent:
		w.lab.kill(f.site)
	case killCenter:
		w.lab.kill(centerHost)
	}
	if err != nil {
		return time.Time{}, err
	}
	time.Sleep(time.Until(began.Add(f.until)))
	mended := time.Now() // of a process, when its start begins
	switch f.kind {
	case cutSilent, cutLink:
		err = w.lab.heal(ctx, f.site)
		mended = time.Now()
	case killAgent:
		err = w.lab.startAgent(f.site)
	case killCenter:
		_, err = w.lab.startCenter(ctx)
	}
	w.history.fault("mended: %s", f)
	return mended, err
}

const (
	// patience is how long a site may take to be as the model says. The goal is much less; what is
	// later than this is lost.
	patience = 90 * time.Second
	// doubt is after how long, and how often from then on, a cluster is asked what it has: a watch
	// is not the only witness.
	doubt = 10 * time.Second
)

// converge waits until every site is as the model says, and returns when each was, and what it had
// waited for at last.
func (w *walk) converge(ctx context.Context) (as map[string]time.Time, awaited map[string][]difference, err error) {
	as, awaited = map[string]time.Time{}, map[string][]difference{}
	wanted := map[string]map[string]int{}
	for _, s := range w.model.sites {
		wanted[s] = w.model.wanted(s)
	}
	began := time.Now()
	for asked := began; len(as) < len(wanted); {
		if time.Since(asked) > doubt {
			if err := w.ask(ctx, as); err != nil {
				return nil, nil, err
			}
			asked = time.Now()
		}
		for _, s := range w.model.sites {
			if _, ok := as[s]; ok {
				continue
			}
			differences := w.judge.missing(s, wanted[s])
			switch {
			case len(differences) == 0:
				as[s] = time.Now()
			case time.Since(began) > patience:
				w.judge.late(s, differences)
				as[s] = time.Now()
			default:
				awaited[s] = differences
			}
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
	w.judge.rest()
	w.model.rest()
	return as, awaited, nil
}
