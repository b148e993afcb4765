package summary

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// composeCustomizer makes the status of a Customizer of what its targets say of it. A relay says
// what it has made of the words of its own targets, so a tree gives the same as a flat fleet.
func (s *Summary) composeCustomizer(at placement.Located, reports []*store.Report) (json.RawMessage, error) {
	out := v1alpha1.CustomizerStatus{ObservedGeneration: at.Generation}
	have, invalid := 0, ""
	for i, r := range reports {
		if r == nil {
			out.ObservedGeneration = 0
			continue
		}
		var one v1alpha1.CustomizerStatus
		if len(r.Status) > 0 {
			if err := json.Unmarshal(r.Status, &one); err != nil {
				return nil, fmt.Errorf("decode status of %s: %w", at.Key, err)
			}
		}
		seen := min(r.Generation, cmp.Or(one.ObservedGeneration, r.Generation))
		out.ObservedGeneration = min(out.ObservedGeneration, seen)
		if r.Error != nil {
			invalid = cmp.Or(invalid, at.Targets[i]+": "+r.Error.Message)
		} else if r.Applied != "" && seen >= at.Generation {
			have++
		}
		out.Matched += one.Matched
		out.Targets += one.Targets
		out.Failures += one.Failures
		for _, f := range one.Failed {
			f.Target = below(at.Targets[i], f.Target)
			out.Failed = append(out.Failed, f)
		}
	}
	slices.SortFunc(out.Failed, func(a, b v1alpha1.CustomizerFailure) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Object, b.Object))
	})
	out.Failed = slices.Clip(out.Failed[:min(len(out.Failed), maxFailed)])

	valid := placement.Condition{Type: v1alpha1.ConditionValid, Status: true, Reason: "Understood"}
	if invalid != "" {
		valid.Status, valid.Reason, valid.Message = false, "Refused", invalid
	}
	applied := placement.Condition{Type: v1alpha1.ConditionApplied, Status: true, Reason: "Everywhere"}
	switch {
	case out.Failures > 0:
		f := firstOf(out.Failed)
		applied.Status, applied.Reason, applied.Message = false, f.Reason, fmt.Sprintf(
			"objects that stay as they are: %d; %s on %s: %s", out.Failures, f.Object, f.Target, f.Message)
	case have < len(at.Targets):
		applied.Status, applied.Reason, applied.Message = false, "Pending", fmt.Sprintf(
			"%d of %d targets have this generation", have, len(at.Targets))
	}
	list, err := s.customizerConditions(at, valid, applied)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode status of %s: %w", at.Key, err)
	}
	status := map[string]any{}
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("encode status of %s: %w", at.Key, err)
	}
	status["conditions"] = list
	return json.Marshal(status)
}

// maxFailed is how many failures a status names.
const maxFailed = 20

// below is the path of a target that a relay names; a site does not name itself.
func below(target, name string) string {
	if name == "" {
		return target
	}
	return target + "/" + name
}

func firstOf(all []v1alpha1.CustomizerFailure) v1alpha1.CustomizerFailure {
	if len(all) == 0 {
		return v1alpha1.CustomizerFailure{Reason: "CustomizerFailed", Object: "some", Target: "some target"}
	}
	return all[0]
}

// customizerConditions returns conditions with the time since when they are so: as was said before,
// also by an earlier process.
func (s *Summary) customizerConditions(at placement.Located, conditions ...placement.Condition) ([]any, error) {
	s.mu.Lock()
	_, known := s.extra[at.Key][conditions[0].Type]
	s.mu.Unlock()
	since := map[string]condition{}
	if !known {
		ctx, cancel := context.WithTimeout(context.Background(), conditionsTime)
		defer cancel()
		obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("read the conditions of %s: %w", at.Key, err)
		}
		for c := range fields.Maps(obj, "status", "conditions") {
			when, err := time.Parse(time.RFC3339, fields.String(c, "lastTransitionTime"))
			if err == nil {
				since[fields.String(c, "type")+"="+fields.String(c, "status")] = condition{since: when}
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range conditions {
		s.setExtraLocked(at.Key, c, false)
		n := s.extra[at.Key][c.Type]
		status := map[bool]string{true: "True", false: "False"}[c.Status]
		if was, ok := since[c.Type+"="+status]; ok {
			n.since = was.since
			s.extra[at.Key][c.Type] = n
		}
	}
	var out []any
	for _, name := range slices.Sorted(maps.Keys(s.extra[at.Key])) {
		one := s.extra[at.Key][name].json()
		one["observedGeneration"] = at.Generation
		out = append(out, one)
	}
	return out, nil
}

// conditionsTime bounds the reading of what was said before.
const conditionsTime = 10 * time.Second
