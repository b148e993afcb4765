package observe

import (
	"encoding/json"
	"fmt"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// pod takes over a Pod that belongs to a placed object, or lets it wait until it is known that it does. o.mu is held.
func (o *Observer) pod(w watchKey, live *target.Object) {
	controller := live.ControllerUID()
	if controller == "" {
		return
	}
	uid := live.Metadata.UID
	owner, top, ok := o.placedAbove(controller)
	if !ok {
		o.family.wait(uid, top, place{watch: w, namespace: live.Metadata.Namespace, name: live.Metadata.Name})
		return
	}
	o.family.unwait(uid)
	k := store.Key{Space: owner.Space, Resource: "pods", Namespace: live.Metadata.Namespace, Name: live.Metadata.Name}
	rec := o.record(k)
	if rec.uid == uid && live.Revision() != 0 && live.Revision() <= rec.revision {
		return
	}
	object, err := podObject(live)
	if err != nil {
		o.Log.Error("pod not reported", "key", k, "err", err)
		return
	}
	if rec.uid != uid {
		delete(o.pods, rec.uid) // a successor with the same name
	}
	o.pods[uid] = k
	rec.uid, rec.revision, rec.at, rec.owner = uid, live.Revision(), time.Now().UnixMilli(), owner
	rec.object, rec.status = o.codec.Encode(nil, object), o.codec.Encode(nil, live.Status)
	o.publish(k)
}

// reportedPod is a Pod as it is reported: its status travels beside it.
type reportedPod struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   target.Metadata `json:"metadata"`
	Spec       json.RawMessage `json:"spec,omitempty"`
}

func podObject(live *target.Object) ([]byte, error) {
	m := live.Metadata
	return json.Marshal(reportedPod{
		APIVersion: "v1", Kind: "Pod", Spec: live.Spec,
		Metadata: target.Metadata{
			Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations,
			CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		},
	})
}

// renderPod completes the report of a Pod by an owner reference to the source of the placed object. o.mu is held.
func (o *Observer) renderPod(report *store.Report, rec *record) error {
	raw, err := o.codec.Decode(nil, rec.object, maxReported)
	if err != nil {
		return fmt.Errorf("decompress pod: %w", err)
	}
	pod := reportedPod{}
	if err := json.Unmarshal(raw, &pod); err != nil {
		return fmt.Errorf("decode pod: %w", err)
	}
	if r, ok := o.Inventory.Get(rec.owner); ok {
		report.OriginUID = r.OriginUID
		pod.Metadata.OwnerReferences = []target.Owner{
			{APIVersion: r.APIVersion, Kind: r.Kind, Name: rec.owner.Name, UID: r.OriginUID, Controller: true},
		}
	}
	report.Object, err = json.Marshal(pod)
	return err
}

// refetchPods reads the Pods of a placed object again. o.mu is held.
func (o *Observer) refetchPods(owner store.Key) {
	for _, k := range o.pods {
		rec := o.records[k]
		if rec == nil || rec.owner != owner {
			continue
		}
		rec.revision = 0
		if w, ok := o.watchKeyOf(owner, podResource); ok {
			o.fetch.add(place{watch: w, namespace: k.Namespace, name: k.Name})
		}
	}
}
