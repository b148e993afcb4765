package upsync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/upsync"
)

// annotationHash is a hash of all that came.
const annotationHash = "skerry.dev/reported-hash"

// bring makes the object of one reported name in the space what a target reports.
func (u *Upsync) bring(ctx context.Context, k store.Key) error {
	object, _ := upsync.Object(k)
	u.mu.Lock()
	n := u.names[k]
	if n == nil {
		u.mu.Unlock()
		return nil
	}
	counts := maps.Clone(n.targets)
	have, exists := u.mirrors[object]
	u.mu.Unlock()
	if exists {
		counts[have.target] += 0 // it is looked at also if nothing was heard of it since the start
	}
	var all []reported
	var problems []problem
	var silent []string
	for _, target := range slices.Sorted(maps.Keys(counts)) {
		e, said, err := u.cfg.Reports.Report(target, k)
		if err != nil {
			return err
		}
		if !said {
			silent = append(silent, target)
			continue
		}
		r, usable, left := u.reported(target, e.Body, k, object)
		if left != nil {
			problems = append(problems, *left)
		}
		if usable {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b reported) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.target, b.target))
	})
	if exists {
		i := slices.IndexFunc(all, func(r reported) bool { return r.target == have.target })
		switch {
		case i > 0:
			all[0], all[i] = all[i], all[0]
		case i < 0 && u.awaited(have, object):
			u.queue.AddAfter(k, lookAgain)
			u.mu.Lock()
			n.mirror = upsync.RuleKey(k.Space, have.of)
			u.mu.Unlock()
			return nil
		}
	}
	var shown store.Key
	if len(all) > 0 {
		for _, r := range all[1:] {
			problems = append(problems, problem{r.rule, upsync.Left{
				Target: r.target, Object: nameOf(object), Reason: upsync.ReasonConflict,
				Message: fmt.Sprintf("target %s has an object of this name, too, and the space shows that one: "+
					"rename one of them, or let the Placement name one of the targets", all[0].target),
			}})
		}
		why, err := u.put(ctx, object, all[0], have, exists)
		if err != nil {
			return err
		}
		if why != nil && (why.Reason == upsync.ReasonRefused || why.Reason == upsync.ReasonQuota) {
			u.queue.AddAfter(k, askAgain)
		}
		if shown = all[0].rule; why != nil {
			problems, shown = append(problems, problem{all[0].rule, *why}), store.Key{}
		}
	} else if exists {
		if err := u.remove(ctx, object, have); err != nil {
			return err
		}
	}
	u.done(k, n, shown, problems, counts, silent)
	return nil
}

// done records what became of a name, and has the Upsyncs that it concerns told.
func (u *Upsync) done(
	k store.Key, n *name, shown store.Key, problems []problem, counts map[string]int, silent []string,
) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names[k] != n {
		return
	}
	changed := map[store.Key]bool{}
	if n.mirror != shown {
		changed[n.mirror], changed[shown] = true, true
	}
	if !slices.Equal(n.problems, problems) {
		for _, p := range append(slices.Clone(n.problems), problems...) {
			changed[p.rule] = true
		}
	}
	n.mirror, n.problems = shown, problems
	for rule := range changed {
		if rule != (store.Key{}) {
			u.queue.AddAfter(rule, gather)
		}
	}
	for _, t := range silent {
		if n.targets[t] == counts[t] {
			delete(n.targets, t)
		}
	}
	object, _ := upsync.Object(k)
	if _, exists := u.mirrors[object]; !exists && len(n.targets) == 0 && len(problems) == 0 {
		delete(u.names, k)
		delete(u.waiting, object)
	}
}

// awaited reports whether a target that has said nothing of an object may still have it: its Upsync
// is there, and not all that the target reports has come.
func (u *Upsync) awaited(have mirror, object store.Key) bool {
	at, ok := u.cfg.Delivery.Located(upsync.RuleKey(object.Space, have.of))
	return ok && slices.Contains(at.Targets, have.target) && !u.cfg.Reports.Complete(have.target)
}

// reported reads what a target reports of a name, and checks it. A report that is of no use now,
// such as of a target that its Upsync is not on, may be when something else has changed.
func (u *Upsync) reported(target string, body []byte, k, object store.Key) (out reported, usable bool, left *problem) {
	var r store.Report
	if json.Unmarshal(body, &r) != nil || len(r.Object) == 0 || json.Unmarshal(r.Object, &out.object) != nil {
		return out, false, nil
	}
	u.mu.Lock()
	var rule *upsync.Rule
	for key, record := range u.records {
		if key.Space == k.Space && record.uid == r.OriginUID && r.OriginUID != "" {
			out.rule, rule = key, record.rule
		}
	}
	u.mu.Unlock()
	if rule == nil {
		return out, false, nil
	}
	at, placed := u.cfg.Delivery.Located(out.rule)
	home, there := u.cfg.Delivery.Located(store.Key{Space: k.Space, Resource: "namespaces", Name: k.Namespace})
	out.order = slices.Index(at.Targets, target)
	if !placed || out.order < 0 || !there || !slices.Contains(home.Targets, target) {
		return out, false, nil
	}
	labels := map[string]string{}
	for name := range fields.Map(out.object, "metadata", "labels") {
		labels[name] = fields.String(out.object, "metadata", "labels", name)
	}
	if _, selected := rule.Selects(object, labels); !selected {
		return out, false, nil
	}
	why := upsync.Refuses(object, fields.String(out.object, "type"))
	if why == "" && placement.Excluded(object, out.object) {
		why = "an object of this name or type is the space's own machinery"
	}
	if why != "" {
		return out, false, &problem{out.rule, upsync.Left{
			Target: target, Object: nameOf(object), Reason: upsync.ReasonNotBrought, Message: why,
		}}
	}
	out.target = target
	out.object = mirrorFor(object, out)
	return out, true, nil
}

func nameOf(k store.Key) string {
	resource := k.Resource
	if k.Group != "" {
		resource += "." + k.Group
	}
	return resource + "/" + k.Namespace + "/" + k.Name
}

// mirrorFor is the object as it is created in the space.
func mirrorFor(k store.Key, r reported) map[string]any {
	meta := fields.Map(r.object, "metadata")
	notes, labels := map[string]any{}, map[string]any{}
	for to, from := range map[*map[string]any]map[string]any{
		&notes: fields.Map(meta, "annotations"), &labels: fields.Map(meta, "labels"),
	} {
		for name, v := range from {
			if !strings.HasPrefix(name, "skerry.dev/") {
				(*to)[name] = v
			}
		}
	}
	out := maps.Clone(r.object)
	out["metadata"] = map[string]any{"name": k.Name, "namespace": k.Namespace, "labels": labels, "annotations": notes}
	hash := store.HashBody(0, encode([]any{r.target, r.rule.Name, out, fields.String(meta, "uid")})).String()
	notes[v1alpha1.AnnotationReportedFrom], notes[v1alpha1.AnnotationUpsync] = r.target, r.rule.Name
	notes[annotationHash] = hash
	return out
}

// put writes an object that came. It tells why the space does not have it, nil when it does.
func (u *Upsync) put(ctx context.Context, k store.Key, r reported, have mirror, exists bool) (*upsync.Left, error) {
	say := func(reason, format string, args ...any) (*upsync.Left, error) {
		return &upsync.Left{Target: r.target, Object: nameOf(k), Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	apiVersion := fields.String(r.object, "apiVersion")
	hash := fields.String(r.object, "metadata", "annotations", annotationHash)
	if exists && have.hash == hash && have.apiVersion == apiVersion {
		return nil, nil
	}
	if exists {
		if err := u.change(ctx, k, r, have); err == nil || !apierrors.IsInvalid(err) {
			return nil, err
		}
		if err := u.remove(ctx, k, have); err != nil { // an immutable one, or of another type
			return nil, err
		}
	}
	if err := u.cfg.Room(k); err != nil {
		return say(upsync.ReasonQuota, "%s", err)
	}
	_, err := u.cfg.API.Create(ctx, k, apiVersion, r.object)
	switch {
	case err == nil:
		return nil, u.putStatus(ctx, k, r)
	case apierrors.IsAlreadyExists(err):
		is, err := u.cfg.API.Live(ctx, k, apiVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read %s: %w", k, err)
		}
		if _, ours := mirrorOf(is); ours || is == nil {
			return nil, errAgain
		}
		u.mu.Lock()
		u.waiting[k] = upsync.Key(k)
		u.mu.Unlock()
		return say(upsync.ReasonConflict, "the space has an object of this name itself, which is left as it is: "+
			"delete it, or take the name out of spec.upsync")
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil
	case apierrors.IsNotFound(err):
		return say(upsync.ReasonRefused, "the space has no namespace %s, or does not serve %s: %s", k.Namespace, apiVersion,
			bounded(err))
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return say(upsync.ReasonRefused, "the space does not take it: %s", bounded(err))
	}
	return nil, fmt.Errorf("create %s: %w", k, err)
}

// errAgain has a name looked at again.
var errAgain = errors.New("the space has another object than was known")

// bounded is the beginning of what the API of the space says. A message about an object that is
// invalid may quote it, so that only the reason is told.
func bounded(err error) string {
	if apierrors.IsInvalid(err) {
		return "its definition there does not allow the object"
	}
	return clip.Text(err.Error(), 300)
}

// change writes another version of an object that came, whole.
func (u *Upsync) change(ctx context.Context, k store.Key, r reported, have mirror) error {
	is, err := u.cfg.API.Live(ctx, k, have.apiVersion)
	if apierrors.IsNotFound(err) {
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", k, err)
	}
	if now, ours := mirrorOf(is); !ours || now.uid != have.uid {
		return errAgain
	}
	ops := []any{map[string]any{"op": "test", "path": "/metadata/uid", "value": have.uid}}
	for field, value := range r.object {
		switch field {
		case "apiVersion", "kind", "metadata", "status":
		default:
			ops = append(ops, map[string]any{"op": "add", "path": "/" + escape(field), "value": value})
		}
	}
	for field := range is {
		if _, stays := r.object[field]; !stays && field != "status" {
			ops = append(ops, map[string]any{"op": "remove", "path": "/" + escape(field)})
		}
	}
	meta := fields.Map(r.object, "metadata")
	for _, field := range []string{"labels", "annotations"} {
		ops = append(ops, map[string]any{"op": "add", "path": "/metadata/" + field, "value": meta[field]})
	}
	_, err = u.cfg.API.Patch(ctx, k, fields.String(r.object, "apiVersion"), "", encode(ops))
	switch {
	case apierrors.IsInvalid(err):
		return err
	case apierrors.IsNotFound(err):
		return errAgain
	case err != nil:
		return fmt.Errorf("change %s: %w", k, err)
	}
	return u.putStatus(ctx, k, r)
}

// putStatus writes the status of a custom resource where that is a subresource.
func (u *Upsync) putStatus(ctx context.Context, k store.Key, r reported) error {
	status, has := r.object["status"]
	if !has {
		return nil
	}
	patch := encode([]any{map[string]any{"op": "add", "path": "/status", "value": status}})
	_, err := u.cfg.API.Patch(ctx, k, fields.String(r.object, "apiVersion"), "status", patch)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
		return fmt.Errorf("write the status of %s: %w", k, err)
	}
	return nil
}

func escape(field string) string {
	return strings.ReplaceAll(strings.ReplaceAll(field, "~", "~0"), "/", "~1")
}

// remove deletes an object that came, only if it is still the one that is known.
func (u *Upsync) remove(ctx context.Context, k store.Key, have mirror) error {
	err := u.cfg.API.Delete(ctx, k, have.apiVersion, have.uid)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s: %w", k, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mirrors[k].uid == have.uid {
		delete(u.mirrors, k)
	}
	return nil
}
