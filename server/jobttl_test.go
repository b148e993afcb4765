package server_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jobTTL: a Job goes when it has ended for as long as it says, one that runs or says nothing stays,
// and so does one whose time is not up.
func jobTTL(t *testing.T, c *center, space string) {
	ctx := t.Context()
	api := clients(t, c.admin(space)).BatchV1().Jobs("default")
	create := func(name string, ttl *int32, ended bool) {
		job, err := api.Create(
			ctx,
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ttl,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}},
			metav1.CreateOptions{},
		)
		must(t, err)
		if !ended {
			return
		}
		now := metav1.Now()
		job.Status = batchv1.JobStatus{
			StartTime:      &now,
			CompletionTime: &now,
			Succeeded:      1,
			Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}},
		}
		_, err = api.UpdateStatus(ctx, job, metav1.UpdateOptions{})
		must(t, err)
	}
	create("runs", ptr(int32(0)), false)
	create("says-nothing", nil, true)
	create("later", ptr(int32(3600)), true)
	create("now", ptr(int32(1)), true)
	gone := func(name string) bool {
		job, err := api.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && job.DeletionTimestamp != nil
	}
	within(t, time.Minute, "the Job whose time is up goes", func() bool { return gone("now") })
	for _, name := range []string{"runs", "says-nothing", "later"} {
		if gone(name) {
			t.Errorf("the Job %q has gone, too", name)
		}
	}
	_, err := api.Patch(
		ctx,
		"later",
		"application/merge-patch+json",
		[]byte(`{"spec":{"ttlSecondsAfterFinished":0}}`),
		metav1.PatchOptions{},
	)
	must(t, err)
	within(t, time.Minute, "a shorter time takes effect", func() bool { return gone("later") })
}
