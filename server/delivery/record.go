package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// show writes what a step means for people: the conditions, and of a Placement its status. The
// annotations follow by themselves. Where its holder has changed meanwhile it is looked at again.
func (d *Delivery) show(ctx context.Context, p *plan, step placement.Step) error {
	if p.ref.Kind == catalog.OfPlacement {
		return d.recordPlacement(ctx, p, step)
	}
	return d.recordConditions(ctx, p, step)
}

// orNull is a value of a merge patch that takes out what is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// recordConditions says on the Namespace, or on the object, what a decision means. Nothing is
// written for what is as it should be and always was.
func (d *Delivery) recordConditions(ctx context.Context, p *plan, step placement.Step) error {
	now := time.Now()
	list, changed := p.conditions, false
	for _, c := range outcome(p, step) {
		c.Type = "skerry.dev/" + c.Type
		if p.ref.Kind == catalog.OfObject {
			if d.needsSaying(p.group, c) {
				d.cfg.Condition(p.key, c)
			}
			continue
		}
		if quiet(c) && list.Get(c.Type) == nil {
			continue
		}
		var one bool
		list, one = list.With(c, 0, now)
		changed = changed || one
	}
	if !changed {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": p.version},
		"status": map[string]any{"conditions": list}})
	if err != nil {
		return fmt.Errorf("encode conditions: %w", err)
	}
	if _, err := d.cfg.API.Patch(ctx, p.key, p.apiVersion, "status", patch); err != nil {
		return unlessGone(fmt.Errorf("write conditions of %s: %w", p.key, err))
	}
	return nil
}

// needsSaying reports whether a condition of an object is worth a write: it is not as it should be,
// or it was not before.
func (d *Delivery) needsSaying(g *catalog.Group, c placement.Condition) bool {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	before := g.Said[c.Type]
	if g.Said == nil {
		g.Said = map[string]bool{}
	}
	g.Said[c.Type] = !quiet(c)
	return before || !quiet(c)
}

// quiet conditions are those that need no saying: scheduled, and where it should be.
func quiet(c placement.Condition) bool {
	if c.Type == v1alpha1.ConditionObjectMoving {
		return c.Reason == string(placement.Settled)
	}
	return c.Status
}

// What people are told of wishes that lead nowhere.
const (
	nothingSelected = "NothingSelected"
	selectsNothing  = "spec.objects selects no object of the space yet " +
		"that nothing before this Placement decides about: compare its resources, namespaces, " +
		"names and labels with what there is; skerry explain placement KIND/NAME says who decides about an object"
	sayWhere = "nothing says where to: set the label " + v1alpha1.LabelTarget +
		", make a Placement, or let the admin set defaultTargets of the Space"
)

// outcome is what a step means for people: Scheduled and Moving.
func outcome(p *plan, step placement.Step) []placement.Condition {
	scheduled := placement.Condition{Type: v1alpha1.ConditionScheduled, Status: true, Reason: "Decided"}
	switch {
	case p.problem != "":
		scheduled.Status, scheduled.Reason, scheduled.Message = false, "Invalid", p.problem
	case step.Phase == placement.Suspended && len(step.Decision) == 0:
		scheduled.Status, scheduled.Reason, scheduled.Message = false, string(step.Phase), step.Message
	case p.nowhere:
		scheduled.Status, scheduled.Reason = false, "Nowhere"
		scheduled.Message = sayWhere
	case p.choice.Reason != "":
		scheduled.Status, scheduled.Reason, scheduled.Message = len(p.choice.Targets) > 0 &&
			p.choice.Reason != "TooFewTargets" && p.choice.Reason != "TooFewGroups",
			p.choice.Reason, p.choice.Message
	case p.none:
		scheduled.Reason, scheduled.Message = "NoneWanted", p.ref.NoneWished()
	case p.ref.Kind == catalog.OfPlacement && p.look.facts.Empty:
		scheduled.Reason, scheduled.Message = nothingSelected, selectsNothing
	default:
		if scheduled.Message = p.why(); scheduled.Message == "" {
			scheduled.Message = p.leftFor
		}
	}
	moving := placement.Condition{Type: v1alpha1.ConditionMoving, Reason: string(step.Phase), Message: step.Message}
	switch step.Phase {
	case placement.Starting, placement.Waiting, placement.Breaking:
		moving.Status, moving.Reason = true, string(v1alpha1.MakeBeforeBreak)
		if p.first {
			moving.Reason = string(v1alpha1.BreakBeforeMake)
		}
	case placement.HookRunning, placement.HookFailed, placement.CopyingVolumes:
		moving.Status = true
	case placement.GivenUp:
		moving.Reason = "ReadyTimeout"
	case placement.Finishing, placement.Settled, placement.Staying:
		moving.Reason, moving.Message = string(placement.Settled), ""
	}
	return []placement.Condition{scheduled, moving}
}

// tell makes Events of what people would want to know of: a move that begins, ends or cannot be
// made, and what fits nowhere.
func (d *Delivery) tell(p *plan, step placement.Step, changed bool) {
	e := p.event()
	e.Message = step.Message
	switch {
	case step.Phase == placement.VolumeWouldStay, step.Phase == placement.WouldRunOn:
		e.Warning, e.Reason = true, string(step.Phase)
	case step.Phase == placement.GivenUp:
		e.Warning, e.Reason = true, "MoveGivenUp"
	case step.Phase == placement.Waiting && p.refuses():
		e.Warning, e.Reason = true, "MoveHeldUp"
	case changed && (step.Phase == placement.Starting || step.Phase == placement.Breaking):
		e.Reason = "Moving"
		if why := p.why(); why != "" {
			e.Message += ": " + why
		}
	case step.Phase == placement.Finishing && step.Message != "":
		e.Reason = "Moved"
	case p.choice.Reason != "" && p.choice.Reason != "TooFewTargets" && p.choice.Reason != "TooFewGroups":
		e.Warning, e.Reason, e.Message = true, p.choice.Reason, p.choice.Message
	default:
		return
	}
	d.catalog.Lock()
	g := p.group
	again := !changed && g.Told == e.Reason+e.Message
	g.Told = e.Reason + e.Message
	d.catalog.Unlock()
	if !again {
		d.cfg.Event(e)
	}
}

// event is one about the holder of a group, without words.
func (p *plan) event() placement.Event {
	return placement.Event{Key: p.key, APIVersion: p.apiVersion, Kind: p.kindName, UID: p.uid}
}

// refuses reports whether a wanted target refuses something.
func (p *plan) refuses() bool {
	for _, t := range p.look.facts.Wanted {
		if p.look.refused[t] {
			return true
		}
	}
	return false
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
