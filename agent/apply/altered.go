package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// recheckAltered is how often the target is asked, in a dry run, whether it would still alter what it
// has altered: nothing tells when an admission webhook goes.
const recheckAltered = 10 * time.Minute

// compare records what the target made of a body that was applied.
func (t *task) compare(body, answer []byte) error {
	altered, err := target.Compare(body, answer)
	if err != nil {
		return fmt.Errorf("compare what was applied: %w", err)
	}
	t.altered = alteration(altered)
	return nil
}

// alteration says what a target has altered, in a bounded text; empty when it is nothing.
func alteration(a target.Altered) string {
	var parts []string
	for _, one := range []struct {
		word   string
		fields []string
	}{{"took off ", a.Removed}, {"changed ", a.Changed}} {
		if n := len(one.fields); n > maxNamed {
			parts = append(parts, one.word+strings.Join(one.fields[:maxNamed], ", ")+fmt.Sprintf(" and %d more", n-maxNamed))
		} else if n > 0 {
			parts = append(parts, one.word+strings.Join(one.fields, ", "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "its admission or schema " + strings.Join(parts, ", and ")
	if a.Partly {
		text += "; not all of it was compared"
	}
	return text
}

// recheckAlterations has everything looked at again, now and then, that the target has altered: one after
// the other over the time, and not in one burst.
func (a *Applier) recheckAlterations(ctx context.Context) {
	timer := time.NewTimer(recheckAltered)
	defer timer.Stop()
	var altered []store.Key
	for every := recheckAltered; ; timer.Reset(every) {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if len(altered) == 0 {
			altered = a.altered()
			every = recheckAltered / time.Duration(max(1, len(altered)))
			continue
		}
		a.tracks.change(altered[0], func(is *tracked) { is.recheck = true })
		a.queue.addAfter(altered[0], 0)
		altered = altered[1:]
	}
}

// altered are the keys of what the target has altered.
func (a *Applier) altered() (altered []store.Key) {
	a.Inventory.Any(func(k store.Key, r inventory.Record) bool {
		if r.Altered != "" && r.UID != "" {
			altered = append(altered, k)
		}
		return false
	})
	return altered
}

// recheck applies what was altered again if the target would make something else of it now. What it
// would not tell stays as it was said.
func (a *Applier) recheck(ctx context.Context, t *task) error {
	body, _, err := a.yield(ctx, t)
	if err != nil {
		return err
	}
	answer, err := t.writer.WouldAnswer(ctx, t.resource, t.at.Namespace, t.at.Name, body, t.record.UID)
	if err == nil {
		err = t.compare(body, answer)
	}
	if err != nil || t.altered == t.record.Altered {
		a.Log.Debug("what was altered stays so", "key", t.Key, "err", err)
		return nil
	}
	t.facts.same = false
	return carryOut(ctx, a, t, plan(t.facts))
}
