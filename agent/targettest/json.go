package targettest

import (
	"encoding/json"
	"strings"
)

func meta(o map[string]any) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	if m == nil {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

func clone(o map[string]any) map[string]any {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// merge puts every field of from into into. Lists whose elements have names are merged by name,
// others are replaced.
func merge(into, from map[string]any) {
	for k, v := range from {
		switch v := v.(type) {
		case map[string]any:
			if have, ok := into[k].(map[string]any); ok {
				merge(have, v)
				continue
			}
		case []any:
			if have, ok := into[k].([]any); ok && named(have) && named(v) {
				into[k] = mergeNamed(have, v)
				continue
			}
		}
		into[k] = v
	}
}

func mergeNamed(have, from []any) []any {
	for _, f := range from {
		if i := indexOf(have, nameOf(f)); i >= 0 {
			merge(have[i].(map[string]any), f.(map[string]any))
		} else {
			have = append(have, f)
		}
	}
	return have
}

// named reports whether a list is one of objects with names.
func named(list []any) bool {
	for _, e := range list {
		if nameOf(e) == "" {
			return false
		}
	}
	return len(list) > 0
}

func nameOf(e any) string {
	m, _ := e.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

func indexOf(list []any, name string) int {
	for i, e := range list {
		if nameOf(e) == name {
			return i
		}
	}
	return -1
}

// patch applies a JSON merge patch.
func patch(into, from map[string]any) {
	for k, v := range from {
		if v == nil {
			delete(into, k)
			continue
		}
		if child, ok := v.(map[string]any); ok {
			if _, ok := into[k].(map[string]any); !ok {
				into[k] = map[string]any{}
			}
			patch(into[k].(map[string]any), child)
			if len(into[k].(map[string]any)) == 0 {
				delete(into, k) // an empty map of metadata is not stored
			}
			continue
		}
		into[k] = v
	}
}

// member returns the name in a segment `k:{"name":"x"}` of a field path, or of "f:x".
func member(segment string) (name string, element bool) {
	if key, ok := strings.CutPrefix(segment, "k:"); ok {
		var k struct{ Name string }
		if json.Unmarshal([]byte(key), &k) != nil {
			panic("targettest: a field path with " + segment)
		}
		return k.Name, true
	}
	return strings.TrimPrefix(segment, "f:"), false
}
