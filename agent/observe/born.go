package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/upsync"
)

// maxLeftOut is how many objects of one Upsync are remembered that there is no room for.
const maxLeftOut = 1000

// born is an object of the target that a rule selects.
type born struct {
	at       place
	key      store.Key // under which it is reported
	rule     store.Key
	revision uint64
	admitted bool         // it counts as one of the objects that are brought
	size     int          // of what is reported
	needs    int          // what it was the last time that there was no room for it; 0 where that is not known
	left     *upsync.Left // why it is not reported
}

// admit counts an object as one that is brought.
func (r *upsyncRule) admit(b *born) {
	b.left = nil
	if !b.admitted {
		b.admitted = true
		r.objects++
	}
}

// expel undoes admit.
func (r *upsyncRule) expel(b *born) {
	r.bytes -= b.size
	if b.size = 0; b.admitted {
		b.admitted = false
		r.objects--
	}
}

// selectLocked finds the rule that selects an object of the target, and the key of its report.
func (o *Observer) selectLocked(w watchKey, live *target.Object) (*upsyncRule, store.Key, bool) {
	namespace, ok := o.upsyncs.namespaces[namespaceThere{w.view, live.Metadata.Namespace}]
	if !ok {
		return nil, store.Key{}, false
	}
	if _, delivered := o.Inventory.ByUID(live.Metadata.UID); delivered {
		return nil, store.Key{}, false
	}
	if o.Clients.Relays() {
		notes := live.Metadata.Annotations
		if notes[target.AnnotationReportedFrom] == "" || notes[target.AnnotationUpsync] == "" {
			return nil, store.Key{}, false // a relay brings on what its own targets brought
		}
	} else if live.Ours() {
		return nil, store.Key{}, false
	}
	k := store.Key{
		Space: namespace.Space, Group: w.resource.group, Resource: w.resource.plural,
		Namespace: namespace.Name, Name: live.Metadata.Name,
	}
	for _, name := range slices.SortedFunc(maps.Keys(o.upsyncs.rules), func(a, b store.Key) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		rule := o.upsyncs.rules[name]
		if name.Space != k.Space || !slices.Contains(rule.watches, w) {
			continue
		}
		if _, selected := rule.parsed.Selects(k, live.Metadata.Labels); selected && upsync.Refuses(k, "") == "" {
			return rule, upsync.Key(k), true
		}
	}
	return nil, store.Key{}, false
}

// bornLocked takes over the metadata of an object. One that is selected is read, if there is room.
func (o *Observer) bornLocked(w watchKey, live *target.Object) {
	uid := live.Metadata.UID
	rule, k, ok := o.selectLocked(w, live)
	b := o.upsyncs.born[uid]
	if !ok || b != nil && (b.rule != rule.key || b.key != k) {
		o.unbearLocked(uid)
		b = nil
	}
	if !ok || b != nil && live.Revision() != 0 && live.Revision() <= b.revision {
		return
	}
	if b == nil {
		if rule.leftOut(o) >= maxLeftOut {
			rule.more++
			o.tellUpsyncLocked(rule)
			return
		}
		b = &born{key: k, rule: rule.key, at: place{watch: w, namespace: live.Metadata.Namespace, name: live.Metadata.Name}}
		o.upsyncs.born[uid] = b
	}
	if b.needs = 0; !b.admitted && !o.roomLocked(rule, b) {
		b.revision = live.Revision()
		o.leaveOutLocked(rule, b, upsync.ReasonLimit, limitsText(rule))
		return
	}
	rule.admit(b)
	o.fetch.add(b.at)
}

// leftOut is how many objects of a rule are remembered that are left out.
func (r *upsyncRule) leftOut(o *Observer) (n int) {
	for _, b := range o.upsyncs.born {
		if b.rule == r.key && b.left != nil {
			n++
		}
	}
	return n
}

// roomLocked reports whether a rule, and its space, may bring one more object, as far as is known of
// its size.
func (o *Observer) roomLocked(rule *upsyncRule, b *born) bool {
	objects, size := o.broughtLocked(rule.key.Space)
	return rule.objects < upsync.MaxObjects && objects < upsync.MaxSpaceObjects &&
		rule.bytes+b.needs < upsync.MaxBytes && size+b.needs < upsync.MaxSpaceBytes
}

// broughtLocked is what a space brings from here.
func (o *Observer) broughtLocked(space string) (objects, size int) {
	for k, rule := range o.upsyncs.rules {
		if k.Space == space {
			objects, size = objects+rule.objects, size+rule.bytes
		}
	}
	return objects, size
}

func limitsText(rule *upsyncRule) string {
	return fmt.Sprintf("spec.upsync of Placement %s brings %d objects with %d bytes from one target at the most, "+
		"all Placements of a space %d with %d: narrow it by names or labelSelector",
		rule.key.Name, upsync.MaxObjects, upsync.MaxBytes, upsync.MaxSpaceObjects, upsync.MaxSpaceBytes)
}

// leaveOutLocked records why an object is not reported.
func (o *Observer) leaveOutLocked(rule *upsyncRule, b *born, reason, message string) {
	k, _ := upsync.Object(b.key)
	b.left = &upsync.Left{Object: objectName(k), Reason: reason, Message: clip.Dotted(message, maxUpsyncMessage)}
	rule.expel(b)
	o.dropLocked(b.key)
	o.tellUpsyncLocked(rule)
}

func objectName(k store.Key) string {
	resource := k.Resource
	if k.Group != "" {
		resource += "." + k.Group
	}
	return resource + "/" + k.Namespace + "/" + k.Name
}

// readBorn reads an object that a rule selects, and reports it. It is false when the target did not
// say whether it has the object.
func (f *refetcher) readBorn(ctx context.Context, w *watcher, p place) (answered bool) {
	f.reading(map[string]bool{})
	live, parts, err := w.client.Parts(ctx, w.listing.Resource, p.namespace, p.name)
	f.o.mu.Lock()
	defer f.o.mu.Unlock()
	gone := f.reading(nil)
	switch {
	case err != nil:
		f.o.Log.Debug("object that was born here not read", "namespace", p.namespace, "name", p.name, "err", err)
		return apierrors.IsNotFound(err) || hopeless(err)
	case gone[live.Metadata.UID], f.o.watchers[p.watch] == nil:
		return true
	}
	f.o.bringLocked(p.watch, live, parts)
	return true
}

// bringLocked reports an object as it is now.
func (o *Observer) bringLocked(w watchKey, live *target.Object, parts map[string]json.RawMessage) {
	uid := live.Metadata.UID
	b := o.upsyncs.born[uid]
	rule, k, ok := o.selectLocked(w, live)
	if b == nil || !ok || b.rule != rule.key {
		return // the event that says so is on its way
	}
	b.revision = live.Revision()
	object, _ := upsync.Object(k)
	var kind string
	_ = json.Unmarshal(parts["type"], &kind) // absent, or of a custom resource and anything
	if why := upsync.Refuses(object, kind); why != "" {
		o.leaveOutLocked(rule, b, upsync.ReasonNotBrought, why)
		o.admitLocked(rule.key.Space)
		return
	}
	body, err := bornBody(object, live, parts)
	if err != nil {
		o.Log.Error("object that was born here not reported", "key", k, "err", err)
		return
	}
	_, inSpace := o.broughtLocked(k.Space)
	if n := len(body) - b.size; rule.bytes+n > upsync.MaxBytes || inSpace+n > upsync.MaxSpaceBytes {
		b.needs = len(body)
		o.leaveOutLocked(rule, b, upsync.ReasonLimit,
			fmt.Sprintf("the object has %d bytes as JSON; %s", len(body), limitsText(rule)))
		return
	}
	rule.admit(b)
	rule.bytes += len(body) - b.size
	b.size = len(body)
	rec := o.recordLocked(k)
	rec.uid, rec.revision, rec.at, rec.originUID = uid, live.Revision(), time.Now().UnixMilli(), rule.parsed.UID
	rec.object = o.codec.Encode(nil, body)
	o.holdLocked(k)
	o.publishLocked(k)
	o.tellUpsyncLocked(rule)
}

// lastApplied is the annotation in which kubectl keeps an object a second time.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// bornBody is the object as it is reported: with the space's name of its namespace, without owners,
// finalizers and marks, which mean something at the target alone.
func bornBody(k store.Key, live *target.Object, parts map[string]json.RawMessage) ([]byte, error) {
	m := live.Metadata
	labels := maps.Clone(m.Labels)
	maps.DeleteFunc(labels, func(name, _ string) bool { return strings.HasPrefix(name, target.KeyPrefix) })
	notes := unmarked(m.Annotations)
	delete(notes, lastApplied)
	meta, err := json.Marshal(target.Metadata{
		Name: m.Name, Namespace: k.Namespace, UID: m.UID, Labels: labels, Annotations: notes,
		CreationTimestamp: m.CreationTimestamp,
	})
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	out := maps.Clone(parts)
	out["metadata"] = meta
	return json.Marshal(out)
}

// unbearLocked drops an object that is gone, or that nothing selects any more.
func (o *Observer) unbearLocked(uid string) {
	b := o.upsyncs.born[uid]
	if b == nil {
		return
	}
	delete(o.upsyncs.born, uid)
	if rec := o.records.Get(b.key); rec != nil && rec.uid == uid {
		o.dropLocked(b.key)
	}
	rule := o.upsyncs.rules[b.rule]
	if rule == nil {
		return
	}
	rule.expel(b)
	o.admitLocked(b.rule.Space)
	o.tellUpsyncLocked(rule)
}

// admitLocked reads objects that waited for room, as far as there is room.
func (o *Observer) admitLocked(space string) {
	var waiting []*born
	for _, b := range o.upsyncs.born {
		if b.rule.Space == space && b.left != nil && b.left.Reason == upsync.ReasonLimit {
			waiting = append(waiting, b)
		}
	}
	slices.SortFunc(waiting, func(a, b *born) int { return strings.Compare(a.key.Encode(), b.key.Encode()) })
	for _, b := range waiting {
		rule := o.upsyncs.rules[b.rule]
		if rule != nil && o.roomLocked(rule, b) {
			rule.admit(b)
			o.fetch.add(b.at)
		}
	}
}

// bornGone records that an object is not on the target any more.
func (o *Observer) bornGone(uid string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fetch.deleted(uid)
	o.unbearLocked(uid)
}

// bornTrackedLocked are the UIDs of what is known of one watch.
func (o *Observer) bornTrackedLocked(w watchKey) map[string]bool {
	out := map[string]bool{}
	for uid, b := range o.upsyncs.born {
		if b.at.watch == w {
			out[uid] = true
		}
	}
	return out
}
