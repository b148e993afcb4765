package target

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// fields is a node of a set of fields, in the form of managedFields. "f:name" is a member,
// `k:{...}` an element of a list by its key, `v:...` an element of a set. An empty node is a field
// that is owned as a whole.
type fields map[string]fields

func decodeFields(raw json.RawMessage) fields {
	var f fields
	if len(raw) == 0 || json.Unmarshal(raw, &f) != nil {
		return nil
	}
	return f
}

// owned is Owned, decoded; nil when nothing is owned or it cannot be read.
func (o *Object) owned() fields { return decodeFields(o.Owned()) }

func (f fields) below(name string) fields { return f["f:"+name] }

// whole reports whether the field is owned as a whole.
func (f fields) whole() bool { return f != nil && len(f) == 0 }

// element returns the node of an element of a list, nil when there is none.
func (f fields) element(v any) fields {
	for name, node := range f {
		if key, ok := strings.CutPrefix(name, "k:"); ok && hasKey(key, v) {
			return node
		}
		if value, ok := strings.CutPrefix(name, "v:"); ok && sameJSON(value, v) {
			return node
		}
	}
	return nil
}

// hasKey reports whether an element has the key of a list, which may name more fields than the
// element gives: those have defaults.
func hasKey(key string, v any) bool {
	var want map[string]any
	have, ok := v.(map[string]any)
	if !ok || json.Unmarshal([]byte(key), &want) != nil {
		return false
	}
	found := false
	for field, value := range want {
		given, ok := have[field]
		if ok && !reflect.DeepEqual(given, value) {
			return false
		}
		found = found || ok
	}
	return found
}

func sameJSON(text string, v any) bool {
	var want any
	return json.Unmarshal([]byte(text), &want) == nil && reflect.DeepEqual(want, v)
}

// Loss is a field of a delivered object that is not ours on the target.
type Loss struct {
	// Path is the field, ".spec.replicas".
	Path string
	// By is the field manager that owns it; empty when nobody does, because it was removed.
	By string
}

// maxLosses bounds what Lost returns.
const maxLosses = 8

// Lost returns the fields of a delivered body that we do not own on the object: others have changed
// or removed them.
func (o *Object) Lost(body map[string]any) []Loss {
	s := search{}
	for i := range o.Metadata.ManagedFields {
		if m := &o.Metadata.ManagedFields[i]; !m.ours() {
			s.managers = append(s.managers, m.Manager)
			s.others = append(s.others, decodeFields(m.FieldsV1))
		}
	}
	own := o.owned()
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch name {
		case "apiVersion", "kind", "status", "stringData": // a Secret has stringData as data
		case "metadata":
			metadata, _ := body[name].(map[string]any)
			for _, field := range []string{"annotations", "labels", "finalizers", "ownerReferences"} {
				if v, ok := metadata[field]; ok {
					s.visit(
						v,
						own.below(name).below(field),
						s.at(s.at(s.others, "f:metadata"), "f:"+field),
						".metadata."+field,
					)
				}
			}
		default:
			s.visit(body[name], own.below(name), s.at(s.others, "f:"+name), "."+name)
		}
	}
	return s.losses
}

// search collects losses.
type search struct {
	managers []string
	others   []fields // of each manager, at the place that is visited
	losses   []Loss
}

// at goes one step down in the fields of the others.
func (s *search) at(others []fields, name string) []fields {
	out := make([]fields, len(others))
	for i, f := range others {
		out[i] = f[name]
	}
	return out
}

func (s *search) visit(v any, own fields, others []fields, path string) {
	if len(s.losses) >= maxLosses || own.whole() {
		return
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s.visit(v[name], own.below(name), s.at(others, "f:"+name), path+step(name))
		}
	case []any:
		if own == nil {
			if len(v) > 0 {
				s.lose(path, others)
			}
			return
		}
		for _, e := range v {
			s.element(e, own, others, path)
		}
	default:
		s.lose(path, others)
	}
}

func (s *search) element(e any, own fields, others []fields, path string) {
	at := make([]fields, len(others))
	for i, f := range others {
		at[i] = f.element(e)
	}
	path += label(e)
	node := own.element(e)
	if node == nil {
		s.lose(path, at)
		return
	}
	s.visit(e, node, at, path)
}

func (s *search) lose(path string, others []fields) {
	l := Loss{Path: path}
	for i, f := range others {
		if f != nil {
			l.By = s.managers[i]
			break
		}
	}
	s.losses = append(s.losses, l)
}

// step writes a member of a path; a name with dots, of a label, stands in brackets.
func step(name string) string {
	if strings.ContainsAny(name, "./") {
		return "[" + name + "]"
	}
	return "." + name
}

// label names an element of a list.
func label(e any) string {
	if m, ok := e.(map[string]any); ok {
		for _, key := range []string{"name", "key", "port", "containerPort", "mountPath", "ip", "type"} {
			if v, ok := m[key]; ok {
				return fmt.Sprintf("[%s=%v]", key, v)
			}
		}
		return "[]"
	}
	return fmt.Sprintf("[%v]", e)
}
