package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// record writes the next step of a group with optimistic concurrency: when the holder of the record
// has changed meanwhile, the write fails and the group is looked at again, with what changed. The
// feeds follow when the write comes back as one of the store's.
func (d *Delivery) record(ctx context.Context, p *plan, step placement.Step) error {
	next := placement.Join(step.Decision)
	was := p.record.record()
	if step.Phase == placement.Staying && len(p.state.Current) == 0 && next == "" {
		next = was
	}
	move, moved := moveText(step.Move), moveText(p.state.Move)
	if next != was && next == p.annotation && !p.undecided {
		// The annotation says by chance what is decided only now. It first says what is, so that
		// the decision is a write.
		return d.recordMarks(ctx, p, step, was, moved)
	}
	d.tell(p, step, next != was)
	if p.ref.kind == ofPlacement {
		return d.recordPlacement(ctx, p, step)
	}
	if next != p.annotation || move != moved || p.undecided || len(p.regained) > 0 {
		if err := d.recordMarks(ctx, p, step, next, move); err != nil {
			return err
		}
	}
	return d.recordConditions(ctx, p, step)
}

// recordMarks writes the annotations that are the record of a group.
func (d *Delivery) recordMarks(ctx context.Context, p *plan, step placement.Step, next, move string) error {
	annotations := map[string]any{v1alpha1.AnnotationTargets: orNull(next), v1alpha1.AnnotationMove: orNull(move)}
	if p.undecided {
		annotations[v1alpha1.AnnotationUndecided] = nil
	}
	if p.ref.kind == ofNamespace {
		annotations[v1alpha1.AnnotationLeft] = orNull(placement.Join(p.leaves(step.Decision)))
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"resourceVersion": p.version, "annotations": annotations}},
	)
	if err != nil {
		return fmt.Errorf("encode decision: %w", err)
	}
	// gofail: var beforeDecision struct{}
	now, err := d.cfg.API.Patch(ctx, p.key, p.apiVersion, "", patch)
	if err != nil {
		return unlessGone(fmt.Errorf("record decision %q on %s: %w", next, p.key, err))
	}
	// gofail: var decidedBeforeFeed struct{}
	p.version = str(now, "metadata", "resourceVersion")
	d.cfg.Log.Info("decision", "of", p.key.String(), "phase", string(step.Phase), "from", p.record.record(), "to", next)
	return nil
}

// maxLeft is how many targets are remembered that a group has left. The annotations of its objects are
// right again within seconds, so that only the last few can be in any of them.
const maxLeft = 8

// leaves returns the targets that the group has left when its record is next, the last one last.
func (p *plan) leaves(next []string) []string {
	var out []string
	for _, name := range append(slices.Clone(p.left), p.record.list()...) {
		if !slices.Contains(next, name) && !slices.Contains(p.regained, name) {
			out = append(slices.DeleteFunc(out, func(have string) bool { return have == name }), name)
		}
	}
	return out[max(0, len(out)-maxLeft):]
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
		if p.ref.kind == ofObject {
			if d.needsSaying(p.group, c) {
				d.cfg.Condition(p.key, c)
			}
			continue
		}
		if quiet(c) && list.get(c.Type) == nil {
			continue
		}
		var one bool
		list, one = list.with(c, 0, now)
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
func (d *Delivery) needsSaying(g *group, c placement.Condition) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := g.said[c.Type]
	if g.said == nil {
		g.said = map[string]bool{}
	}
	g.said[c.Type] = !quiet(c)
	return before || !quiet(c)
}

// quiet conditions are those that need no saying: scheduled, and where it should be.
func quiet(c placement.Condition) bool {
	if c.Type == v1alpha1.ConditionObjectMoving {
		return c.Reason == string(placement.Settled)
	}
	return c.Status
}

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
		scheduled.Message = "nothing says where to: set the label " + v1alpha1.LabelTarget +
			", make a Placement, or let the admin set defaultTargets of the Space"
	case p.choice.Reason != "":
		scheduled.Status, scheduled.Reason, scheduled.Message = len(p.choice.Targets) > 0 &&
			p.choice.Reason != "TooFewTargets",
			p.choice.Reason, p.choice.Message
	}
	moving := placement.Condition{Type: v1alpha1.ConditionMoving, Reason: string(step.Phase), Message: step.Message}
	switch step.Phase {
	case placement.Starting, placement.Waiting, placement.Breaking:
		moving.Status, moving.Reason = true, string(v1alpha1.MakeBeforeBreak)
		if p.state.BreakFirst {
			moving.Reason = string(v1alpha1.BreakBeforeMake)
		}
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
	e := placement.Event{Key: p.key, APIVersion: p.apiVersion, Kind: p.kindName, UID: p.uid, Message: step.Message}
	switch {
	case step.Phase == placement.VolumeWouldStay:
		e.Warning, e.Reason = true, string(step.Phase)
	case step.Phase == placement.GivenUp:
		e.Warning, e.Reason = true, "MoveGivenUp"
	case step.Phase == placement.Waiting && p.refused != "":
		e.Warning, e.Reason = true, "MoveHeldUp"
	case changed && (step.Phase == placement.Starting || step.Phase == placement.Breaking):
		e.Reason = "Moving"
	case step.Phase == placement.Finishing && step.Message != "":
		e.Reason = "Moved"
	case p.choice.Reason != "" && p.choice.Reason != "TooFewTargets":
		e.Warning, e.Reason, e.Message = true, p.choice.Reason, p.choice.Message
	default:
		return
	}
	d.mu.Lock()
	g := p.group
	again := !changed && g.told == e.Reason+e.Message
	g.told = e.Reason + e.Message
	d.mu.Unlock()
	if !again {
		d.cfg.Event(e)
	}
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
