package upsync

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/upsync"
)

func isPlacement(o metav1.OwnerReference) bool {
	return o.Kind == "Placement" && o.APIVersion == v1alpha1.GroupVersion.String()
}

// rule makes an Upsync what its Placement says, and says of both what has become of it.
func (u *Upsync) rule(ctx context.Context, k store.Key) error {
	u.mu.Lock()
	w, r := u.wishes[k], u.records[k]
	u.mu.Unlock()
	switch {
	case w == nil && r == nil:
		return u.forget(ctx, k)
	case w == nil && !r.fromParent:
		return u.withdraw(ctx, k, r)
	case w != nil && r == nil:
		return u.create(ctx, k, w)
	case w != nil && r.fromParent:
		return u.tell(ctx, k, w, r, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: upsync.ReasonConflict,
			Message: "the parent of this center has a Placement of this name with spec.upsync: choose another name",
		})
	case w != nil && (r.of != w.uid || !apiequality.Semantic.DeepEqual(r.object.Spec.Objects, w.objects)):
		return u.update(ctx, k, w, r)
	}
	return u.judge(ctx, k, w, r)
}

// reasonPending is the reason of the condition while targets have not said what they bring.
const reasonPending = "Pending"

// create makes the Upsync of a Placement.
func (u *Upsync) create(ctx context.Context, k store.Key, w *wish) error {
	_, err := u.cfg.API.Create(ctx, k, v1alpha1.GroupVersion.String(), map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Upsync",
		"metadata": map[string]any{"name": k.Name, "ownerReferences": []any{owner(k.Name, w.uid)}},
		"spec":     map[string]any{"objects": plain(w.objects)},
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s: %w", k, err)
	}
	return nil
}

func owner(name, uid string) map[string]any {
	return map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Placement", "name": name, "uid": uid}
}

// plain is a value as it is decoded from JSON.
func plain(v any) (out any) {
	if json.Unmarshal(encode(v), &out) != nil {
		return nil
	}
	return out
}

func (u *Upsync) update(ctx context.Context, k store.Key, w *wish, r *record) error {
	_, err := u.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "", encode(map[string]any{
		"metadata": map[string]any{"uid": r.uid, "ownerReferences": []any{owner(k.Name, w.uid)}},
		"spec":     map[string]any{"objects": w.objects},
	}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("change %s: %w", k, err)
	}
	return nil
}

// withdraw deletes the Upsync of a Placement that asks for nothing any more. What came by it goes when
// that is known.
func (u *Upsync) withdraw(ctx context.Context, k store.Key, r *record) error {
	err := u.cfg.API.Delete(ctx, k, v1alpha1.GroupVersion.String(), r.uid)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s: %w", k, err)
	}
	return u.forget(ctx, k)
}

// forget takes the condition off a Placement that asks for nothing any more.
func (u *Upsync) forget(ctx context.Context, k store.Key) error {
	p := placementKey(k)
	is, err := u.cfg.API.Live(ctx, p, v1alpha1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	var o v1alpha1.Placement
	if !u.decode(store.Write{Key: p, Object: is}, &o) || !apimeta.RemoveStatusCondition(&o.Status.Conditions,
		v1alpha1.ConditionUpsynced) {
		return nil
	}
	return u.putConditions(ctx, p, string(o.UID), o.ResourceVersion, o.Status.Conditions)
}

// judge says what has become of an Upsync, by what its targets say and what is in the way here.
func (u *Upsync) judge(ctx context.Context, k store.Key, w *wish, r *record) error {
	at, _ := u.cfg.Delivery.Located(k)
	now := v1alpha1.UpsyncStatus{ObservedGeneration: r.generation}
	var problems []upsync.Left
	have := 0
	for _, target := range at.Targets {
		e, ok, err := u.cfg.Reports.Report(target, k)
		if err != nil {
			return err
		}
		var report store.Report
		if !ok || json.Unmarshal(e.Body, &report) != nil {
			continue
		}
		if report.Error != nil {
			have++
			problems = append(problems, upsync.Left{Target: target, Reason: report.Error.Reason, Message: report.Error.Message})
			continue
		}
		if report.Applied != "" && report.Generation >= r.generation {
			have++
		}
		var said upsync.Status
		if len(report.Status) > 0 && json.Unmarshal(report.Status, &said) != nil {
			continue
		}
		now.LeftOut += int32(said.LeftOut)
		for _, left := range said.Problems[:min(len(said.Problems), upsync.MaxProblems)] {
			left.Target = below(target, left.Target)
			problems = append(problems, left)
		}
	}
	if have < len(at.Targets) {
		now.ObservedGeneration = 0
	}
	u.mu.Lock()
	for name, n := range u.names {
		if name.Space != k.Space {
			continue
		}
		if n.mirror == k {
			now.Objects++
		}
		for _, p := range n.problems {
			if p.rule == k {
				now.LeftOut++
				problems = append(problems, p.left)
			}
		}
	}
	u.mu.Unlock()
	total := len(problems)
	for _, left := range upsync.Bounded(problems) {
		now.Problems = append(now.Problems, v1alpha1.UpsyncProblem(left))
	}
	if err := u.putStatusOf(ctx, k, r, now); err != nil || w == nil {
		return err
	}
	c := &metav1.Condition{Status: metav1.ConditionTrue, Reason: "Upsynced", Message: fmt.Sprintf(
		"objects that came from %d targets: %d", len(at.Targets), now.Objects)}
	switch {
	case total > 0:
		first := now.Problems[0]
		where := first.Target
		if first.Object != "" {
			where = first.Object + " at " + where
		}
		c = &metav1.Condition{Status: metav1.ConditionFalse, Reason: first.Reason, Message: fmt.Sprintf(
			"objects that came: %d, left out: %d; %s: %s (all: kubectl get upsyncs %s -o yaml)",
			now.Objects, now.LeftOut, where, first.Message, k.Name)}
	case have < len(at.Targets):
		c = &metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonPending, Message: fmt.Sprintf(
			"%d of %d targets have said what they bring", have, len(at.Targets))}
	}
	return u.tell(ctx, k, w, r, c)
}

// below is the path of a target that a relay names; a site does not name itself.
func below(target, name string) string {
	if name == "" {
		return target
	}
	return target + "/" + name
}

// putStatusOf writes the status of an Upsync when it is another.
func (u *Upsync) putStatusOf(ctx context.Context, k store.Key, r *record, now v1alpha1.UpsyncStatus) error {
	if apiequality.Semantic.DeepEqual(r.object.Status, now) {
		return nil
	}
	status := map[string]any{
		"objects": now.Objects, "leftOut": now.LeftOut, "problems": now.Problems,
		"observedGeneration": now.ObservedGeneration,
	}
	_, err := u.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "status", encode(map[string]any{
		"metadata": map[string]any{"uid": r.uid}, "status": status,
	}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the status of %s: %w", k, err)
	}
	return nil
}

// tell writes the condition of a Placement when it is another, with an Event when something is newly
// in the way.
func (u *Upsync) tell(ctx context.Context, k store.Key, w *wish, r *record, c *metav1.Condition) error {
	c.Type, c.ObservedGeneration = v1alpha1.ConditionUpsynced, w.generation
	was := apimeta.FindStatusCondition(w.conditions, c.Type)
	if was != nil && was.Status == c.Status && was.Reason == c.Reason && was.Message == c.Message &&
		was.ObservedGeneration == c.ObservedGeneration {
		return nil
	}
	conditions := slices.Clone(w.conditions)
	c.LastTransitionTime = metav1.Now().Rfc3339Copy()
	apimeta.SetStatusCondition(&conditions, *c)
	p := placementKey(k)
	if err := u.putConditions(ctx, p, w.uid, strconv.FormatInt(w.revision, 10), conditions); err != nil {
		return err
	}
	u.mu.Lock()
	news := c.Status == metav1.ConditionFalse && c.Reason != reasonPending && r.told != c.Message
	r.told = c.Message
	u.mu.Unlock()
	if news {
		u.cfg.Event(placement.Event{
			Key: p, APIVersion: v1alpha1.GroupVersion.String(), Kind: "Placement", UID: w.uid, Warning: true,
			Reason: c.Reason, Message: c.Message,
		})
	}
	return nil
}

func (u *Upsync) putConditions(ctx context.Context, p store.Key, uid, version string, all []metav1.Condition) error {
	_, err := u.cfg.API.Patch(ctx, p, v1alpha1.GroupVersion.String(), "status", encode(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": version},
		"status":   map[string]any{"conditions": all},
	}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the conditions of %s: %w", p, err)
	}
	return nil
}
