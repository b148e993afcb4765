package walk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// cycle lets writers and faults run, mends everything and waits until every site is as the model says.
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
	if err := w.settleSpace(ctx); err != nil {
		return fmt.Errorf("cycle %d: %w", c.number, err)
	}
	as, err := w.converge(ctx)
	if err != nil {
		return fmt.Errorf("cycle %d: %w", c.number, err)
	}
	w.cycles++
	var slowest time.Duration
	var told []string
	for i, f := range c.faults {
		took := w.took(f, as, mended[i], stopped)
		slowest = max(slowest, took)
		w.healed[f.kind] = append(w.healed[f.kind], took)
		w.done[f.kind]++
		told = append(told, f.String())
	}
	w.say("cycle %d: %s; as the model says %.1f s after that", c.number, strings.Join(told, "; "), slowest.Seconds())
	for site, at := range as {
		if at.Sub(stopped) > slow {
			fmt.Fprintf(w.Log, "   %s: %.1f s after the last write; the end of its agent's log:\n%s\n", site, at.Sub(stopped).Seconds(), w.lab.tail(site))
		}
	}
	return w.lab.dead()
}

// slow is what the log says more about.
const slow = 5 * time.Second

// took is how long after its fault was mended, and after the last write, a site, or for the center's fault every site, was as it is to be.
func (w *walk) took(f fault, as map[string]time.Time, mended, stopped time.Time) time.Duration {
	from := mended
	if stopped.After(from) {
		from = stopped
	}
	var took time.Duration
	for site, at := range as {
		if f.site == noPartition || f.site == site {
			took = max(took, at.Sub(from))
		}
	}
	return took
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
	mended := time.Now()
	switch f.kind {
	case cutSilent, cutLink:
		err = w.lab.heal(ctx, f.site)
	case killAgent:
		err = w.lab.startAgent(f.site)
	case killCenter:
		_, err = w.lab.startCenter(ctx)
	}
	w.history.fault("mended: %s", f)
	return mended, err
}

// patience is how long a site may take to be as the model says. The goal is much less; what is later than this is lost.
const patience = 90 * time.Second

// converge waits until every site is as the model says, and returns when each was.
func (w *walk) converge(ctx context.Context) (map[string]time.Time, error) {
	as := map[string]time.Time{}
	wanted := map[string]map[string]int{}
	for _, s := range w.model.sites {
		wanted[s] = w.model.wanted(s)
	}
	for began := time.Now(); len(as) < len(wanted); {
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
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
	w.judge.rest()
	w.model.rest()
	return as, nil
}
