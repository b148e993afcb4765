package customize

import (
	"maps"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// cleaners take out of a kind, named by its group and kind, what the cluster that runs it fills in.
// Each gets an object whose top level and metadata are its own to change; what lies deeper is
// shared and must be copied first.
var cleaners = map[string]func(map[string]any){
	"/Namespace":             namespace,
	"/ServiceAccount":        serviceAccount,
	"/PersistentVolumeClaim": claim,
	"/Pod":                   pod,
	"apps/Deployment":        deployment,
	"apps/StatefulSet":       statefulSet,
	"apps/ReplicaSet":        template,
	"apps/DaemonSet":         daemonSet,
	"batch/Job":              job,
	"batch/CronJob":          cronJob,

	"apiextensions.k8s.io/CustomResourceDefinition": definition,
}

// namespace: finalizers belong to the API server that has the namespace; its name label is set by
// every one.
func namespace(o map[string]any) {
	delete(o, "spec")
	drop(fields.Map(o, "metadata"), "labels", "kubernetes.io/metadata.name")
}

// serviceAccount: its credentials are those of the cluster that it is in.
func serviceAccount(o map[string]any) { delete(o, "secrets") }

func claim(o map[string]any) {
	drop(
		fields.Map(o, "metadata"),
		"annotations",
		"pv.kubernetes.io/bind-completed",
		"pv.kubernetes.io/bound-by-controller",
		"volume.kubernetes.io/storage-provisioner",
		"volume.beta.kubernetes.io/storage-provisioner",
		"volume.kubernetes.io/selected-node",
	)
}

// pod: what admission fills in is what the target fills in again, by its own defaults. It refuses a
// priority that is not that of its class.
func pod(o map[string]any) {
	spec := own(o, "spec")
	delete(spec, "priority")
	if spec["preemptionPolicy"] == "PreemptLowerPriority" {
		delete(spec, "preemptionPolicy")
	}
	if spec["serviceAccountName"] == "default" {
		delete(spec, "serviceAccountName")
		delete(spec, "serviceAccount")
	}
	dropToken(spec)
}

func deployment(o map[string]any) {
	drop(fields.Map(o, "metadata"), "annotations", store.DeploymentRevision)
	template(o)
}

func daemonSet(o map[string]any) {
	drop(fields.Map(o, "metadata"), "annotations", "deprecated.daemonset.template.generation")
	template(o)
}

// statefulSet: Kubernetes fills in maxUnavailable since 1.37. Before, it takes the field off where its
// feature is off, and updates one Pod at a time, which is what 1 says.
func statefulSet(o map[string]any) {
	template(o)
	spec := fields.Map(o, "spec")
	if update := fields.Map(spec, "updateStrategy", "rollingUpdate"); Number(update["maxUnavailable"]) == 1 {
		delete(own(own(spec, "updateStrategy"), "rollingUpdate"), "maxUnavailable")
	}
	claims := fields.List(spec, "volumeClaimTemplates")
	if len(claims) == 0 {
		return
	}
	out := make([]any, 0, len(claims))
	for _, c := range claims {
		m, ok := c.(map[string]any)
		if !ok {
			return
		}
		m = maps.Clone(m)
		delete(m, "status")
		// The owners are of the space: the garbage collector of a site deletes a claim whose owners
		// it does not know.
		drop(m, "metadata", "creationTimestamp", "ownerReferences")
		out = append(out, m)
	}
	spec["volumeClaimTemplates"] = out
}

// template leaves spec and spec.template copied.
func template(o map[string]any) {
	spec := own(o, "spec")
	drop(own(spec, "template"), "metadata", "creationTimestamp")
}

// job: the API server makes selector and labels of its UID, which differs on every cluster. The
// Job's own labels say its name as they do in the space: Kubernetes shows the labels of the
// template where a Job has none, but a Job at a target has at least ours.
func job(o map[string]any) {
	template(o)
	spec := fields.Map(o, "spec")
	if spec == nil || spec["manualSelector"] == true {
		return
	}
	delete(spec, "selector")
	t := fields.Map(spec, "template")
	drop(fields.Map(t, "metadata"), "labels", append(jobUIDLabels(), "job-name", "batch.kubernetes.io/job-name")...)
	drop(t, "metadata")
	drop(fields.Map(o, "metadata"), "labels", jobUIDLabels()...)
}

func jobUIDLabels() []string { return []string{"controller-uid", "batch.kubernetes.io/controller-uid"} }

func cronJob(o map[string]any) {
	spec := own(o, "spec")
	jobs := own(spec, "jobTemplate")
	drop(jobs, "metadata", "creationTimestamp")
	jobSpec := own(jobs, "spec")
	drop(own(jobSpec, "template"), "metadata", "creationTimestamp")
}

// definition: conversion by a webhook is the space's. Its URL, which the API server of a site would
// call from inside the site, does not travel; there an object is of one version only.
func definition(o map[string]any) {
	if fields.Map(o, "spec", "conversion")["strategy"] == "Webhook" {
		own(o, "spec")["conversion"] = map[string]any{"strategy": "None"}
	}
}
