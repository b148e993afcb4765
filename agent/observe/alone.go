package observe

import (
	"bytes"
	"encoding/json"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A Placement may say that what belongs to its objects is not reported: their Pods, what leads to
// them, their history, and warnings about all of that.

// comesAlone reports whether the body of a placed object says that nothing that belongs to it is
// reported.
func comesAlone(body []byte) bool {
	if !bytes.Contains(body, []byte(`associated`)) {
		return false
	}
	var o target.Object
	var policy struct {
		Associated string `json:"associated"`
	}
	return json.Unmarshal(body, &o) == nil &&
		json.Unmarshal([]byte(o.Metadata.Annotations[target.AnnotationSync]), &policy) == nil &&
		policy.Associated == "None"
}

// unreported are the kinds that are not reported of an object that comes alone.
func unreported(r resource) bool {
	return r == podResource || r == replicaSetResource || r == jobResource || r == revisionResource
}

// aloneLocked takes over whether what belongs to an object is reported. What was reported goes, and
// what was not is listed again.
func (o *Observer) aloneLocked(k store.Key, rec *record, body []byte) {
	if !ownsPods(k) {
		return
	}
	now := comesAlone(body)
	if rec.alone == now {
		return
	}
	rec.alone = now
	if !now {
		for _, r := range followed(k) {
			if w, ok := o.watchKeyOf(k, r); ok {
				o.relistLocked(w)
			}
		}
		return
	}
	o.forgetEventsOfLocked(k, "")
	for uid, below := range o.associated.All() {
		if *below.owner == k && unreported(resource{below.key.Group, below.key.Resource}) {
			o.associated.Delete(uid)
			o.dropLocked(below.key)
		}
	}
}

// comesAloneLocked reports whether nothing of these kinds is reported of a placed object.
func (o *Observer) comesAloneLocked(owner store.Key, r resource) bool {
	rec := o.records.Get(owner)
	return rec != nil && rec.alone && (unreported(r) || r == eventResource)
}
