package space

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// With a Namespace that is deleted go the claims that StatefulSets have made for it at sites: sites keep claims of
// themselves, as clusters do, and their namespace with them. In a cluster nothing is made any more in a Namespace
// that is being deleted. That of a site lives until it is empty, so there a StatefulSet makes a claim anew that goes
// before it. So the StatefulSets go first.

var (
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	// revisions go at a site as soon as their StatefulSet is gone there.
	revisions = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	claims    = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// claimsEnd is how long sites have for that. One that is away keeps its claims, and says so itself, because its
// namespace cannot go; it must not keep what others have.
const claimsEnd = 15 * time.Second

// endClaims deletes the StatefulSets in a namespace that is being deleted, and then the claims that sites have of
// them. Its error says that sites still have some. In a Namespace of a parent no claim goes: it leaves this relay
// also when it is placed elsewhere.
func endClaims(ctx context.Context, client metadata.Interface, ns *corev1.Namespace) error {
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) ||
		ns.Annotations[v1alpha1.AnnotationOrigin] != "" || time.Since(ns.DeletionTimestamp.Time) > emptyAfter+claimsEnd {
		return nil
	}
	background := metav1.DeletePropagationBackground
	if err := client.Resource(statefulSets).Namespace(ns.Name).DeleteCollection(ctx,
		metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete the StatefulSets of a namespace: %w", err)
	}
	list, err := client.Resource(revisions).Namespace(ns.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("look for StatefulSets that sites still have: %w", err)
	}
	if slices.ContainsFunc(list.Items, ofStatefulSet) {
		return &deletion.ResourcesRemainingError{Estimate: 1}
	}
	if list, err = client.Resource(claims).Namespace(ns.Name).List(ctx, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("look for claims that sites have: %w", err)
	}
	left := false
	for i := range list.Items {
		claim := &list.Items[i]
		if claim.Annotations[v1alpha1.AnnotationReportedFrom] == "" || claim.DeletionTimestamp != nil {
			continue
		}
		// By its version the site deletes it, and not the center what it shows of it.
		err := client.Resource(claims).Namespace(ns.Name).Delete(ctx, claim.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}})
		left = left || err != nil && !apierrors.IsNotFound(err)
	}
	if left {
		return &deletion.ResourcesRemainingError{Estimate: 1}
	}
	return nil
}

// ofStatefulSet reports whether a site shows an object of a StatefulSet that it has.
func ofStatefulSet(o metav1.PartialObjectMetadata) bool {
	return o.Annotations[v1alpha1.AnnotationReportedFrom] != "" &&
		slices.ContainsFunc(o.OwnerReferences, func(owner metav1.OwnerReference) bool {
			return owner.APIVersion == "apps/v1" && owner.Kind == "StatefulSet"
		})
}
