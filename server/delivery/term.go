package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// takeOver takes the term, makes the cohorts that count this leader's own, and opens the term. It
// decides nothing before that.
func (d *Delivery) takeOver(ctx context.Context) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := d.tryTerm(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		d.cfg.Log.Warn("the term of the leader cannot be begun, it is tried again", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (d *Delivery) tryTerm(ctx context.Context) error {
	d.catalog.RLock()
	term, at := d.catalog.Records.Term, d.catalog.Records.TermAt
	d.catalog.RUnlock()
	if term.Era != d.era {
		next := term.Take(d.era)
		if err := d.put(ctx, "", at, scheduler.Record{Term: &next}); err != nil {
			return fmt.Errorf("take the term: %w", err)
		}
	}
	if err := d.adopt(ctx); err != nil {
		return err
	}
	d.catalog.RLock()
	term, at = d.catalog.Records.Term, d.catalog.Records.TermAt
	d.catalog.RUnlock()
	if term.Open {
		return nil
	}
	opened := term.Opened()
	if err := d.put(ctx, "", at, scheduler.Record{Term: &opened}); err != nil {
		return fmt.Errorf("open the term: %w", err)
	}
	return nil
}

// adopters is how many cohorts are made the leader's own at a time.
const adopters = 8

// adopt makes the cohorts that count this leader's own.
func (d *Delivery) adopt(ctx context.Context) error {
	d.catalog.RLock()
	type one struct {
		record scheduler.Record
		at     catalog.Stored
	}
	var all []one
	for seq, known := range d.catalog.Records.Cohorts {
		if c, counts := d.catalog.Records.Index.Cohort(seq); counts && c.Era != d.era {
			c.Era = d.era
			all = append(all, one{scheduler.Record{Cohort: &c, Unit: known.Of}, known.Stored})
		}
	}
	d.catalog.RUnlock()
	var running sync.WaitGroup
	errs := make([]error, adopters)
	for i := range adopters {
		running.Go(func() {
			for j := i; j < len(all) && errs[i] == nil; j += adopters {
				errs[i] = d.put(ctx, all[j].at.Space, all[j].at.Revision, all[j].record)
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take over cohorts: %w", err)
	}
	return nil
}

// retireAfter is how long a record that nothing needs is kept: until no write can arrive any more that
// was made when it was needed.
const retireAfter = 5 * time.Minute

// retireEvery is how often records that nothing needs are looked for.
const retireEvery = time.Minute

// retire deletes records that nothing has needed for some time.
func (d *Delivery) retire(ctx context.Context) {
	idle := map[store.Key]time.Time{}
	tick := time.NewTicker(retireEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, old := time.Now(), d.unneeded()
		d.forgetUnits()
		for k := range idle {
			if _, still := old[k]; !still {
				delete(idle, k)
			}
		}
		for k, revision := range old {
			since, known := idle[k]
			if !known {
				idle[k] = now
				continue
			}
			if now.Sub(since) < retireAfter {
				continue
			}
			if err := d.write(ctx, k, nil, revision); err != nil {
				d.cfg.Log.Debug("a record that nothing needs is not deleted yet", "key", k.String(), "err", err)
			}
		}
	}
}

// forgetUnits drops the units that are not stored and that no object is with.
func (d *Delivery) forgetUnits() {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	with := map[*catalog.Unit]struct{}{}
	d.catalog.EachObject(func(o *catalog.Object) { with[o.With] = struct{}{} })
	for id, u := range d.catalog.Records.Units {
		if _, is := with[u]; !is && u.Revision == 0 {
			delete(d.catalog.Records.Units, id)
		}
	}
}

// stamps are the stamps of the objects that cohorts name.
type stamps map[binding.ObjectID]binding.UnitID

// StampOf implements binding.Alive.
func (s stamps) StampOf(o binding.ObjectID) (binding.UnitID, bool) {
	stamp, ok := s[o]
	return stamp, ok
}

// unneeded are the records that nothing needs, with the revision that each was written at. Of several
// cohorts that name an object only the oldest is not needed any more.
func (d *Delivery) unneeded() map[store.Key]int64 {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	out := map[store.Key]int64{}
	needed := map[binding.UnitID]struct{}{}
	alive := stamps{}
	d.catalog.EachObject(func(o *catalog.Object) {
		if !o.Present {
			return
		}
		needed[o.Stamp()] = struct{}{}
		if o.Source != nil {
			needed[o.Source.ID()] = struct{}{}
		}
		if len(d.catalog.Records.Cohorts) > 0 {
			alive[binding.ObjectID(o.UID)] = o.Stamp()
		}
	})
	for seq, known := range d.catalog.Records.Cohorts {
		if c, ok := d.catalog.Records.Index.Cohort(seq); ok {
			needed[c.To] = struct{}{}
		}
		if d.catalog.Records.Index.Done(seq, alive) {
			out[scheduler.CohortKey(known.Space, seq)] = known.Revision
		}
	}
	for id, u := range d.catalog.Records.Units {
		if _, is := needed[id]; !is && u.Revision != 0 && d.catalog.Holder(u) == nil {
			out[scheduler.BindingKey(u.Space, id)] = u.Revision
		}
	}
	return out
}
