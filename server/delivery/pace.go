package delivery

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/server/scheduler"
)

// mostSteps is how many steps of one record are stored within a minute. A move takes about ten. Records that
// change each other without end are a defect, and must not fill the store and every site's feed.
const mostSteps = 300

// pace counts the steps of each record.
type pace struct {
	log *slog.Logger

	mu    sync.Mutex
	began time.Time
	steps map[string]int
	held  int // steps that were held, of all
}

// take reports an error where a record has taken too many steps. The step is tried again.
func (p *pace) take(space string, r scheduler.Record) error {
	of := ""
	switch {
	case r.Binding != nil:
		of = "unit " + string(r.Binding.Unit)
	case r.Cohort != nil && len(r.Cohort.Members) > 0: // each that is cut off anew has another number
		of = "object " + string(r.Cohort.Members[0])
	default:
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.began) >= time.Minute || p.steps == nil {
		p.began, p.steps = now, map[string]int{}
	}
	p.steps[of]++
	if n := p.steps[of]; n <= mostSteps {
		return nil
	} else if n == mostSteps+1 {
		p.log.Error("a place changes without end, and is held for up to a minute: this is a defect of this program",
			"space", space, "of", of, "steps", mostSteps)
	}
	p.held++
	return fmt.Errorf("the place of %s changed %d times within a minute: it is held", of, mostSteps)
}
