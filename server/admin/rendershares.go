package admin

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// asked has what the space says of how targets have an object.
type asked struct {
	shares map[string]int64 // of its replicas, nil where they are not divided
	// portions are what targets have of an autoscaler or a disruption budget, nil where it is not divided.
	portions map[string]map[string]int64
	releases map[string]int64 // where a target has it as of an older release
	// placement is the name of the Placement that decides about it, empty where none does.
	placement string
}

// reviewed asks the space how targets have an object. Of what has no replicas it is only said, so who may
// not ask is told nothing.
func reviewed(ctx context.Context, client dynamic.Interface, k store.Key) (asked, error) {
	out := asked{releases: map[string]int64{}}
	question, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.PlacementReview{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "PlacementReview"},
		Spec: v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
			APIGroup: k.Group, Resource: k.Resource, Namespace: k.Namespace, Name: k.Name}},
	})
	if err != nil {
		return out, err
	}
	answer, err := client.Resource(v1alpha1.GroupVersion.WithResource("placementreviews")).Create(
		ctx, &unstructured.Unstructured{Object: question}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) && !placement.HasReplicas(k.Group, k.Resource) ||
		apierrors.IsNotFound(err) { // it is of what is never placed, or not known there yet
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("ask how targets have %s: %w", k, err)
	}
	var review v1alpha1.PlacementReview
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, &review); err != nil {
		return out, fmt.Errorf("read how targets have %s: %w", k, err)
	}
	if by := review.Status.DecidedBy; by.Kind == "Placement" {
		out.placement = by.Name
	}
	for _, t := range review.Status.Targets {
		if t.Release != 0 {
			out.releases[t.Name] = t.Release
		}
		if t.Replicas != nil {
			if out.shares == nil {
				out.shares = map[string]int64{}
			}
			out.shares[t.Name] = *t.Replicas
		}
		if t.Portion != nil {
			if out.portions == nil {
				out.portions = map[string]map[string]int64{}
			}
			out.portions[t.Name] = t.Portion
		}
	}
	return out, nil
}

// later says that a target gets a variant with a later release, empty where it has it now.
func (a asked) later(target string) string {
	if n := a.releases[target]; n != 0 {
		return fmt.Sprintf("has it as of release %d, and gets this with a later one", n)
	}
	return ""
}

// at is the base for a target: the object, with the target's share of what is divided.
func (r *rendering) at(target string) (variant.Object, error) {
	out := r.object
	divided := map[string]any{}
	if r.shares != nil {
		divided[v1alpha1.AnnotationShares] = r.shares
	}
	if r.portions != nil && placement.Autoscales(out.Key.Group, out.Key.Resource) {
		scales := map[string][2]int64{}
		for name, has := range r.portions {
			scales[name] = [2]int64{has["minReplicas"], has["maxReplicas"]}
		}
		divided[v1alpha1.AnnotationScales] = scales
	} else if r.portions != nil {
		divided[v1alpha1.AnnotationBudgets] = r.portions
	}
	if len(divided) == 0 {
		return out, nil
	}
	var base unstructured.Unstructured
	if err := base.UnmarshalJSON(out.Body); err != nil {
		return out, err
	}
	notes := base.GetAnnotations()
	for name, shares := range divided {
		text, err := json.Marshal(shares)
		if err != nil {
			return out, err
		}
		notes[name] = string(text) // customize.Render has written others
	}
	base.SetAnnotations(notes)
	body, err := json.Marshal(base.Object)
	if err == nil {
		out.Body, _, err = variant.Share(body, target)
	}
	return out, err
}
