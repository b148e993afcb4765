package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
)

// maxNamed is how many targets a status names.
const maxNamed = 20

// showRollout writes how far a rollout is into the status of its Placement, if that does not say so.
func (d *Delivery) showRollout(
	ctx context.Context, g *catalog.Group, r *catalog.Rolled, s rollout.State, v rollout.View, total int,
) error {
	d.catalog.RLock()
	k, version, generation := g.Ref().Key, strconv.FormatInt(g.Book.Revision, 10), g.Book.Generation
	was, policy, problem := g.Book.Status, g.Book.Rollout, r.Problem
	d.catalog.RUnlock()
	if policy == nil || len(was) == 0 {
		return nil // the decision comes first, and wakes this
	}
	is := rolloutStatus(s, v, total)
	is.Message = rolloutMessage(s, v, policy, total)
	condition := placement.Condition{Type: v1alpha1.ConditionProgressing, Reason: is.Phase, Message: is.Message,
		Status: v.Phase == rollout.RollingOut || v.Phase == rollout.Complete}
	if problem != "" {
		condition.Status, condition.Reason = false, "ReleaseTooLarge"
		condition.Message = "no release can be made of the objects, and the targets keep what they have: " + problem +
			"; select fewer objects, or set rollout.type to All"
	}
	status := maps.Clone(was)
	raw, err := json.Marshal(is)
	if err != nil {
		return fmt.Errorf("encode rollout status: %w", err)
	}
	var asMap map[string]any
	if err := json.Unmarshal(raw, &asMap); err != nil {
		return fmt.Errorf("encode rollout status: %w", err)
	}
	if before := fields.String(was, "rollout", "phase"); before != is.Phase &&
		(v.Phase == rollout.Failed || v.Phase == rollout.RolledBack) {
		d.cfg.Event(placement.Event{Key: k, APIVersion: v1alpha1.GroupVersion.String(), Kind: "Placement",
			UID: string(r.Unit), Warning: true, Reason: "Rollout" + is.Phase, Message: is.Message})
	}
	status["rollout"] = asMap
	list, _ := catalog.ReadConditions(map[string]any{"status": status}).With(condition, generation, time.Now())
	status["conditions"] = []any(list)
	return d.writeStatus(ctx, k, version, was, status)
}

func rolloutStatus(s rollout.State, v rollout.View, total int) *v1alpha1.RolloutStatus {
	out := &v1alpha1.RolloutStatus{
		Release: int64(s.Newest().Number), Goal: int64(v.Goal), Proven: int64(s.Default), Phase: string(v.Phase),
		Group: v.Group, Total: int32(total), Updated: int32(len(v.Updated)), Done: int32(len(v.Done)),
		Failed: int32(len(v.Failed)), Skipped: int32(len(v.Skipped)),
		FailedTargets: v.Failed[:min(len(v.Failed), maxNamed)],
	}
	have := map[uint64]int32{s.Default: int32(total - len(s.Targets))}
	for _, t := range s.Targets {
		have[t.Release]++
	}
	for _, r := range s.Releases {
		out.Releases = append(out.Releases, v1alpha1.KeptRelease{Number: int64(r.Number),
			Created: metav1.NewTime(time.Unix(r.Made, 0).UTC()), Proven: r.Proven, RolledBack: r.RolledBack,
			Targets: have[r.Number], Objects: int32(r.Objects)})
	}
	return out
}

// rolloutMessage says for people what a rollout waits for, and what to do about it.
func rolloutMessage(s rollout.State, v rollout.View, p *rollout.Policy, total int) string {
	of := func(names []string) string { return placement.Some(names) }
	switch v.Phase {
	case rollout.RollingOut:
		text := fmt.Sprintf("release %d is on %d of %d targets, and %d of them are done", v.Goal, len(v.Updated), total,
			len(v.Done))
		if v.Group != "" {
			text += "; group " + v.Group + " has its turn"
		}
		away := slices.DeleteFunc(slices.Clone(v.Skipped), func(t string) bool { return slices.Contains(v.Held, t) })
		if len(away) > 0 {
			text += "; not connected: " + of(away)
		}
		if len(v.Held) > 0 {
			text += "; " + heldText(v)
		}
		return text
	case rollout.Paused:
		return "spec.rollout.paused holds it; to go on: skerry rollout resume"
	case rollout.Failed:
		return fmt.Sprintf("release %d has failed on %s, more than maxFailures (%d); no further target gets it. Apply a "+
			"change that mends it, or take it back: skerry rollout undo", v.Goal, of(v.Failed), p.MaxFailures)
	case rollout.WaitingForApproval:
		return fmt.Sprintf("group %s waits for approval of release %d: skerry rollout approve", v.Group, v.Goal)
	case rollout.Undone:
		return fmt.Sprintf("release %d was taken back, all targets get release %d; the next change makes a new release",
			s.Newest().Number, v.Goal)
	case rollout.RolledBack:
		return fmt.Sprintf("release %d has failed on more than maxFailures (%d) targets, all get release %d again; the next "+
			"change makes a new release", s.Newest().Number, p.MaxFailures, v.Goal)
	case rollout.Complete:
		if len(v.Held) > 0 {
			return heldText(v)
		}
	}
	return ""
}

// heldText says which targets take no other release, and where to look why.
func heldText(v rollout.View) string {
	return fmt.Sprintf("held, so that they keep the release that they have: %s; see the condition %s of the SyncTarget",
		placement.Some(v.Held), v1alpha1.ConditionTakesReleases)
}

// hideRollout takes the status of a Placement's rollouts away that has none any more.
func hideRollout(status map[string]any) {
	delete(status, "rollout")
	list := catalog.ReadConditions(map[string]any{"status": status})
	status["conditions"] = []any(slices.DeleteFunc(slices.Clone(list), func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == v1alpha1.ConditionProgressing
	}))
}
