package summary

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// compose makes the status of an object from what its targets report, and adds our conditions. Nil
// means that there is nothing to say.
func (s *Summary) compose(at placement.Located, reports []*store.Report) (json.RawMessage, error) {
	if at.Key.IsCustomizer() {
		return s.composeCustomizer(at, reports)
	}
	s.mu.Lock()
	extra := make([]condition, 0, len(s.extra[at.Key]))
	for _, c := range s.extra[at.Key] {
		extra = append(extra, c)
	}
	_, written := s.shown[at.Key]
	s.mu.Unlock()
	sort.Slice(extra, func(i, j int) bool { return extra[i].Type < extra[j].Type })
	told, heard := false, false
	for _, r := range reports {
		heard = heard || r != nil
		told = told || r != nil && len(r.Status) > 0
	}
	withConditions := len(extra) > 0 && takesConditions(at.Key)
	moved := !told && s.outlived(at)
	if moved && !slices.ContainsFunc(extra, func(c condition) bool { return c.Type == v1alpha1.ConditionObjectSynced }) {
		extra = append(extra, notReported(at))
		withConditions = takesConditions(at.Key)
	}
	switch {
	case moved:
	case !told && (!withConditions || written && !heard):
		return nil, nil // what is shown is the last that is known
	case len(reports) == 1 && told && !withConditions:
		return reports[0].Status, nil
	}
	merged, err := mergeAll(at, reports)
	if err != nil {
		return nil, err
	}
	if withConditions {
		merged["conditions"] = add(merged["conditions"], extra)
	}
	if !told && at.Key.Group == "" && at.Key.Resource == "pods" {
		sayWhy(merged, extra)
	}
	return json.Marshal(merged)
}

// sayWhy has the status of a Pod that no target runs say why, where kubectl get pods shows it.
func sayWhy(status map[string]any, extra []condition) {
	for _, c := range extra {
		if c.Type == v1alpha1.ConditionObjectSynced && !c.Status {
			status["reason"], status["message"] = c.Reason, c.Message
		}
	}
}

// mergeAll makes one status of those of all targets. Thousands of targets say few different things, so
// where it is no matter how many say the same, each of these is decoded and merged once.
func mergeAll(at placement.Located, reports []*store.Report) (map[string]any, error) {
	k, division, of := at.Key, Division(at.Divided), polaritiesAt(at)
	var merged map[string]any
	seen, adds, folded := map[string]struct{}{}, repeatsAdd(k, division), false
	for _, r := range reports {
		var raw json.RawMessage // of a target that has not reported
		if r != nil {
			raw = r.Status
		}
		if _, again := seen[string(raw)]; again && folded && !adds {
			continue
		}
		seen[string(raw)] = struct{}{}
		one := map[string]any{}
		if len(raw) == 0 {
			one = unreported(k)
		} else if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("decode status of %s: %w", k, err)
		}
		if merged == nil {
			merged = one
		} else {
			merged, folded = mergeBy(of, k, division, merged, one), true
		}
	}
	if merged == nil {
		merged = map[string]any{}
	}
	if folded {
		nameDiffering(at, of, reports, merged)
	}
	return merged, nil
}

// add puts our conditions behind those of the targets. One that a relay says of itself, too, is
// replaced by ours.
func add(list any, extra []condition) []any {
	old, _ := list.([]any)
	var out []any
	for _, c := range old {
		if m, _ := c.(map[string]any); !slices.ContainsFunc(
			extra,
			func(e condition) bool { return m["type"] == e.Type },
		) {
			out = append(out, c)
		}
	}
	for _, c := range extra {
		out = append(out, c.json())
	}
	return out
}

// takesConditions reports whether a kind's status has conditions. Of kinds that are not known it is
// tried: the API takes out what the schema does not have.
func takesConditions(k store.Key) bool {
	if !placement.BuiltIn(k.Group) {
		return true
	}
	r, ok := typed[k.Group+"/"+k.Resource]["conditions"]
	return ok && r == worst
}
