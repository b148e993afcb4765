package summary

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Claims that templates have made outlive their StatefulSet, in a cluster and here. A target reports
// each with the StatefulSet, while that is placed there, and with its Namespace. Neither is an owner
// of the mirror, because neither is one of the claim.

// loose reports whether the first owner of a reported object does not control it. Sites of before
// say of each owner that it does.
func loose(k store.Key, first map[string]any) bool {
	controls, said := first["controller"].(bool)
	return k.Resource == "persistentvolumeclaims" && (!said || !controls)
}

func isNamespace(ref reference) bool { return ref.APIVersion == "v1" && ref.Kind == "Namespace" }

func namespaceKey(k store.Key) store.Key {
	return store.Key{Space: k.Space, Resource: "namespaces", Name: k.Namespace}
}

// keptAt reports whether a claim is shown that its StatefulSet has left at a target, and its place
// behind those that are placed. Its Namespace must be placed there. Where that has left the target
// because of the deletion of the StatefulSet, the claim must have been shown before.
func (s *Summary) keptAt(ctx context.Context, k store.Key, target string, ref reference) (int, bool, error) {
	if k.Resource != "persistentvolumeclaims" || ref.Name != k.Namespace || ref.UID == "" {
		return 0, false, nil
	}
	of := namespaceKey(k)
	at, placed := s.cfg.Delivery.Located(of)
	if i := slices.Index(at.Targets, target); placed && at.UID == ref.UID && i >= 0 {
		return mirrorTargets + i, true, nil
	}
	if !s.shownFrom(k, target) {
		return 0, false, nil
	}
	if !placed {
		namespace, err := s.cfg.API.Get(ctx, of, "v1")
		if apierrors.IsNotFound(err) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, fmt.Errorf("read namespace %s: %w", of, err)
		}
		at.UID = fields.String(fields.Map(namespace, "metadata"), "uid")
	}
	return 2 * mirrorTargets, at.UID == ref.UID, nil
}

// shownFrom reports whether the space shows an object of this reported name from a target.
func (s *Summary) shownFrom(k store.Key, target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.mirrors[k]; m != nil {
		for _, o := range m.objects {
			if o.target == target {
				return true
			}
		}
	}
	return false
}
