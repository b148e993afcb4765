package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// A CronJob that is suspended starts no Jobs, and those that it has started go on. So these are
// suspended with it when the lease of the site ends, and go on with it.

const (
	// annotationStopped stands, as "true", on a Job that was suspended because the lease of the site has
	// ended.
	annotationStopped = "skerry.dev/lease-ended"
	// jobsAgain is how often the Jobs of a CronJob that was stopped are looked at, and jobsTime for how
	// long at least: its controller may be about to start one more.
	jobsAgain = 2 * time.Second
	jobsTime  = 15 * time.Second
)

var jobsKey = store.Key{Group: "batch", Resource: "jobs"}

// isCron reports whether objects of a key start Jobs.
func isCron(k store.Key) bool { return k.Group == "batch" && k.Resource == "cronjobs" }

// bringCron is bring for a CronJob and the Jobs that it has started.
func (a *Applier) bringCron(
	ctx context.Context, e store.Entry, r inventory.Record, known bool, v variants.Variant, stopped bool,
) error {
	another := !known || r.Variant != v.Hash
	if another && !stopped && r.UID != "" {
		if _, err := a.suspendJobs(ctx, e, r.UID, false); err != nil {
			return err
		}
	}
	if err := a.bring(ctx, e, r, known, v, stopped); err != nil {
		return err
	}
	if !stopped || !known {
		a.tracks.change(e.Key, func(is *tracked) { is.stopped = time.Time{} })
	}
	now, _ := a.Inventory.Get(e.Key)
	if now.UID == "" || !stopped && r.UID != "" {
		return nil
	}
	found, err := a.suspendJobs(ctx, e, now.UID, stopped)
	if err != nil || !stopped {
		return err
	}
	var began time.Time
	a.tracks.change(e.Key, func(is *tracked) {
		if is.stopped.IsZero() {
			is.stopped = time.Now()
		}
		began = is.stopped
	})
	if found || time.Since(began) < jobsTime {
		return &laterError{jobsAgain}
	}
	return nil
}

// suspendJobs stops the Jobs that a CronJob has started and that have not ended, or lets those go on that
// it has stopped. It reports whether there were any.
func (a *Applier) suspendJobs(ctx context.Context, e store.Entry, uid string, suspend bool) (found bool, err error) {
	t := &task{Entry: e}
	if err := t.decode(); err != nil {
		return false, err
	}
	if err := a.locate(t); err != nil {
		return false, err
	}
	client, err := a.Clients.For(e.Key.Space)
	if err != nil {
		return false, err
	}
	var those []target.Object
	kind := target.Of(jobsKey, "batch/v1")
	if _, err := client.List(ctx, target.Listing{Resource: kind, Namespace: t.at.Namespace}, func(o *target.Object) error {
		if slices.ContainsFunc(o.Metadata.OwnerReferences, func(w target.Owner) bool { return w.UID == uid }) &&
			(suspend && runs(o) || !suspend && o.Metadata.Annotations[annotationStopped] != "") {
			those = append(those, target.Object{Metadata: o.Metadata})
		}
		return nil
	}); err != nil {
		return false, fmt.Errorf("list the Jobs of a CronJob: %w", err)
	}
	for i := range those {
		if err := a.suspendJob(ctx, a.Gate.Accounts.Writer(client, e.Key), kind, &those[i], suspend); err != nil {
			return false, err
		}
	}
	return len(those) > 0, nil
}

// suspendJob writes whether a Job is suspended, if it is as it was read. Somebody else's suspension is
// never ended.
func (a *Applier) suspendJob(
	ctx context.Context, w *target.Client, kind target.Resource, o *target.Object, suspend bool,
) error {
	metadata := map[string]any{"name": o.Metadata.Name}
	if suspend {
		metadata["annotations"] = map[string]string{annotationStopped: "true"}
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
		"spec": map[string]any{"suspend": suspend}})
	if err != nil {
		return fmt.Errorf("encode a Job: %w", err)
	}
	_, _, err = w.Apply(ctx, kind, o.Metadata.Namespace, o.Metadata.Name, body,
		target.Applying{UID: o.Metadata.UID, ResourceVersion: o.Metadata.ResourceVersion, Unmarked: true})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return &changedError{fmt.Errorf("suspend or resume Job %s/%s of a CronJob as it was read: %w",
			o.Metadata.Namespace, o.Metadata.Name, err)}
	case err != nil:
		return fmt.Errorf("suspend or resume Job %s/%s of a CronJob: %w", o.Metadata.Namespace, o.Metadata.Name, err)
	}
	about := target.Involved{APIVersion: "batch/v1", Kind: "Job", Namespace: o.Metadata.Namespace,
		Name: o.Metadata.Name, UID: o.Metadata.UID}
	if suspend {
		a.Lease.Stopped(about)
	} else {
		a.Lease.Started(about, true)
	}
	return nil
}

// runs reports whether a Job has not ended and is not suspended.
func runs(o *target.Object) bool {
	var spec struct{ Suspend bool }
	var status struct {
		Conditions []struct{ Type, Status string }
	}
	_ = json.Unmarshal(o.Spec, &spec) // a Job that cannot be read is suspended all the same
	_ = json.Unmarshal(o.Status, &status)
	for _, c := range status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
			return false
		}
	}
	return !spec.Suspend
}
