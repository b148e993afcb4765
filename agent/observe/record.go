package observe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// record is what is known of one key of the feed. Status and object are compressed; they are
// combined when the report is sent.
type record struct {
	// key is read here by all that points to the record: a site has thousands of Pods, and a key is
	// large.
	key              store.Key
	uid              string // on the target
	revision         uint64 // resourceVersion of what was seen last
	owned            uint64 // hash of the fields that were ours then
	content          uint64 // hash of everything but status then
	varied           bool   // Customizers have changed it
	finished         bool   // a Job or Pod had run to its end then
	going            bool   // it was being deleted then
	removing         bool   // its deletion is asked for from here
	alone            bool   // nothing that belongs to it is reported
	loose            bool   // a claim that nothing controls
	originUID        string
	hash             store.Hash // desired version that is applied
	generation       int64      // of the source
	targetGeneration int64      // that it has on the target
	failure          *failure
	altered          string             // what the target made of what was applied, see inventory.Record
	below            *store.ReportError // why a target of the target, which is a relay, refuses it
	belowAltered     string             // what a target of the target made of it
	filled           *store.Filled
	replicas         int64  // that a workload had then; 0 for other kinds
	autoscaler       string // of the space, which decides about them
	scalePath        string // the field that it sets, see inventory.Record
	status           []byte
	object           []byte // of a Pod: without status
	short            *diffReports
	owner            *store.Key // of a Pod: the placed object that it belongs to, see shared
	counted          *watchKey  // where a placed object is counted
	event            *event     // of an Event of the target
	at               int64      // Unix time in milliseconds
	conditions       uint64     // see conditionsOf
	told             news       // what was urgent in the report that was sent last
}

// failure is why an object is not as desired on the target. of is the UID of the source that the target
// refuses, empty where that is the record's own.
type failure struct {
	store.ReportError
	of string
}

func failureOf(why *store.ReportError) *failure {
	if why == nil {
		return nil
	}
	return &failure{ReportError: *why}
}

// maxReported bounds what is decompressed of one status or object.
const maxReported = store.MaxBodyBytes * 2

func (rec *record) place() *store.Key { return &rec.key }

// sharedLocked returns the one copy of a placed object's key, for all that belongs to it.
func (o *Observer) sharedLocked(k store.Key) *store.Key { return o.recordLocked(k).place() }

// recordLocked returns the record of a key, a new one if there is none.
func (o *Observer) recordLocked(k store.Key) *record {
	rec := o.records.Get(k)
	if rec == nil {
		rec = &record{key: k, at: time.Now().UnixMilli()}
		o.records.Put(rec)
	}
	return rec
}

func (rec *record) applied(r inventory.Record) {
	if rec.uid != r.UID {
		rec.uid, rec.revision, rec.going = r.UID, 0, false
		if !r.Finished { // the last status of what has run to its end stays
			rec.status, rec.conditions = nil, 0
		}
		rec.filled = nil
	}
	if r.Ended {
		rec.filled = &store.Filled{Ended: true}
	}
	rec.originUID, rec.hash, rec.failure, rec.removing = r.OriginUID, r.Applied, nil, false
	rec.generation, rec.targetGeneration = r.Generation, r.TargetGeneration
	if rec.scalePath != r.ScalePath {
		rec.scalePath, rec.revision = r.ScalePath, 0 // what it has there is read again
	}
	rec.altered = r.Altered
	rec.varied, rec.autoscaler = r.Variant != (store.Hash{}), r.OwnAutoscaler
}

// observedLocked records what the target has now. It reports false for what was known before.
func (o *Observer) observedLocked(k store.Key, rec *record, live *target.Object) bool {
	if rec.uid == live.Metadata.UID && live.Revision() != 0 && live.Revision() <= rec.revision {
		return false
	}
	rec.uid, rec.revision, rec.at = live.Metadata.UID, live.Revision(), time.Now().UnixMilli()
	rec.owned, rec.content, rec.finished = live.OwnedSum(), live.ContentSum(), finished(
		resource{k.Group, k.Resource},
		live,
	)
	rec.going = live.Metadata.DeletionTimestamp != "" && !rec.finished // what has run to its end stays done
	rec.status, rec.conditions, rec.below = nil, 0, refusedBelow(live)
	rec.belowAltered = live.Metadata.Annotations[target.AnnotationAltered]
	rec.filled, rec.replicas = filledIn(k, live), replicasIn(k, live, rec.scalePath)
	rec.takeOver(o, live)
	told := k.Class() == store.ClassOther || k.IsCustomizer()
	if told && len(live.Status) > 0 && !bytes.Equal(live.Status, []byte("{}")) {
		rec.status, rec.conditions = o.codec.Encode(nil, live.Status), conditionsOf(live.Status)
	}
	if k.IsUpsync() {
		o.belowLocked(k, live)
	}
	return true
}

// error is why the object is not as desired: on the target, else below it.
func (rec *record) error() *store.ReportError {
	if rec.failure != nil {
		return &rec.failure.ReportError
	}
	return rec.below
}

// refusedBelow reads what a relay says of its own targets on an object whose kind has no
// conditions.
func refusedBelow(live *target.Object) *store.ReportError {
	var e store.ReportError
	text := live.Metadata.Annotations[target.AnnotationRefused]
	if text == "" || json.Unmarshal([]byte(text), &e) != nil || e.Reason == "" {
		return nil
	}
	return &e
}

// publishLocked puts the present state of keys into the feed as one step, except those that wait.
// Equal content is no change.
func (o *Observer) publishLocked(keys ...store.Key) {
	var changes []store.Change
	for _, k := range keys {
		if _, waits := o.debounce.keys[k]; waits {
			continue
		}
		body, generation, err := o.renderLocked(k)
		if err != nil {
			o.Log.Error("report not rendered", "key", k, "err", err)
			continue
		}
		changes = append(changes, store.Change{Key: k, Hash: store.HashReport(generation, body), Generation: generation,
			Priority: o.records.Get(k).priorityLocked()})
	}
	if len(changes) > 0 {
		o.revision++
		o.feed.Apply(o.revision, changes...)
	}
}

// dropLocked takes a key out of the feed.
func (o *Observer) dropLocked(k store.Key) {
	delete(o.debounce.keys, k)
	if o.records.Get(k) == nil {
		return
	}
	o.records.Delete(k)
	o.revision++
	o.feed.Apply(o.revision, store.Change{Key: k})
}

// body implements store.BodyFunc. It is asked for what is about to be sent.
func (o *Observer) body(_ context.Context, k store.Key) ([]byte, int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.letGoLocked(k)
	body, generation, err := o.renderLocked(k)
	if err == nil {
		rec := o.records.Get(k)
		rec.told = rec.newsLocked()
	}
	return body, generation, err
}

// renderLocked makes the report of a key.
func (o *Observer) renderLocked(k store.Key) ([]byte, int64, error) {
	rec := o.records.Get(k)
	if rec == nil {
		return nil, 0, store.ErrGone
	}
	if f := rec.failure; f != nil && f.of != "" && f.of != rec.originUID {
		// What the target has is of an earlier source, and says nothing of the one that it refuses.
		body, err := json.Marshal(store.Report{OriginUID: f.of, Error: &f.ReportError, At: rec.at})
		return body, 0, err
	}
	report := store.Report{
		OriginUID:  rec.originUID,
		Generation: rec.generation,
		Filled:     rec.allFilled(),
		Varied:     rec.varied,
		Altered:    cmp.Or(rec.altered, rec.belowAltered),
		Error:      rec.error(),
		At:         rec.at,
	}
	if rec.hash != (store.Hash{}) && !rec.going && !rec.removing {
		report.Applied = rec.hash.String()
	}
	if rec.status != nil {
		status, err := o.codec.Decode(nil, rec.status, maxReported)
		if err != nil {
			return nil, 0, fmt.Errorf("decompress status: %w", err)
		}
		if report.Status, err = translate(status, rec); err != nil {
			return nil, 0, err
		}
	}
	if rec.event != nil {
		report.Event = &rec.event.said
	}
	if rec.object != nil {
		if err := o.renderObjectLocked(&report, rec); err != nil {
			return nil, 0, err
		}
	}
	body, err := json.Marshal(report)
	if err != nil {
		return nil, 0, fmt.Errorf("encode report: %w", err)
	}
	return body, rec.generation, nil
}

// translate puts observedGeneration, of the status and of its conditions, in terms of the source's
// generation. The source of a Pod that only belongs to a placed object never changes.
func translate(status []byte, rec *record) (json.RawMessage, error) {
	if rec.generation == 0 || !bytes.Contains(status, []byte(`"observedGeneration"`)) {
		return status, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(status, &fields); err != nil {
		return nil, fmt.Errorf("decode status: %w", err)
	}
	rec.translateField(fields)
	var conditions []map[string]json.RawMessage
	if raw, ok := fields["conditions"]; ok && json.Unmarshal(raw, &conditions) == nil {
		for _, c := range conditions {
			rec.translateField(c)
		}
		raw, err := json.Marshal(conditions)
		if err != nil {
			return nil, fmt.Errorf("encode conditions: %w", err)
		}
		fields["conditions"] = raw
	}
	return json.Marshal(fields)
}

func (rec *record) translateField(fields map[string]json.RawMessage) {
	raw, ok := fields["observedGeneration"]
	if !ok {
		return
	}
	var seen int64
	if json.Unmarshal(raw, &seen) != nil {
		return
	}
	source := rec.generation
	if seen < rec.targetGeneration {
		source = max(0, rec.generation-1) // what was observed is from before the newest write
	}
	fields["observedGeneration"], _ = json.Marshal(source) // an integer always encodes
}
