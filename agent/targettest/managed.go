package targettest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// manager is one entry of managedFields.
type manager struct{ name, operation, subresource string }

// fields is a set of leaf fields: segments "f:name" and `k:{"name":"x"}`, joined by separator, with
// the value that each has.
type fields map[string]any

// ownership is who owns which fields of an object.
type ownership map[manager]fields

const separator = "\x00"

// unowned are the fields of metadata that nobody owns.
var unowned = map[string]bool{"name": true, "namespace": true, "uid": true, "resourceVersion": true, "generation": true,
	"creationTimestamp": true, "deletionTimestamp": true, "managedFields": true}

// fieldsOf returns the leaf fields of an object, without its status.
func fieldsOf(o map[string]any) fields {
	out := fields{}
	for k, v := range o {
		switch k {
		case "apiVersion", "kind", "status":
		case "metadata":
			for field, v := range v.(map[string]any) {
				if !unowned[field] {
					out.add("f:metadata"+separator+"f:"+field, v)
				}
			}
		default:
			out.add("f:"+k, v)
		}
	}
	return out
}

func (f fields) add(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			f.add(path+separator+"f:"+k, child)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		if named(v) {
			for _, e := range v {
				at := fmt.Sprintf("%s%sk:{%q:%q}", path, separator, "name", nameOf(e))
				f[at+separator+"."] = true
				f.add(at, e)
			}
			return
		}
	}
	f[path] = v
}

// updated is the ownership after an update: what a manager changed is its own and nobody else's.
func updated(before ownership, by manager, old, now map[string]any) ownership {
	after := before.clone()
	was, is := fieldsOf(old), fieldsOf(now)
	for path, v := range was {
		if now, ok := is[path]; !ok || !reflect.DeepEqual(v, now) {
			after.take(path)
		}
	}
	for path, v := range is {
		if was, ok := was[path]; !ok || !reflect.DeepEqual(v, was) {
			if after[by] == nil {
				after[by] = fields{}
			}
			after[by][path] = v
		}
	}
	return after
}

func (o ownership) clone() ownership {
	out := ownership{}
	for m, f := range o {
		out[m] = maps.Clone(f)
	}
	return out
}

// take takes a field from everybody.
func (o ownership) take(path string) {
	for m, f := range o {
		if delete(f, path); len(f) == 0 {
			delete(o, m)
		}
	}
}

// conflicts are the managers and fields that an apply would change.
func (o ownership) conflicts(by manager, want, live fields) (who []manager, paths []string) {
	for m, f := range o {
		for path := range f {
			v, wanted := want[path]
			if m != by && wanted && !reflect.DeepEqual(v, live[path]) {
				who, paths = append(who, m), append(paths, path)
			}
		}
	}
	return who, paths
}

// render is metadata.managedFields.
func (o ownership) render() []any {
	out := []any{}
	order := slices.SortedFunc(
		maps.Keys(o),
		func(a, b manager) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) },
	)
	for _, m := range order {
		root := map[string]any{}
		for path := range o[m] {
			at := root
			for _, segment := range strings.Split(path, separator) {
				if at[segment] == nil {
					at[segment] = map[string]any{}
				}
				at = at[segment].(map[string]any)
			}
		}
		entry := map[string]any{
			"manager":    m.name,
			"operation":  m.operation,
			"apiVersion": "v1",
			"fieldsType": "FieldsV1",
			"fieldsV1":   root,
		}
		if m.subresource != "" {
			entry["subresource"] = m.subresource
		}
		out = append(out, entry)
	}
	return out
}

// parse is the inverse of render, for a client that sets managedFields itself.
func parse(entries []any, o map[string]any) ownership {
	out, have := ownership{}, fieldsOf(o)
	for _, e := range entries {
		var entry struct {
			Manager, Operation, Subresource string
			FieldsV1                        map[string]any
		}
		raw, err := json.Marshal(e)
		if err == nil {
			err = json.Unmarshal(raw, &entry)
		}
		if err != nil {
			panic(err)
		}
		if entry.Manager == "" {
			continue // [{}] resets
		}
		f := fields{}
		walk("", entry.FieldsV1, func(path string) { f[path] = have[path] })
		out[manager{entry.Manager, entry.Operation, entry.Subresource}] = f
	}
	return out
}

func walk(path string, node map[string]any, leaf func(string)) {
	for segment, child := range node {
		at := strings.TrimPrefix(path+separator+segment, separator)
		if below, _ := child.(map[string]any); len(below) > 0 {
			walk(at, below, leaf)
		} else {
			leaf(at)
		}
	}
}

// unset removes a leaf field of an object.
func unset(o map[string]any, path string) {
	segments := strings.Split(path, separator)
	var list []any
	var put func([]any)
	at := o
	for i, segment := range segments {
		name, element := member(segment)
		switch {
		case segment == ".":
			put(slices.DeleteFunc(list, func(e any) bool { return reflect.DeepEqual(e, at) }))
			return
		case element:
			j := indexOf(list, name)
			if j < 0 {
				return
			}
			at = list[j].(map[string]any)
		case i == len(segments)-1:
			delete(at, name)
		default:
			parent := at
			if below, ok := at[name].([]any); ok {
				list, put = below, func(l []any) { parent[name] = l }
				continue
			}
			below, ok := at[name].(map[string]any)
			if !ok {
				return
			}
			at = below
		}
	}
}
