package observe

import (
	"fmt"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
)

// diffReports is a ReplicaSet without what the parent fills in. of names the replicasetdiff.Source
// that completes it.
type diffReports struct {
	of   string
	rest []byte
}

// shortenLocked finds what of a ReplicaSet the parent can fill in from the Deployment that it has
// sent. It compares with the version in the desired copy: during a session the parent has the same.
func (o *Observer) shortenLocked(k store.Key, rec *record, object []byte) {
	rec.short = nil
	if owner, ok := replicasetdiff.Owner(k); !ok || owner != *rec.owner {
		return
	}
	source, ok := replicasetdiff.Of(o.Desired(*rec.owner), rec.originUID, k)
	if !ok {
		return
	}
	if rest, ok := source.Diff(object); ok {
		rec.short = &diffReports{source.Name, rest}
	}
}

// renderObjectLocked puts an associated object into its report.
func (o *Observer) renderObjectLocked(report *store.Report, rec *record) (err error) {
	if o.diffs && rec.short != nil {
		report.Of, report.Object = rec.short.of, rec.short.rest
		return nil
	}
	if report.Object, err = o.codec.Decode(nil, rec.object, maxReported); err != nil {
		return fmt.Errorf("decompress object: %w", err)
	}
	return nil
}

// Arrived is called when the desired copy has new versions of some objects. Reports of their
// ReplicaSets are compared with these.
func (o *Observer) Arrived(keys []store.Key) {
	changed := map[store.Key]bool{}
	for _, k := range keys {
		if k.Group == "apps" && k.Resource == "deployments" {
			changed[k] = true
		}
	}
	if len(changed) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.eachReplicaSetLocked(func(k store.Key, rec *record) {
		if !changed[*rec.owner] {
			return
		}
		object, err := o.codec.Decode(nil, rec.object, maxReported)
		if err != nil {
			o.Log.Error("report not made anew", "key", k, "err", err)
			return
		}
		o.shortenLocked(k, rec, object)
		o.holdLocked(k) // it is about to change with its Deployment
		o.publishLocked(k)
	})
}

// SetForm sets the newest form of reports that the parent reads. What it cannot read is reported in
// the form that every parent reads.
func (o *Observer) SetForm(form int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if short := form >= store.ReportsShort; short != o.diffs {
		o.diffs = short
		o.eachReplicaSetLocked(func(k store.Key, _ *record) { o.publishLocked(k) })
	}
}

// eachReplicaSetLocked visits the reports of ReplicaSets that belong to something placed.
func (o *Observer) eachReplicaSetLocked(visit func(store.Key, *record)) {
	for _, rec := range o.associated.All() {
		if (resource{rec.key.Group, rec.key.Resource}) == replicaSetResource {
			visit(rec.key, rec)
		}
	}
}
