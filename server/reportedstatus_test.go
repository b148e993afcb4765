package server_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusAnew: when another target takes a workload over, its status begins anew. The center may
// write what Kubernetes forbids to change within one cluster, but nothing that is not valid; users
// may not.
func statusAnew(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := clients(t, c.admin("team")), clients(t, c.api.Loopback("team"))
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "c", Image: "i"}},
	}
	job, err := user.BatchV1().Jobs("default").Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "anew"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}, metav1.CreateOptions{})
	must(t, err)
	began, later := metav1.NewTime(time.Now().Add(-time.Hour)), metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &began, Failed: 2, Active: 1}
	_, err = own.BatchV1().Jobs("default").UpdateStatus(ctx, job, metav1.UpdateOptions{})
	must(t, err)

	anew := batchv1.JobStatus{StartTime: &later, Active: 1}
	job, err = user.BatchV1().Jobs("default").Get(ctx, "anew", metav1.GetOptions{})
	must(t, err)
	job.Status = anew
	if _, err = user.BatchV1().Jobs("default").UpdateStatus(ctx, job, metav1.UpdateOptions{}); !apierrors.IsInvalid(
		err,
	) {
		t.Errorf("a user begins a Job anew: %v", err)
	}
	got, err := own.BatchV1().Jobs("default").UpdateStatus(ctx, job, metav1.UpdateOptions{})
	if must(t, err); got.Status.Failed != 0 || !got.Status.StartTime.Time.Equal(later.Rfc3339Copy().Time) {
		t.Errorf("the center begins it anew: %+v", got.Status)
	}
	got.Status.Active = -1
	if _, err = own.BatchV1().Jobs("default").UpdateStatus(ctx, got, metav1.UpdateOptions{}); !apierrors.IsInvalid(
		err,
	) {
		t.Errorf("a status that is not valid: %v", err)
	}
	must(t, user.BatchV1().Jobs("default").Delete(ctx, "anew", metav1.DeleteOptions{}))
	anewPod(t, c, pod)
	anewDeployment(t, c)
}

func anewPod(t *testing.T, c *center, spec corev1.PodSpec) {
	ctx := t.Context()
	user, own := clients(
		t,
		c.admin("team"),
	).CoreV1().Pods(
		"default",
	), clients(
		t,
		c.api.Loopback("team"),
	).CoreV1().Pods(
		"default",
	)
	p, err := user.Create(
		ctx,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "anew"}, Spec: spec},
		metav1.CreateOptions{},
	)
	must(t, err)
	for _, state := range []corev1.ContainerState{
		{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"},
		}, {Running: &corev1.ContainerStateRunning{}},
	} {
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: p.Status.QOSClass,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: state}}}
		p, err = own.UpdateStatus(ctx, p, metav1.UpdateOptions{})
		must(t, err)
	}
	must(t, user.Delete(ctx, "anew", metav1.DeleteOptions{}))
}

func anewDeployment(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := clients(
		t,
		c.admin("team"),
	).AppsV1().Deployments(
		"default",
	), clients(
		t,
		c.api.Loopback("team"),
	).AppsV1().Deployments(
		"default",
	)
	d := deployment("i")
	d.Name = "anew"
	d, err := user.Create(ctx, d, metav1.CreateOptions{})
	must(t, err)
	for _, collisions := range []*int32{ptr(int32(2)), nil} {
		d.Status.CollisionCount = collisions
		d, err = own.UpdateStatus(ctx, d, metav1.UpdateOptions{})
		must(t, err)
	}
	must(t, user.Delete(ctx, "anew", metav1.DeleteOptions{}))
}
