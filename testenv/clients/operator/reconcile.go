package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	manager   = client.FieldOwner("website-operator")
	finalizer = "example.com/farewell"
)

type reconciler struct {
	client client.Client
	events events.EventRecorder
}

func (r *reconciler) setUp(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("website").For(&website{}).
		Owns(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Owns(&corev1.Service{}).Complete(r)
}

// Reconcile makes what a Website stands for, and tells in its status what became of it.
func (r *reconciler) Reconcile(ctx context.Context, q ctrl.Request) (ctrl.Result, error) {
	w := &website{}
	if err := r.client.Get(ctx, q.NamespacedName, w); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !w.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.farewell(ctx, w)
	}
	if controllerutil.AddFinalizer(w, finalizer) {
		return ctrl.Result{}, r.client.Update(ctx, w)
	}
	for _, o := range r.parts(w) {
		if err := r.client.Apply(ctx, o, manager, client.ForceOwnership); err != nil {
			return ctrl.Result{}, fmt.Errorf("apply: %w", err)
		}
	}
	return ctrl.Result{}, r.report(ctx, w)
}

// parts are the objects that a Website owns.
func (r *reconciler) parts(w *website) []runtime.ApplyConfiguration {
	labels := map[string]string{"website": w.Name}
	owner := metaac.OwnerReference().WithAPIVersion(groupVersion.String()).
		WithKind("Website").WithName(w.Name).WithUID(w.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	container := coreac.Container().WithName("web").WithImage(w.Spec.Image).WithArgs("serve").
		WithEnvFrom(coreac.EnvFromSource().WithConfigMapRef(coreac.ConfigMapEnvSource().WithName(w.Name)))
	return []runtime.ApplyConfiguration{
		coreac.ConfigMap(w.Name, w.Namespace).WithLabels(labels).WithOwnerReferences(owner).WithData(
			map[string]string{"TEXT": w.Spec.Text}),
		coreac.Service(w.Name, w.Namespace).WithLabels(labels).WithOwnerReferences(owner).WithSpec(
			coreac.ServiceSpec().WithSelector(labels).
				WithPorts(coreac.ServicePort().WithPort(80).WithTargetPort(intstr.FromInt32(8080)))),
		appsac.Deployment(w.Name, w.Namespace).WithLabels(labels).WithOwnerReferences(owner).WithSpec(appsac.DeploymentSpec().
			WithReplicas(w.Spec.Replicas).WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreac.PodTemplateSpec().WithLabels(labels).WithSpec(coreac.PodSpec().WithContainers(container)))),
	}
}

// report writes the status: as the Deployment's, which a site reports.
func (r *reconciler) report(ctx context.Context, w *website) error {
	d := &appsv1.Deployment{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(w), d); err != nil {
		return client.IgnoreNotFound(err)
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Starting",
		ObservedGeneration: w.Generation,
		Message:            fmt.Sprintf("%d of %d replicas", d.Status.ReadyReplicas, w.Spec.Replicas)}
	if d.Status.ReadyReplicas == w.Spec.Replicas && d.Status.ObservedGeneration == d.Generation &&
		d.Status.UpdatedReplicas == w.Spec.Replicas {
		ready.Status, ready.Reason = metav1.ConditionTrue, "Serving"
	}
	changed := meta.SetStatusCondition(&w.Status.Conditions, ready)
	if !changed && w.Status.Ready == d.Status.ReadyReplicas && w.Status.Replicas == d.Status.Replicas {
		return nil
	}
	w.Status.Ready, w.Status.Replicas = d.Status.ReadyReplicas, d.Status.Replicas
	if changed {
		r.events.Eventf(w, d, corev1.EventTypeNormal, ready.Reason, "Report", ready.Message)
	}
	err := r.client.Status().Update(ctx, w)
	if apierrors.IsConflict(err) {
		return nil // the newer Website comes by itself
	}
	return err
}

// farewell leaves a ConfigMap behind that says what was here.
func (r *reconciler) farewell(ctx context.Context, w *website) error {
	left := coreac.ConfigMap(w.Name+"-was-here", w.Namespace).WithData(map[string]string{"text": w.Spec.Text})
	if err := r.client.Apply(ctx, left, manager, client.ForceOwnership); err != nil {
		return err
	}
	if !controllerutil.RemoveFinalizer(w, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.client.Update(ctx, w))
}
