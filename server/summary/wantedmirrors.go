package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
)

// wanted is a Pod that should be in the space.
type wanted struct {
	name, target, hash string
	order              int
	object             map[string]any
	// of names the replicasetdiff.Source that completes object. It is empty when object is whole.
	of       string
	status   json.RawMessage
	owner    store.Key
	ownerUID string
	owners   []any // in the space, which the target does not know
	waits    bool  // for what controls it to be in the space
	beside   bool  // another target has the history of its owner, see history.go
	deleting bool
	grace    int64 // of its deletion, in seconds
}

// wantedMirrors reads what the targets report of one name, and gives each Pod its name in the
// space: the longest placed target keeps the plain one, others get their target's name behind it.
// Targets that report nothing any more are gone.
func (s *Summary) wantedMirrors(
	ctx context.Context,
	k store.Key,
	targets []string,
	taken bool,
) (want map[string]wanted, gone []string, err error) {
	var list []wanted
	for _, t := range targets {
		r, ok, err := s.report(t, k)
		if err != nil {
			return nil, nil, err
		}
		if !ok || r.Object == nil {
			gone = append(gone, t)
			continue
		}
		w, ok, err := s.wantedMirror(ctx, k, t, r)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			list = append(list, w)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].order != list[j].order {
			return list[i].order < list[j].order
		}
		return list[i].target < list[j].target
	})
	want = map[string]wanted{}
	for i, w := range list {
		if i >= mirrorTargets && w.order >= mirrorTargets {
			break // claims that were left at too many
		}
		w.name = k.Name
		if i > 0 || taken {
			w.name = k.Name + "." + w.target
		}
		want[w.name] = w
	}
	return want, gone, nil
}

// wantedMirror reports whether a reported Pod belongs into the space: its owner is placed on that
// target, and not on too many; or it is a claim that its StatefulSet has left there.
func (s *Summary) wantedMirror(
	ctx context.Context,
	k store.Key,
	target string,
	r store.Report,
) (wanted, bool, error) {
	var object map[string]any
	if json.Unmarshal(r.Object, &object) != nil {
		return wanted{}, false, nil
	}
	s.nameEndpoints(k, target, object)
	for _, ref := range ownersOf(k, r, object) {
		if isNamespace(ref) {
			order, ok, err := s.keptAt(ctx, k, target, ref)
			if err != nil || !ok {
				return wanted{}, false, err
			}
			w := wanted{target: target, order: order, object: object, status: r.Status, owner: namespaceKey(k)}
			w.fill(s, k)
			return w, true, nil
		}
		owner, ok := s.cfg.Delivery.Owner(k.Space, k.Namespace, groupOf(ref.APIVersion), ref.Kind, ref.Name)
		if !ok || owner.UID != r.OriginUID || len(owner.Targets) > mirrorTargets {
			continue
		}
		for i, t := range owner.Targets {
			if t != target {
				continue
			}
			w := wanted{
				target:   target,
				order:    i,
				object:   object,
				of:       r.Of,
				status:   r.Status,
				owner:    owner.Key,
				ownerUID: owner.UID,
				beside:   i > 0 && isHistory(k),
			}
			w.fill(s, k)
			return w, true, nil
		}
	}
	return wanted{}, false, nil
}

// identified reports whether the mirror's hash has the UID of what it shows: where that is the same by
// another target, the target was renamed.
func (w *wanted) identified() bool { return fields.String(w.object, "metadata", "uid") != "" }

// fill completes what is wanted of an object by what the space has of its owners.
func (w *wanted) fill(s *Summary, k store.Key) {
	w.waits = !s.controlled(k, w.target, w.object)
	w.deleting, w.grace = deleting(k, w.object)
	of := w.of
	if w.beside {
		of += " beside" // its owners are written otherwise
	}
	w.hash = mirrorHash(of, w.object)
}

// reference is what names an owner.
type reference struct{ APIVersion, Kind, Name, UID string }

// ownersOf are the objects that a report's object says it belongs to. What is to be completed has
// its owner in its name.
func ownersOf(k store.Key, r store.Report, object map[string]any) (out []reference) {
	if r.Of != "" {
		if owner, ok := replicasetdiff.Owner(k); ok {
			out = append(out, reference{APIVersion: "apps/v1", Kind: "Deployment", Name: owner.Name})
		}
		return out
	}
	meta := fields.Map(object, "metadata")
	refs := fields.List(meta, "ownerReferences")
	for _, e := range refs {
		ref, _ := e.(map[string]any)
		apiVersion := fields.String(ref, "apiVersion")
		kind := fields.String(ref, "kind")
		name := fields.String(ref, "name")
		out = append(out, reference{apiVersion, kind, name, fields.String(ref, "uid")})
	}
	return out
}

// errOtherVersion is returned while a report is to be completed from a version of its owner that is
// not the present one: the site has not got that yet, and will report anew when it has.
var errOtherVersion = errors.New("it was reported against another version of its owner")

// complete fills in what a report left out because it is in the desired body of the owner.
func (s *Summary) complete(ctx context.Context, k store.Key, w *wanted) error {
	if w.of == "" {
		return nil
	}
	body, err := s.cfg.Delivery.Desired(ctx, w.owner)
	if err != nil {
		return fmt.Errorf("read the owner of %s: %w", k, err)
	}
	source, ok := replicasetdiff.Of(body, w.ownerUID, k)
	if !ok || source.Name != w.of {
		return fmt.Errorf("complete %s of %s: %w", k, w.target, errOtherVersion)
	}
	whole, err := source.Whole(encode(w.object))
	if err != nil {
		return fmt.Errorf("complete %s of %s: %w", k, w.target, err)
	}
	w.of, w.object = "", nil
	return json.Unmarshal(whole, &w.object)
}
