package variant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mergeKeys are the lists of the built-in kinds whose elements a strategic merge patch merges, by
// the field that tells them apart. Every other list is replaced.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "ephemeralContainers": "name", "env": "name",
	"volumes": "name", "volumeMounts": "mountPath", "volumeDevices": "devicePath",
	"imagePullSecrets": "name", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
	"resourceClaims": "name", "schedulingGates": "name",
}

// mergeKey is the merge key of a list with the elements have and patch; empty for one that is
// replaced. The ports of a container and of a Service are told apart by what they have.
func mergeKey(field string, lists ...[]any) string {
	if field != "ports" {
		return mergeKeys[field]
	}
	for _, list := range lists {
		for _, e := range list {
			m, _ := e.(map[string]any)
			if _, container := m["containerPort"]; container {
				return "containerPort"
			}
			if _, service := m["port"]; service {
				return "port"
			}
		}
	}
	return ""
}

// directive is what a map of a patch says about itself.
const directive = "$patch"

// checkMerge refuses directives that are unknown, or are templates.
func checkMerge(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e := v[k]
			if !strings.HasPrefix(k, "$") {
				if err := checkMerge(e); err != nil {
					return fmt.Errorf("%s: %w", k, err)
				}
				continue
			}
			if k != directive || e != "delete" && e != "replace" && e != "merge" {
				return fmt.Errorf("%.60s: %v is unknown: there is $patch with delete, replace or merge", k, e)
			}
		}
	case []any:
		for _, e := range v {
			if err := checkMerge(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// merger merges patches. strategic is false for kinds whose lists have no merge keys: then they are
// JSON merge patches (RFC 7386).
type merger struct {
	strategic bool
	left      *budget
}

// mergeMap merges a patch into a map.
func (m *merger) mergeMap(have, patch map[string]any) (map[string]any, error) {
	if have == nil || patch[directive] == "replace" {
		have = map[string]any{}
	}
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		if field == directive {
			continue
		}
		switch p := patch[field].(type) {
		case nil:
			delete(have, field)
		case map[string]any:
			if p[directive] == "delete" {
				delete(have, field)
				continue
			}
			below, _ := have[field].(map[string]any)
			merged, err := m.mergeMap(below, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", field, err)
			}
			have[field] = merged
		case []any:
			merged, err := m.mergeList(have, field, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", field, err)
			}
			have[field] = merged
		default:
			have[field] = p
		}
	}
	return have, nil
}

// errNoKey is returned for an element of a patch without the field that tells which one it is.
var errNoKey = errors.New("an element of the patch lacks the field that names it")

func (m *merger) mergeList(parent map[string]any, field string, patch []any) ([]any, error) {
	have, _ := parent[field].([]any)
	key := ""
	if m.strategic {
		key = mergeKey(field, have, patch)
	}
	var out []any
	for _, e := range patch {
		if one, ok := e.(map[string]any); ok && one[directive] == "replace" && len(one) == 1 {
			have = nil
		}
	}
	if key != "" {
		out = have
	}
	for _, e := range patch {
		one, ok := e.(map[string]any)
		if ok && one[directive] == "replace" && len(one) == 1 {
			continue
		}
		if key == "" {
			if ok {
				clean, err := m.mergeMap(nil, one)
				if err != nil {
					return nil, err
				}
				e = clean
			}
			out = append(out, e)
			continue
		}
		if !ok || one[key] == nil {
			return nil, fmt.Errorf("%w: %s", errNoKey, key)
		}
		var err error
		if out, err = m.mergeElement(out, one, key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *merger) mergeElement(list []any, patch map[string]any, key string) ([]any, error) {
	if err := m.left.step(lookSteps * (len(list) + 1)); err != nil {
		return nil, err
	}
	for i, e := range list {
		have, ok := e.(map[string]any)
		if !ok || !equal(have[key], patch[key]) {
			continue
		}
		if patch[directive] == "delete" {
			return append(list[:i:i], list[i+1:]...), nil
		}
		merged, err := m.mergeMap(have, patch)
		list[i] = merged
		return list, err
	}
	if patch[directive] == "delete" {
		return list, nil
	}
	clean, err := m.mergeMap(nil, patch)
	return append(list, clean), err
}
