package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

var claimResource = target.Resource{Version: "v1", Plural: "persistentvolumeclaims"}

// markClaims marks the claims that the templates of a StatefulSet have made, because it is about to
// be deleted, or gone, and they stay: by the mark they go on being reported to their space. An object
// of another kind, and claims that the target deletes with the StatefulSet, get none. spec is that of
// the object at the key at of the target.
func (s *staying) markClaims(ctx context.Context, c *target.Client, k, at store.Key, spec json.RawMessage) error {
	namespace, ok := s.inventory.Get(store.Key{Space: k.Space, Resource: "namespaces", Name: k.Namespace})
	if !ok {
		return nil // it was released, and what is in it with it
	}
	return s.eachClaim(ctx, c, at, spec, func(claim *target.Object) error {
		if claim.Metadata.Annotations[target.AnnotationClaimOf] == namespace.OriginUID {
			return nil
		}
		return s.annotateClaim(ctx, c, at, claim, namespace.OriginUID)
	})
}

// markClaimsOfGone is markClaims for an object that the target has lost. What it was is in the
// tombstone, or it is not known.
func (s *staying) markClaimsOfGone(ctx context.Context, c *target.Client, e store.Entry, at store.Key) error {
	was := target.Object{}
	if len(e.Body) == 0 || json.Unmarshal(e.Body, &was) != nil {
		return nil
	}
	return s.markClaims(ctx, c, e.Key, at, was.Spec)
}

// disownClaims takes off the marks of a StatefulSet's claims: it is let go, and they are its own.
func (s *staying) disownClaims(ctx context.Context, c *target.Client, at store.Key, live *target.Object) error {
	return s.eachClaim(ctx, c, at, live.Spec, func(claim *target.Object) error {
		if claim.Metadata.Annotations[target.AnnotationClaimOf] == "" {
			return nil
		}
		return s.annotateClaim(ctx, c, at, claim, "")
	})
}

// eachClaim visits the claims that the templates of a StatefulSet have made, and that nothing
// controls. At a relay there are none: it shows claims of its own targets, which mark them.
func (s *staying) eachClaim(
	ctx context.Context,
	c *target.Client,
	at store.Key,
	spec json.RawMessage,
	visit func(*target.Object) error,
) error {
	templates, ok := target.ClaimTemplatesOf(at, spec)
	if !ok {
		return nil
	}
	var found []*target.Object
	listing := target.Listing{Resource: claimResource, Namespace: at.Namespace, MetadataOnly: true}
	_, err := c.List(ctx, listing, func(o *target.Object) error {
		if o.ControllerUID() == "" && o.OriginUID() == "" &&
			o.Metadata.Annotations[target.AnnotationReportedFrom] == "" &&
			templates.Made(o.Metadata.Name, o.Metadata.Labels) {
			found = append(found, o)
		}
		return nil
	})
	if err != nil && !errors.Is(err, target.ErrNotServed) {
		return fmt.Errorf("look for the claims of %s: %w", at, err)
	}
	for _, o := range found {
		if err := visit(o); err != nil {
			return err
		}
	}
	return nil
}

// annotateClaim sets the mark of a claim, or takes it off. A refusal of the target does not keep the
// deletion back.
func (s *staying) annotateClaim(
	ctx context.Context,
	c *target.Client,
	at store.Key,
	claim *target.Object,
	mark string,
) error {
	return s.annotateDependent(ctx, c, claimResource, at, claim, target.AnnotationClaimOf, mark,
		"a claim that stays without its StatefulSet is not marked; its space will not show it after a restart")
}
