package server_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	scheduling "k8s.io/client-go/applyconfigurations/scheduling/v1"
)

// systemPriorities: a space has the PriorityClasses that each cluster has.
func systemPriorities(t *testing.T, c *center) {
	ctx, classes := t.Context(), clients(t, c.admin("team")).SchedulingV1().PriorityClasses()
	w, err := classes.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=system-node-critical"})
	must(t, err)
	defer w.Stop()
	if e := <-w.ResultChan(); e.Object.(*schedulingv1.PriorityClass).Name != "system-node-critical" {
		t.Errorf("a watch begins with %v", e)
	}
	list, err := classes.List(ctx, metav1.ListOptions{})
	must(t, err)
	values := map[string]int32{}
	for _, class := range list.Items {
		values[class.Name] = class.Value
	}
	if values["system-cluster-critical"] != 2000000000 || values["system-node-critical"] != 2000001000 {
		t.Errorf("the classes of a cluster: %v", values)
	}
	class, err := classes.Get(ctx, "system-cluster-critical", metav1.GetOptions{})
	must(t, err)
	if *class.PreemptionPolicy != corev1.PreemptLowerPriority || class.CreationTimestamp.IsZero() || class.UID == "" {
		t.Errorf("a class of a cluster: %v", class)
	}
	again := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class.Name}, Value: class.Value}
	if _, err = classes.Create(ctx, again, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("made again: %v", err)
	}
	plain := class.DeepCopy()
	unstored := func(what string, err error, refused func(error) bool) {
		t.Helper()
		if !refused(err) {
			t.Errorf("%s: %v", what, err)
		}
		now, err := classes.Get(ctx, class.Name, metav1.GetOptions{})
		if must(t, err); !equality.Semantic.DeepEqual(now, plain) {
			t.Errorf("%s: stored as %v", what, now)
		}
	}
	none := func(err error) bool { return err == nil }
	class.Value--
	_, err = classes.Update(ctx, class, metav1.UpdateOptions{})
	unstored("with another value", err, apierrors.IsInvalid)
	class.Value++
	patch := func(with string, o metav1.PatchOptions) error {
		_, err := classes.Patch(ctx, class.Name, types.MergePatchType, []byte(with), o)
		return err
	}
	unstored("a patch of the value", patch(`{"value":7}`, metav1.PatchOptions{}), apierrors.IsInvalid)
	unstored("a patch of the policy", patch(`{"preemptionPolicy":"Never"}`, metav1.PatchOptions{}), apierrors.IsInvalid)
	unstored("a patch of another version", patch(`{"metadata":{"resourceVersion":"7"}}`, metav1.PatchOptions{}),
		apierrors.IsConflict)
	unstored("a patch of another object", patch(`{"metadata":{"uid":"7"}}`, metav1.PatchOptions{}),
		func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsInvalid(err) })
	unstored("the default", patch(`{"globalDefault":true}`, metav1.PatchOptions{}), apierrors.IsInvalid)
	apply := func(value int32, o metav1.ApplyOptions) error {
		_, err := classes.Apply(ctx, scheduling.PriorityClass(class.Name).WithValue(value), o)
		return err
	}
	mine := metav1.ApplyOptions{FieldManager: "team", Force: true}
	unstored("an apply of another value", apply(7, mine), apierrors.IsInvalid)
	dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	unstored("a dry run", patch(`{"metadata":{"labels":{"of":"team"}}}`, dry), none)
	unstored("an apply as a dry run", apply(class.Value, metav1.ApplyOptions{FieldManager: "team", Force: true,
		DryRun: dry.DryRun}), none)
	unstored("a deletion", classes.Delete(ctx, class.Name, metav1.DeleteOptions{}), apierrors.IsForbidden)
	class.Labels = map[string]string{"of": "team"}
	now, err := classes.Update(ctx, class, metav1.UpdateOptions{})
	must(t, err)
	if now.UID != plain.UID || !now.CreationTimestamp.Equal(&plain.CreationTimestamp) ||
		now.Labels["of"] != "team" || len(now.Annotations) > 0 {
		t.Errorf("labelled: %v, was %v", now, plain)
	}
	must(t, apply(class.Value, mine))
	if err = classes.Delete(ctx, class.Name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("deleted: %v", err)
	}
}

// systemRoles: what is refused about roles and bindings that each cluster has is not stored either.
func systemRoles(t *testing.T, c *center) {
	ctx, rights := t.Context(), clients(t, c.admin("team")).RbacV1()
	was, err := rights.ClusterRoleBindings().Get(ctx, "cluster-admin", metav1.GetOptions{})
	must(t, err)
	_, err = rights.ClusterRoleBindings().Patch(ctx, was.Name, types.MergePatchType, []byte(`{"roleRef":{"name":"view"}}`),
		metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("another role: %v", err)
	}
	if now, err := rights.ClusterRoleBindings().Get(ctx, was.Name, metav1.GetOptions{}); err != nil ||
		!equality.Semantic.DeepEqual(now, was) {
		t.Errorf("stored as %v: %v", now, err)
	}
	role, err := rights.ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
	must(t, err)
	_, err = rights.ClusterRoles().Patch(ctx, "view", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	must(t, err)
	if now, err := rights.ClusterRoles().Get(ctx, "view", metav1.GetOptions{}); err != nil ||
		!equality.Semantic.DeepEqual(now, role) {
		t.Errorf("a dry run stored %v: %v", now, err)
	}
}
