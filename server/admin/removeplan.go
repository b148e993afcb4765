package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// removal is what becomes of the units on a site that is removed.
type removal struct {
	// Moves are brought up elsewhere: before the site is emptied, or, with Keep, beside what goes on
	// running there.
	Moves []departure
	// Stays cannot be elsewhere: Clean waits for them, Discard deletes them, and with Keep they go on
	// at the site alone.
	Stays []departure
	// Twice would be brought up elsewhere with Keep while they go on at the site, and two of them
	// must not run. Message says what of them.
	Twice []departure
}

// shownUnits is how many units a refusal names.
const shownUnits = 10

// removal decides by the same code as the center, from what it has stored, and changes nothing. It
// reports false where there is no site of the name.
func (s *fleetState) removal(name string, now time.Time) (r removal, found bool) {
	if !s.drain(name) {
		return r, false
	}
	for _, u := range s.units {
		if !slices.Contains(u.decision, name) {
			continue
		}
		if u.suspended {
			r.Stays = append(r.Stays, s.leave(u, name, now))
			continue
		}
		v := s.vacate(u, nil, now)
		once := departure{Object: u.key.String(), To: u.joins(v), Message: strings.Join(u.ties[name].once, ", ")}
		if len(once.To) > 0 && once.Message != "" {
			r.Twice = append(r.Twice, once)
		}
		if d := s.leaveTo(u, name, v); d.Reason != "" {
			r.Stays = append(r.Stays, d)
		} else {
			r.Moves = append(r.Moves, d)
		}
	}
	return r, true
}

// removing is what the center knows already of the removal of a site.
type removing struct {
	deleting bool
	policy   v1alpha1.DetachPolicy
}

// checkRemoval says what becomes of what is placed on a site, and refuses what nobody has allowed: to
// delete what nothing replaces, and to run twice what must not.
func (c *center) checkRemoval(ctx context.Context, o RemoveOptions, now removing) error {
	if o.Force || now.deleting && now.policy == v1alpha1.DetachDiscard {
		return nil
	}
	state, err := c.fleetState(ctx)
	if err != nil {
		return fmt.Errorf("read what is placed on site %s: %w", o.Name, err)
	}
	o.Clean = o.Clean || now.policy.Empties()
	r, _ := state.removal(o.Name, time.Now())
	if o.DryRun {
		r.tell(o)
	}
	return r.check(o, now)
}

// check refuses a removal that nobody has allowed. Where the site is being emptied already the center
// has counted what cannot leave, which may be more than what is known here.
func (r removal) check(o RemoveOptions, now removing) error {
	allowed := o.AllowLoss == len(r.Stays) || now.deleting && o.AllowLoss > len(r.Stays)
	suspended := slices.DeleteFunc(slices.Clone(r.Stays), func(d departure) bool {
		return d.Reason != string(placement.Suspended)
	})
	object := func(d departure) string { return d.Object + ": " + d.Reason + ": " + d.Message }
	switch {
	case o.Clean && len(suspended) > 0:
		return fmt.Errorf("%w: %s on %s cannot leave it:%s\nSet spec.suspend of the Placement to false first",
			ErrProblems, fleet.Counted(len(suspended), "suspended unit"), o.Name, listed(suspended, object))
	case o.Clean && !allowed && len(r.Stays) == 0:
		return Usage("--allow-loss=%d: nothing would be lost; leave it out", o.AllowLoss)
	case o.Clean && !allowed:
		return fmt.Errorf("%w: nothing can replace %s on %s:%s\nMend that, or delete it with its data: "+
			"skerry target remove %s --clean --allow-loss=%d", ErrProblems, fleet.Counted(len(r.Stays), "unit"), o.Name,
			listed(r.Stays, object), o.Name, len(r.Stays))
	case !o.Clean && !now.deleting && len(r.Twice) > 0:
		return fmt.Errorf("%w: what runs on %s goes on, and the center would run it a second time:%s\nMove it first: "+
			"skerry target drain %s. If nothing of it runs there any more: skerry target remove %s --force",
			ErrProblems, o.Name, listed(r.Twice, func(d departure) string {
				return d.Object + " on " + strings.Join(d.To, ",") + ": " + d.Message
			}), o.Name, o.Name)
	}
	return nil
}

// tell says what would become of each unit.
func (r removal) tell(o RemoveOptions) {
	say := func(format string, args ...any) {
		fmt.Fprintln(o.Out, fleet.OneLine(fmt.Sprintf(format, args...))+" (dry run)")
	}
	for _, d := range r.Moves {
		to := strings.Join(d.To, ",")
		switch {
		case !o.Clean && to != "":
			say("%s goes on at %s, and is brought up on %s, too", d.Object, o.Name, to)
		case !o.Clean:
			say("%s goes on at %s; it is elsewhere, too", d.Object, o.Name)
		default:
			say("moving %s to %s", d.Object, orElse(to, "nowhere: it is elsewhere, too"))
		}
	}
	for _, d := range r.Stays {
		if o.Clean {
			say("%s would be deleted: %s: %s", d.Object, d.Reason, d.Message)
		} else {
			say("%s goes on at %s and is nowhere else: %s: %s", d.Object, o.Name, d.Reason, d.Message)
		}
	}
}

// listed are the first units of a list, one a line, as describe puts them.
func listed(list []departure, describe func(departure) string) string {
	var b strings.Builder
	for _, d := range list[:min(shownUnits, len(list))] {
		b.WriteString("\n  " + fleet.OneLine(describe(d)))
	}
	if more := len(list) - shownUnits; more > 0 {
		b.WriteString("\n  and " + fleet.Counted(more, "more unit"))
	}
	return b.String()
}
