package summary

import (
	"encoding/json"
	"sort"

	"skerry.dev/skerry/store"
)

// wanted is a Pod that should be in the space.
type wanted struct {
	name, target, hash string
	order              int
	object             map[string]any
	status             json.RawMessage
	owner              store.Key
}

// wantedMirrors reads what the targets report of one name, and gives each Pod its name in the space: the longest placed target keeps the
// plain one, others get their target's name behind it. Targets that report nothing any more are gone.
func (s *Summary) wantedMirrors(k store.Key, targets []string, taken bool) (want map[string]wanted, gone []string, err error) {
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
		if w, ok := s.wantedMirror(k, t, r); ok {
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
		w.name = k.Name
		if i > 0 || taken {
			w.name = k.Name + "." + w.target
		}
		want[w.name] = w
	}
	return want, gone, nil
}

// wantedMirror tells whether a reported Pod belongs into the space: its owner is placed on that target, and not on too many.
func (s *Summary) wantedMirror(k store.Key, target string, r store.Report) (wanted, bool) {
	var object map[string]any
	if json.Unmarshal(r.Object, &object) != nil {
		return wanted{}, false
	}
	meta, _ := object["metadata"].(map[string]any)
	refs, _ := meta["ownerReferences"].([]any)
	for _, e := range refs {
		ref, _ := e.(map[string]any)
		apiVersion, _ := ref["apiVersion"].(string)
		kind, _ := ref["kind"].(string)
		name, _ := ref["name"].(string)
		owner, ok := s.cfg.Owner(k.Space, k.Namespace, groupOf(apiVersion), kind, name)
		if !ok || owner.UID != r.OriginUID || len(owner.Targets) > mirrorTargets {
			continue
		}
		for i, t := range owner.Targets {
			if t == target {
				return wanted{target: target, hash: mirrorHash(object), order: i, object: object, status: r.Status, owner: owner.Key}, true
			}
		}
	}
	return wanted{}, false
}
