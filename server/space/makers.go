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

// In a cluster nothing is made any more in a Namespace that is being deleted. The Namespace of a site lives until
// it is empty, so there a StatefulSet makes the claims and Pods anew that are deleted before it: the claims stayed,
// and the Namespace with them. So what makes others goes first.

// makers are the kinds that make others at sites, and are not made there themselves.
var makers = map[string]schema.GroupVersionResource{
	"Deployment":            {Group: "apps", Version: "v1", Resource: "deployments"},
	"StatefulSet":           {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"DaemonSet":             {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"CronJob":               {Group: "batch", Version: "v1", Resource: "cronjobs"},
	"ReplicationController": {Version: "v1", Resource: "replicationcontrollers"},
}

// made are the kinds that go at a site once their maker is gone there.
var made = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "batch", Version: "v1", Resource: "jobs"},
}

// makersEnd is how long sites have for that. One that is away must not keep what others have.
const makersEnd = 30 * time.Second

// endMakers deletes the makers in a namespace that is being deleted. Its error says that sites still have one, by
// what they show of it.
func endMakers(ctx context.Context, client metadata.Interface, ns *corev1.Namespace) error {
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) ||
		time.Since(ns.DeletionTimestamp.Time) > emptyAfter+makersEnd {
		return nil
	}
	background := metav1.DeletePropagationBackground
	for _, r := range makers {
		err := client.Resource(r).Namespace(ns.Name).DeleteCollection(ctx,
			metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the %s of a namespace: %w", r.Resource, err)
		}
	}
	for _, r := range made {
		list, err := client.Resource(r).Namespace(ns.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("look for %s of workloads that sites still have: %w", r.Resource, err)
		}
		if slices.ContainsFunc(list.Items, ofMaker) {
			return &deletion.ResourcesRemainingError{Estimate: 1}
		}
	}
	return nil
}

// ofMaker reports whether a site shows an object that goes with a maker.
func ofMaker(o metav1.PartialObjectMetadata) bool {
	return o.Annotations[v1alpha1.AnnotationReportedFrom] != "" &&
		slices.ContainsFunc(o.OwnerReferences, func(owner metav1.OwnerReference) bool {
			r, makes := makers[owner.Kind]
			return makes && r.GroupVersion().String() == owner.APIVersion
		})
}
