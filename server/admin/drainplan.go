package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// departure is what would become of one unit that has to leave a target.
type departure struct {
	Object string `json:"object"`
	// To is where it would be in place of the target, empty where it is elsewhere already, or stays.
	To []string `json:"to,omitempty"`
	// Reason and Message say why it stays. What moves has a Message where it is stopped first.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// drainPlanned is what `skerry target drain --dry-run -o json` prints.
type drainPlanned struct {
	Site   string      `json:"site"`
	DryRun bool        `json:"dryRun"`
	Moves  []departure `json:"moves"`
	Stays  []departure `json:"stays"`
}

// drainPlan says what a drain would do: it decides by the same code as the center, from what the
// center has stored, and changes nothing.
func (c *center) drainPlan(ctx context.Context, o DrainOptions) error {
	state, err := c.fleetState(ctx)
	if err != nil {
		return err
	}
	plan := drainPlanned{Site: o.Name, DryRun: true, Moves: []departure{}, Stays: []departure{}}
	if !state.drain(o.Name) {
		return fmt.Errorf("there is no site %q; see them with: skerry status", o.Name)
	}
	if o.Jobs != "" {
		state.target(o.Name).RestartJobs = o.Jobs == v1alpha1.DrainJobsRestart
	}
	for _, u := range state.units {
		if !slices.Contains(u.decision, o.Name) {
			continue
		}
		if d := state.leave(u, o.Name, time.Now()); d.Reason != "" {
			plan.Stays = append(plan.Stays, d)
		} else {
			plan.Moves = append(plan.Moves, d)
		}
	}
	if o.Output != "" {
		if err := printData(o.Out, o.Output, plan, nil); err != nil {
			return err
		}
	}
	for _, d := range plan.Moves {
		to := orElse(strings.Join(d.To, ","), "nowhere: it is elsewhere, too")
		if d.Message != "" {
			to += "; " + d.Message
		}
		o.say("moving %s to %s (dry run)", d.Object, to)
	}
	for _, d := range plan.Stays {
		o.say("%s stays: %s: %s (dry run)", d.Object, d.Reason, d.Message)
	}
	if n := len(plan.Stays); n > 0 {
		return fmt.Errorf("%w: %s would stay on %s", ErrProblems, fleet.Counted(n, "unit"), o.Name)
	}
	o.say("synctarget.skerry.dev/%s drained (dry run: nothing was changed)", o.Name)
	return nil
}

// drain has a target drained in this state. It reports false where there is none of the name.
func (s *fleetState) drain(name string) bool {
	t := s.target(name)
	if t == nil {
		return false
	}
	t.Unschedulable = true
	t.Taints = append(slices.Clone(t.Taints), corev1.Taint{Key: v1alpha1.TaintDrain, Effect: corev1.TaintEffectNoExecute})
	return true
}

// target is the target of a name, nil where there is none.
func (s *fleetState) target(name string) *placement.Target {
	i := slices.IndexFunc(s.world.Targets, func(t placement.Target) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &s.world.Targets[i]
}

// leave decides about a unit that is on a target, and has the rest of the state as if it had left.
func (s *fleetState) leave(u *unit, from string, now time.Time) departure {
	if u.suspended {
		return departure{Object: u.key.String(), Reason: string(placement.Suspended),
			Message: "spec.suspend of its Placement holds the decision as it is"}
	}
	return s.leaveTo(u, from, s.vacate(u, nil, now))
}

// leaveTo is leave of a unit that is not suspended, to where it should be.
func (s *fleetState) leaveTo(u *unit, from string, v placement.Vacated) departure {
	d := departure{Object: u.key.String()}
	for _, stay := range v.Stays {
		if stay.Target == from {
			d.Reason, d.Message = stay.Reason, stay.Message
			return d
		}
	}
	if len(v.Targets) == 0 && !u.wish.None {
		d.Reason, d.Message = placement.StayNoOther, orElse(v.Message, "no other target fits")
		return d
	}
	if volumes := u.ties[from].volumes; len(volumes) > 0 {
		d.Reason = string(placement.VolumeWouldStay)
		d.Message = strings.Join(volumes[:min(3, len(volumes))], ", ") + " would be left behind"
		return d
	}
	if on := u.ties[from].runsOn; len(on) > 0 {
		d.Reason = string(placement.WouldRunOn)
		d.Message = strings.Join(on[:min(3, len(on))], ", ") + " would run on there beside the one elsewhere: " +
			"sync.whenPlacementDeleted of its Placement is Orphan"
		return d
	}
	begun := u.ties[from].begun
	if t := s.target(from); t != nil && t.Restarts() && len(begun) > 0 {
		d.Message = strings.Join(begun[:min(3, len(begun))], ", ") + " is stopped first, and begins anew there"
		begun = nil
	}
	if len(begun) > 0 {
		d.Reason = string(placement.JobRunning)
		d.Message = strings.Join(begun[:min(3, len(begun))], ", ") + " has begun there, and leaves when it has ended"
		if len(begun) >= u.load.Objects {
			return d // there is no rest that moves
		}
	}
	to := u.joins(v)
	s.place(u, v.Targets)
	switch {
	case len(begun) == 0:
		d.To = to
	case len(to) > 0:
		d.Message += "; the rest moves to " + strings.Join(to, ",")
	}
	return d
}

// joins are the targets that a unit should be on and is not.
func (u *unit) joins(v placement.Vacated) (out []string) {
	for _, name := range v.Targets {
		if !slices.Contains(u.decision, name) {
			out = append(out, name)
		}
	}
	return out
}

// vacate is where a unit should be.
func (s *fleetState) vacate(u *unit, evict []string, now time.Time) placement.Vacated {
	world := s.world
	world.Offered = u.offered
	world.Halted = placement.Halted(world.Targets, now)
	var terms placement.Terms
	if u.rule != nil {
		terms = u.rule.Terms(world)
	}
	terms.Load, terms.Evict = u.load, evict
	return placement.Vacate(u.wish, world, u.decision, terms, now)
}

// place has a unit on other targets.
func (s *fleetState) place(u *unit, targets []string) {
	for i := range s.world.Targets {
		t := &s.world.Targets[i]
		was, is := slices.Contains(u.decision, t.Name), slices.Contains(targets, t.Name)
		switch {
		case was && !is:
			t.Objects, t.Requested = t.Objects-u.load.Objects, t.Requested.Minus(u.load.Requests)
		case is && !was:
			t.Objects, t.Requested = t.Objects+u.load.Objects, t.Requested.Plus(u.load.Requests)
		}
	}
	u.decision = targets
}
