package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A claim that the templates of a StatefulSet make comes to a target before its StatefulSet: with the Deployment that
// copies into it (store.MoverClaim). It has the mark of claims that stay without their StatefulSet, so that its
// space shows it. At a relay the targets below have it.

// mayMove reports whether an object is of the kind that copies volumes.
func mayMove(k store.Key) bool { return k.Group == "apps" && k.Resource == "deployments" }

// moverClaim is what an object says of the claim that it copies; it is false for any other object.
func moverClaim(k store.Key, annotations map[string]string) (c store.MoverClaim, is bool, err error) {
	text := annotations[target.AnnotationMoverClaim]
	if text == "" || !mayMove(k) {
		return c, false, nil
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, true, &policyError{fmt.Errorf("annotation %s: %w", target.AnnotationMoverClaim, err)}
	}
	return c, true, nil
}

// makeMoverClaim makes the claim that is to be there before the Pods of a Deployment.
func makeMoverClaim(ctx context.Context, a *Applier, t *task) error {
	claim, is, err := moverClaim(t.Key, t.head.Metadata.Annotations)
	if err != nil || !is || !claim.Make || a.Relay {
		return err
	}
	maps.DeleteFunc(claim.Labels, func(name, _ string) bool { return strings.HasPrefix(name, target.KeyPrefix) })
	namespace, _ := a.Inventory.Get(store.Key{Space: t.Key.Space, Resource: "namespaces", Name: t.Key.Namespace})
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]any{"name": claim.Name, "namespace": t.at.Namespace, "labels": claim.Labels,
			"annotations": map[string]string{target.AnnotationClaimOf: namespace.OriginUID}},
		"spec": claim.Spec,
	})
	if err != nil {
		return &policyError{fmt.Errorf("annotation %s: %w", target.AnnotationMoverClaim, err)}
	}
	kind := policy.KindName("", claimResource.Plural)
	if err := a.Gate.Allows(t.Key, t.at.Namespace, kind, body); err != nil {
		return err
	}
	if _, err := t.writer.Create(ctx, claimResource, t.at.Namespace, body); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make claim %s: %w", claim.Name, err)
	}
	return nil
}

// dropMoverClaim deletes the claim of a Deployment that is removed and has only kept it, where its StatefulSet is not
// to be here, and no other Deployment that copies it: that of the target that was left, or of one to which nothing
// came. Of any other the claim stays. That its StatefulSet is not here yet proves nothing: through a relay it may come
// after the Deployment's tombstone.
func dropMoverClaim(ctx context.Context, a *Applier, c *target.Client, e store.Entry, at store.Key) error {
	was := target.Object{}
	if !mayMove(e.Key) || len(e.Body) == 0 || json.Unmarshal(e.Body, &was) != nil {
		return nil
	}
	claim, is, err := moverClaim(e.Key, was.Metadata.Annotations)
	kept := was.Metadata.Annotations[target.AnnotationKeepUntil] != ""
	if err != nil || !is || a.Relay || !kept {
		return nil // what cannot be read was never made, and what is being copied stays
	}
	set := e.Key
	set.Resource, set.Name = "statefulsets", claim.Set
	switch d, ok, err := a.Desired.Get(set); {
	case err != nil:
		return fmt.Errorf("read %s: %w", set, err)
	case ok && !d.Tombstone:
		return nil
	}
	if has, err := otherMover(a.Desired, e.Key, claim.Name); err != nil || has {
		return err
	}
	live, err := c.Get(ctx, claimResource, at.Namespace, claim.Name, false)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read claim %s: %w", claim.Name, err)
	case live.Metadata.Annotations[target.AnnotationClaimOf] == "":
		return nil // it is another one's, or its StatefulSet is still there
	}
	d := target.Deletion{UID: live.Metadata.UID}
	_, err = a.Gate.Accounts.Writer(c, e.Key).Delete(ctx, claimResource, at.Namespace, claim.Name, d)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete claim %s: %w", claim.Name, err)
	}
	return nil
}

// otherMover reports whether another Deployment than the one of a key copies a claim, and is to be here.
func otherMover(desired Desired, one store.Key, claim string) (has bool, err error) {
	err = desired.Each(func(e store.Entry) error {
		if has || e.Tombstone || e.Key == one || !mayMove(e.Key) || e.Key.Space != one.Space ||
			e.Key.Namespace != one.Namespace {
			return nil
		}
		whole, known, err := desired.Get(e.Key)
		if err != nil || !known || whole.Tombstone {
			return err
		}
		var is target.Object
		if json.Unmarshal(whole.Body, &is) != nil {
			return nil // it is applied nowhere
		}
		c, copies, err := moverClaim(e.Key, is.Metadata.Annotations)
		has = err == nil && copies && c.Name == claim
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read what copies claim %s: %w", claim, err)
	}
	return has, nil
}
