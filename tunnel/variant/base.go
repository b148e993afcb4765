package variant

import (
	"encoding/json"

	"skerry.dev/skerry/store"
)

// BaseAnnotation stands on a workload whose Pods Customizers have changed: what they have changed of the
// template, and what that was. The target's controllers copy it to what they keep of the template, such as
// a ReplicaSet. So what is reported of that is what the space had, and going back to it does not give
// every target what was of one. It is absent where it would be long.
const BaseAnnotation = "skerry.dev/customized-template"

// maxBase bounds it, in bytes.
const maxBase = 8 << 10

// was is a field of a template. Was and Is are absent where there was, or is, no such field.
type was struct {
	Path string          `json:"path"`
	Was  json.RawMessage `json:"was,omitempty"`
	Is   json.RawMessage `json:"is,omitempty"`
}

// templateOf returns the template of Pods of which a target keeps what it was, nil for other kinds.
func templateOf(k store.Key, doc map[string]any) map[string]any {
	if k.Group != "apps" {
		return nil
	}
	spec, _ := doc["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	return template
}

// signBase writes BaseAnnotation, where a template has changed.
func signBase(doc, template, changed map[string]any) {
	var fields []was
	for _, c := range changes("", template, changed) {
		fields = append(fields, was{c.Path, json.RawMessage(c.Was), json.RawMessage(c.Is)})
	}
	if len(fields) == 0 || len(fields) >= maxChanges {
		return
	}
	if text := encode(fields); len(text) <= maxBase {
		annotate(doc, BaseAnnotation, string(text))
	}
}

// Base makes of the template that a target has the one that the space had, by the target's BaseAnnotation. It
// reports false, and changes nothing, where the target has something else than Customizers have made.
func Base(template map[string]any, annotation string) bool {
	var fields []was
	if json.Unmarshal([]byte(annotation), &fields) != nil {
		return false
	}
	whole := map[string]any{"": clone(template)}
	for _, f := range fields {
		p, err := parsePointer(f.Path)
		if err != nil || !f.restore(whole, append(pointer{""}, p...)) {
			return false
		}
	}
	clear(template)
	for name, v := range whole[""].(map[string]any) {
		template[name] = v
	}
	return true
}

// restore sets what a field was. It reports false where it is not what it should be.
func (f *was) restore(doc map[string]any, at pointer) bool {
	have, err := at.find(doc)
	if f.Is != nil {
		is, bad := decode(f.Is)
		if bad != nil || err != nil || !Covers(have, is) {
			return false
		}
	}
	if f.Was == nil {
		return at.remove(doc, newBudget()) == nil
	}
	value, err := decode(f.Was)
	if err != nil {
		return false
	}
	parent, err := at[:len(at)-1].find(doc)
	if err != nil {
		return false
	}
	if _, isMap := parent.(map[string]any); isMap {
		return at.add(doc, value, newBudget()) == nil
	}
	return at.replace(doc, value) == nil
}

// Covers reports whether what is there has a value, both of decoded JSON, and at most defaults beside it: fields of
// maps. Its lists are as long. A field that is null is one that is absent.
func Covers(have, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		for name, e := range v {
			if other, there := h[name]; !there && e != nil || !Covers(other, e) {
				return false
			}
		}
		return ok
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(v) {
			return false
		}
		for i, e := range v {
			if !Covers(h[i], e) {
				return false
			}
		}
		return true
	}
	return equal(have, value)
}
