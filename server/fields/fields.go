// Package fields reads fields of objects that were decoded from JSON. A path names a field below
// the one before it:
//
//	name := fields.String(pod, "metadata", "name")
//	spec := fields.Map(deployment, "spec", "template", "spec")
//
// A field that is absent, or that has another type, is the zero value. That is why this package
// stands beside unstructured.NestedMap and its like: those copy what they return and format an
// error for each field of another type, which is too much for code that reads every write. Nothing
// here but Clone copies: what is returned is part of the object.
package fields

import (
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// Map returns the map at a path; nil when there is none.
func Map(obj map[string]any, path ...string) map[string]any {
	return at[map[string]any](obj, path)
}

// String returns the text at a path; empty when there is none.
func String(obj map[string]any, path ...string) string {
	return at[string](obj, path)
}

// Clone returns a copy of the text at a path, for what outlives the object: a text of it keeps all of it
// in memory.
func Clone(obj map[string]any, path ...string) string { return strings.Clone(String(obj, path...)) }

// List returns the list at a path; nil when there is none.
func List(obj map[string]any, path ...string) []any {
	return at[[]any](obj, path)
}

// Number returns a whole number as JSON and the kube API decode it. It is false for what is none.
func Number(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case float64:
		return int64(v), true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

// Maps yields the elements of the list at a path that are maps; it passes over others.
func Maps(obj map[string]any, path ...string) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, e := range List(obj, path...) {
			if m, ok := e.(map[string]any); ok && !yield(m) {
				return
			}
		}
	}
}

// Since is the lastTransitionTime of a condition that is about to be written into a status: that of the one which is
// there while its status, "True" or "False", is the same, else now.
func Since(status map[string]any, kind, is string, now time.Time) string {
	for c := range Maps(status, "conditions") {
		if c["type"] == kind && c["status"] == is {
			return String(c, "lastTransitionTime")
		}
	}
	return now.UTC().Format(time.RFC3339)
}

func at[T any](obj map[string]any, path []string) T {
	last := len(path) - 1
	for _, field := range path[:last] {
		obj, _ = obj[field].(map[string]any)
	}
	v, _ := obj[path[last]].(T)
	return v
}
