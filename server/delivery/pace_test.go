package delivery

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/scheduler"
)

// One record takes a bounded number of steps a minute, others theirs. Cohorts of one object are one record.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{log: slog.New(slog.DiscardHandler)}
		unit := func(id binding.UnitID) scheduler.Record {
			return scheduler.Record{Binding: &binding.Binding{Unit: id}}
		}
		for minute := range 2 {
			for i := range mostSteps {
				cut := scheduler.Record{Cohort: &binding.Cohort{Seq: uint64(i), Members: []binding.ObjectID{"job", "other"}}}
				if err := p.take("shop", unit("a")); err != nil {
					t.Fatal(err)
				}
				if err := p.take("shop", cut); err != nil {
					t.Fatal(err)
				}
			}
			cut := scheduler.Record{Cohort: &binding.Cohort{Seq: mostSteps, Members: []binding.ObjectID{"job"}}}
			if p.take("shop", unit("a")) == nil || p.take("shop", cut) == nil || p.held != 2*minute+2 {
				t.Errorf("held %d times", p.held)
			}
			for _, r := range []scheduler.Record{unit("b"), {Cohort: &binding.Cohort{}}} {
				if err := p.take("shop", r); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Minute)
		}
	})
}

// ends fails the test where records have changed without end.
func (c *center) ends(d *Delivery) {
	c.t.Cleanup(func() {
		if d.pace.held > 0 {
			c.t.Errorf("records were held %d times: they change without end", d.pace.held)
		}
	})
}
