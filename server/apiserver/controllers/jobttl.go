package controllers

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/queue"
)

// JobTTL deletes Jobs that have ended for as long as their ttlSecondsAfterFinished says, in all
// spaces. A site deletes its own copy by itself, which ends nothing in the space.
type JobTTL struct {
	loopback func(space string) *rest.Config
	log      *slog.Logger
	reconciler[jobKey]
}

type jobKey struct{ space, namespace, name string }

// jobKeys is the prefix of the keys of Jobs.
const jobKeys = registrykey.Prefix + "/jobs/"

// NewJobTTL returns the controller. It reads from client and deletes by the loopback of a space.
func NewJobTTL(client *clientv3.Client, loopback func(string) *rest.Config, log *slog.Logger) *JobTTL {
	t := &JobTTL{loopback: loopback, log: log}
	t.reconciler = reconciler[jobKey]{
		client: client,
		prefix: jobKeys,
		queue:  queue.NewFair(100*time.Millisecond, time.Minute, func(of jobKey) string { return of.space }),
		of:     t,
	}
	return t
}

func (t *JobTTL) failed(k jobKey, err error) {
	t.log.Debug(
		"Job not deleted after its time yet",
		"space",
		k.space,
		"namespace",
		k.namespace,
		"job",
		k.name,
		"err",
		err,
	)
}

// deleted does nothing: what is gone needs no deletion.
func (*JobTTL) deleted(*mvccpb.KeyValue) {}

func (t *JobTTL) written(kv *mvccpb.KeyValue) {
	key := strings.Split(strings.TrimPrefix(string(kv.Key), jobKeys), "/")
	obj, err := storage.Decode(kv.Value)
	job, ok := obj.(*batchv1.Job)
	if err != nil || !ok || len(key) != 3 {
		t.log.Warn("Job not understood, it is not deleted after its time", "key", string(kv.Key), "err", err)
		return
	}
	if end, ends := expiry(job); ends {
		t.queue.AddAfter(jobKey{key[0], key[1], key[2]}, time.Until(end))
	}
}

// expiry is when a Job is to be deleted. What a site reports is the site's to delete.
func expiry(job *batchv1.Job) (time.Time, bool) {
	if _, mirrored := job.Annotations[v1alpha1.AnnotationReportedFrom]; mirrored ||
		job.Spec.TTLSecondsAfterFinished == nil ||
		job.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second), true
		}
	}
	return time.Time{}, false
}

// sync deletes a Job whose time is up. What has changed since it was queued counts: its time may
// have become longer, or it may be another one.
func (t *JobTTL) sync(ctx context.Context, k jobKey) error {
	client, err := batchclient.NewForConfig(t.loopback(k.space))
	if err != nil {
		return err
	}
	job, err := client.Jobs(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	end, ends := expiry(job)
	if !ends {
		return nil
	}
	if left := time.Until(end); left > 0 {
		t.queue.AddAfter(k, left)
		return nil
	}
	propagation := metav1.DeletePropagationForeground
	err = client.Jobs(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{PropagationPolicy: &propagation,
		Preconditions: &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
