package delivery

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// hookPlace is where the record of a hook's Job stands, and the name of the target that is to be left.
// It is false where the record does not say that this leaving is under way. The lock must be held.
func (d *Delivery) hookPlace(space string, m *catalog.HookMark) (binding.Place, string, bool) {
	if _, there := d.catalog.OwnerOf(space, m.Of); !there {
		return binding.Place{}, "", false
	}
	for _, p := range d.catalog.Records.Index.Record(m.Of).Places {
		is := d.catalog.Records.Targets.Of(p.Target)
		if is.UID == m.TargetUID && !p.Off && p.Hooks.Began == m.Began && m.Began != 0 {
			return p, is.Name, true
		}
	}
	return binding.Place{}, "", false
}

// chooseHook places a Job that is a hook on the target that is to be left, whatever speaks against new
// objects there, and nowhere once that is left. The lock must be held.
func (d *Delivery) chooseHook(p *plan, m *catalog.HookMark) {
	_, name, there := d.hookPlace(p.key.Space, m)
	if p.none = !there; there {
		p.choice = placement.Choice{Targets: []string{name}}
	}
}

// hookKept reports whether the Job of a hook is needed: it is the present attempt, or the last one, which
// shows how it has failed until the next begins. The time is when to look again, zero for never.
func (d *Delivery) hookKept(o *catalog.Object) (kept bool, again time.Time) {
	p, _, there := d.hookPlace(o.Namespace.Space.Name, o.Hook)
	if !there || p.Since == o.Hook.Since {
		return there, time.Time{}
	}
	next := time.Unix(int64(p.Since), 0)
	return time.Now().Before(next), next
}

// tidyHook deletes the Job of a hook that nothing waits for any more, and lets one be placed anew.
func (d *Delivery) tidyHook(ctx context.Context, k store.Key) error {
	d.catalog.Lock()
	o := d.catalog.Find(k)
	if o == nil || !o.Present || o.Leaving {
		d.catalog.Unlock()
		return nil
	}
	if m := o.Mover(); m != nil && m.Side.Replicates() {
		return d.moves.tidyStandby(ctx, d, o)
	}
	if o.Mover() != nil {
		return d.moves.tidy(ctx, o)
	}
	if o.Hook == nil {
		d.catalog.Unlock()
		return nil
	}
	kept, again := d.hookKept(o)
	uid, apiVersion := o.UID, o.Kind.ApiVersion
	d.catalog.Unlock()
	if kept {
		if !again.IsZero() {
			d.catalog.HookJobs.AddAfter(k, max(time.Until(again), 0)+time.Second)
		}
		return nil
	}
	if err := d.cfg.API.Delete(ctx, k, apiVersion, uid); err != nil {
		return unlessGone(fmt.Errorf("delete the Job of a hook: %w", err))
	}
	return nil
}

// cronJobKey names the CronJob that a hook makes its Jobs of.
func cronJobKey(space string, h *v1alpha1.MoveHook) store.Key {
	return store.Key{Space: space, Group: "batch", Resource: "cronjobs", Namespace: h.Job.Namespace,
		Name: h.Job.FromCronJob}
}

// jobKey names the Job of an attempt.
func jobKey(space string, h *v1alpha1.MoveHook, a catalog.Attempt) store.Key {
	return store.Key{Space: space, Group: "batch", Resource: "jobs", Namespace: h.Job.Namespace,
		Name: h.Name + "-" + a.Digest()}
}

// readJob fills in what has become of the Job of an attempt, and how it has failed. The lock must be held.
func (is *hooked) readJob(d *Delivery, space string) {
	k := jobKey(space, &is.hook, is.Attempt)
	o := d.catalog.Find(k)
	switch {
	case o == nil || !o.Present || o.Hook == nil || o.Hook.Since != is.Since || o.Hook.Of != is.Of:
		if is.why = d.hooks.created(is.Attempt); is.why != "" {
			is.state = binding.HookFailed
		}
	case o.Finished && o.Hook.Failed != "":
		is.state, is.why = binding.HookFailed, jobText(k)+" failed: "+o.Hook.Failed
	case o.Finished:
		is.state = binding.HookEnded
	default:
		is.job = k
	}
}

// jobText names the Job of an attempt in messages.
func jobText(k store.Key) string { return "Job " + k.Namespace + "/" + k.Name }

// createHookJob makes the Job of an attempt of the CronJob that its hook names.
func (d *Delivery) createHookJob(
	ctx context.Context, r catalog.Ref, a catalog.Attempt, h v1alpha1.MoveHook, to []string,
) error {
	from := cronJobKey(r.Key.Space, &h)
	cron, err := d.cfg.API.Get(ctx, from, "batch/v1")
	if err != nil {
		return fmt.Errorf("read CronJob %s/%s: %w", from.Namespace, from.Name, err)
	}
	k := jobKey(r.Key.Space, &h, a)
	if _, err := d.cfg.API.Create(ctx, k, "batch/v1", hookJob(k, a, &h, cron, d.hookOwner(r), to)); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Job %s/%s: %w", k.Namespace, k.Name, err)
	}
	return nil
}

// hookOwner is the owner reference of Jobs that are hooks of a Placement, nil for those of objects that
// pass from one policy to another.
func (d *Delivery) hookOwner(r catalog.Ref) map[string]any {
	if r.Kind != catalog.OfPlacement {
		return nil
	}
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	g := d.catalog.Group(r)
	if g == nil {
		return nil
	}
	return map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Placement", "name": g.Book.Name,
		"uid": g.Book.UID}
}

// hookJob is the Job of an attempt. Its containers learn in their environment what is left.
func hookJob(
	k store.Key,
	a catalog.Attempt,
	h *v1alpha1.MoveHook,
	cron, owner map[string]any,
	to []string,
) map[string]any {
	template := fields.Map(cron, "spec", "jobTemplate")
	spec := fields.Map(template, "spec")
	if spec == nil {
		spec = map[string]any{}
	}
	seconds := max(int64(timeoutOf(h)/time.Second), 1)
	if limit := customize.Number(spec["activeDeadlineSeconds"]); limit == 0 || limit > seconds {
		spec["activeDeadlineSeconds"] = seconds
	}
	delete(spec, "ttlSecondsAfterFinished") // its end is read from it
	annotations := fields.Map(template, "metadata", "annotations")
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[v1alpha1.AnnotationHook] = a.Mark()
	meta := map[string]any{"name": k.Name, "namespace": k.Namespace, "annotations": annotations}
	if labels := fields.Map(template, "metadata", "labels"); len(labels) > 0 {
		meta["labels"] = labels
	}
	if owner != nil {
		meta["ownerReferences"] = []any{owner}
	}
	env := []any{
		map[string]any{"name": "SKERRY_HOOK", "value": a.Name},
		map[string]any{"name": "SKERRY_HOOK_KEY", "value": a.Key()},
		map[string]any{"name": "SKERRY_HOOK_TARGET", "value": a.Target},
		map[string]any{"name": "SKERRY_HOOK_TARGETS", "value": placement.Join(to)},
	}
	pod := fields.Map(spec, "template", "spec")
	for _, list := range []string{"initContainers", "containers"} {
		for c := range fields.Maps(pod, list) {
			c["env"] = append(append([]any{}, env...), fields.List(c, "env")...)
		}
	}
	return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
}
