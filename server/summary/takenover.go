package summary

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// A controller at a target takes over a placed Pod that its selector takes, as that of a cluster does. The Pod
// shows its owner in the space then. When the controller deletes it, it goes from the space, too.

func isPod(k store.Key) bool { return k.Group == "" && k.Resource == "pods" }

// shownController is the Filled that a Pod shows, nil when it shows none.
func shownController(obj map[string]any) *store.Filled {
	uid := customize.Chosen(obj).Controller
	for _, e := range fields.List(fields.Map(obj, "metadata"), "ownerReferences") {
		if ref, _ := e.(map[string]any); uid != "" && ref["uid"] == uid {
			return &store.Filled{Controller: &store.Controller{APIVersion: fields.String(ref, "apiVersion"),
				Kind: fields.String(ref, "kind"), Name: fields.String(ref, "name"), UID: uid}}
		}
	}
	return nil
}

// takeover shows who controls Pods at their targets.
type takeover struct {
	api      API
	delivery Delivery
}

// mayControl returns the controller if the space has it at the Pod's first target, and does not delete it: a
// deletion with orphan takes the reference off, and whoever has an owner that is gone is deleted.
func (t takeover) mayControl(
	ctx context.Context,
	at placement.Located,
	c *store.Controller,
) (*store.Controller, error) {
	if c == nil {
		return nil, nil
	}
	owner, ok := t.delivery.Owner(at.Key.Space, at.Key.Namespace, groupOf(c.APIVersion), c.Kind, c.Name)
	if !ok || owner.UID != c.UID || len(at.Targets) == 0 || !slices.Contains(owner.Targets, at.Targets[0]) {
		return nil, nil
	}
	obj, err := t.api.Live(ctx, owner.Key, owner.APIVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what has taken over %s: %w", at.Key, err)
	}
	meta := fields.Map(obj, "metadata")
	if meta["uid"] != c.UID || fields.String(meta, "deletionTimestamp") != "" {
		return nil, nil
	}
	return c, nil
}

// controller has a Pod owned by what controls it at its target, unless something of the space controls it.
func (a *allocation) controller(refs []any, c *store.Controller) {
	others := slices.DeleteFunc(slices.Clone(refs), func(e any) bool {
		ref, _ := e.(map[string]any)
		return a.was.Controller != "" && ref["uid"] == a.was.Controller
	})
	theirs := slices.ContainsFunc(others, func(e any) bool {
		ref, _ := e.(map[string]any)
		return ref["controller"] == true
	})
	shown := len(others) < len(refs)
	switch {
	case c != nil && !theirs:
		if a.now.Controller = c.UID; !shown || c.UID != a.was.Controller {
			a.set("/metadata/ownerReferences", append(others, map[string]any{"apiVersion": c.APIVersion,
				"kind": c.Kind, "name": c.Name, "uid": c.UID, "controller": true, "blockOwnerDeletion": true}))
		}
	case shown && len(others) == 0:
		a.remove("/metadata/ownerReferences")
	case shown:
		a.set("/metadata/ownerReferences", others)
	}
}

// end deletes a Pod that its controller has deleted at each of its targets. It reports false for others.
func (t takeover) end(ctx context.Context, at placement.Located, reports []*store.Report) (bool, error) {
	if !isPod(at.Key) || len(reports) == 0 || slices.ContainsFunc(reports, func(r *store.Report) bool {
		return r == nil || r.Filled == nil || !r.Filled.Ended
	}) {
		return false, nil
	}
	err := t.api.Delete(ctx, at.Key, at.APIVersion, at.UID)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return true, fmt.Errorf("delete %s, as its controller has: %w", at.Key, err)
	}
	return true, nil
}
