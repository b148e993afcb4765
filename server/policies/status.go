package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// mostNamed is how many spaces a status names.
const mostNamed = 10

// maxMessage is how much of a condition's message is taken over, in bytes.
const maxMessage = 256

// writeStatus writes the status of a policy when it is another one than is stored.
func (c *Controller) writeStatus(ctx context.Context, name string) error {
	c.mu.Lock()
	p := c.policies[name]
	if p == nil {
		c.mu.Unlock()
		return nil
	}
	counts := c.countLocked(name, p)
	c.mu.Unlock()
	spaces, err := asMap(counts)
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	status := map[string]any{"observedGeneration": p.generation, "spaces": spaces,
		"ready":      fmt.Sprintf("%d/%d", counts.Available, counts.Selected),
		"conditions": conditionsFor(counts, p, time.Now())}
	if same(p.status, status) {
		return nil
	}
	if len(counts.First) == 0 {
		spaces["first"] = nil // which a merge patch removes
	}
	patch, err := json.Marshal(map[string]any{"status": status,
		"metadata": map[string]any{"resourceVersion": strconv.FormatInt(p.revision, 10)}})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	k := store.Key{
		Space:    v1alpha1.RootSpace,
		Group:    v1alpha1.GroupVersion.Group,
		Resource: "placements",
		Name:     name,
	}
	_, err = c.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "status", patch)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write status of %s: %w", k, err)
	}
	return nil
}

// countLocked counts the spaces of a policy. c.mu must be held.
func (c *Controller) countLocked(name string, p *policy) v1alpha1.PolicyStatus {
	var s v1alpha1.PolicyStatus
	var troubled []v1alpha1.SpaceInTrouble
	for space, labels := range c.spaces {
		if !p.selects(labels) {
			continue
		}
		s.Selected++
		copied := c.copies[name][space]
		if copied == nil || copied.mark != p.mark() {
			troubled = append(
				troubled,
				v1alpha1.SpaceInTrouble{Space: space, Condition: v1alpha1.ConditionInForce,
					Reason: "Pending", Message: "the space does not have the Placement as its spec is now"},
			)
			continue
		}
		s.InForce++
		if t := copied.count(&s); t != nil {
			t.Space = space
			troubled = append(troubled, *t)
		}
	}
	slices.SortFunc(troubled, func(a, b v1alpha1.SpaceInTrouble) int {
		if a.Space < b.Space {
			return -1
		}
		return 1
	})
	s.First = troubled[:min(len(troubled), mostNamed)]
	return s
}

// count adds a copy to the counts, and returns the first of its conditions that is not as it should
// be, nil where all are.
func (k *kept) count(s *v1alpha1.PolicyStatus) (trouble *v1alpha1.SpaceInTrouble) {
	for _, t := range []struct {
		name string
		good string
		add  *int32
	}{
		{v1alpha1.ConditionScheduled, "True", &s.Scheduled},
		{v1alpha1.ConditionConflict, "False", nil},
		{v1alpha1.ConditionSynced, "True", &s.Synced},
		{v1alpha1.ConditionAvailable, "True", &s.Available},
	} {
		c, has := k.conditions[t.name]
		switch {
		case has && c.status == t.good:
			if t.add != nil {
				*t.add++
			}
		case t.name == v1alpha1.ConditionConflict && !has:
		default:
			if t.name == v1alpha1.ConditionConflict {
				s.Conflicting++
			}
			if trouble == nil {
				trouble = &v1alpha1.SpaceInTrouble{Condition: t.name, Reason: c.reason,
					Message: c.message[:min(len(c.message), maxMessage)]}
				if !has {
					trouble.Reason = "Pending"
				}
			}
		}
	}
	return trouble
}

// conditionsFor are the conditions of a policy: whether all spaces have it, and whether what it says is
// done in all of them.
func conditionsFor(s v1alpha1.PolicyStatus, p *policy, now time.Time) []any {
	out := []any{
		inSpaces(s.Selected, s.InForce, p, v1alpha1.ConditionInForce, "Pending", " have it as its spec is now", now),
	}
	for _, of := range []struct {
		kind string
		good int32
	}{
		{v1alpha1.ConditionScheduled, s.Scheduled},
		{v1alpha1.ConditionSynced, s.Synced},
		{v1alpha1.ConditionAvailable, s.Available},
	} {
		trouble := troubleOf(s.First, of.kind)
		out = append(out, inSpaces(s.Selected, of.good, p, of.kind, "NotInAllSpaces", trouble, now))
	}
	return out
}

// troubleOf says which of the spaces that are named is the first in which a condition is not as it
// should be, and why.
func troubleOf(first []v1alpha1.SpaceInTrouble, kind string) string {
	for _, t := range first {
		if t.Condition == kind {
			return fmt.Sprintf("; in %s: %s: %s", t.Space, t.Reason, t.Message)
		}
	}
	return ""
}

// inSpaces says whether something holds in all spaces that a policy selects. why and rest are the reason,
// and what is said behind the numbers, where it does not.
func inSpaces(selected, good int32, p *policy, kind, why, rest string, now time.Time) map[string]any {
	status, reason, message := metav1.ConditionTrue, "AllSpaces", ""
	switch {
	case selected == 0:
		status, reason, message = metav1.ConditionFalse, "NoSpaces", "spec.spaceSelector selects no Space"
	case good < selected:
		status, reason = metav1.ConditionFalse, why
		message = fmt.Sprintf("%d of %d spaces%s", good, selected, rest)
	}
	return conditionOf(p, kind, status, reason, message, now)
}

// conditionOf is a condition of a policy; while its status is the same it keeps its time.
func conditionOf(
	p *policy, kind string, status metav1.ConditionStatus, reason, message string, now time.Time,
) map[string]any {
	return map[string]any{
		"type":               kind,
		"status":             string(status),
		"reason":             reason,
		"message":            message,
		"lastTransitionTime": fields.Since(p.status, kind, string(status), now),
		"observedGeneration": p.generation,
	}
}

func conditionsOf(obj map[string]any) map[string]condition {
	out := map[string]condition{}
	for c := range fields.Maps(fields.Map(obj, "status"), "conditions") {
		out[fields.String(c, "type")] = condition{
			fields.String(c, "status"),
			fields.String(c, "reason"),
			fields.String(c, "message"),
		}
	}
	return out
}

// same compares as JSON what this package writes of a status.
func same(stored, status map[string]any) bool {
	for field, v := range status {
		a, errA := json.Marshal(stored[field])
		b, errB := json.Marshal(v)
		var x, y any
		if errA != nil || errB != nil || json.Unmarshal(a, &x) != nil ||
			json.Unmarshal(b, &y) != nil ||
			!reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// asMap returns counts as decoded JSON.
func asMap(s v1alpha1.PolicyStatus) (map[string]any, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	return out, json.Unmarshal(b, &out)
}
