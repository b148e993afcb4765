package variant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fixedGroups and fixedKinds are what is the same at every target: kinds that act on a whole
// cluster, or give rights.
var (
	fixedGroups = []string{
		"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io",
		"apiextensions.k8s.io", "certificates.k8s.io", "flowcontrol.apiserver.k8s.io", "skerry.dev",
	}
	fixedKinds = []string{"namespaces", "serviceaccounts"}
)

// Customizable reports whether objects of a kind may differ from target to target.
func Customizable(group, resource string) bool {
	return !slices.Contains(fixedGroups, group) && (group != "" || !slices.Contains(fixedKinds, resource))
}

// mayChange refuses pointers to what a Customizer may not change.
func mayChange(p pointer) error {
	switch p[0] {
	case "apiVersion", "kind", "status":
		return fmt.Errorf("/%s cannot be changed by a Customizer", p[0])
	case "metadata":
		if len(p) == 1 || p[1] != "labels" && p[1] != "annotations" {
			return errors.New("of the metadata only labels and annotations can be changed by a Customizer")
		}
		if len(p) > 2 && ours(p[2]) {
			return fmt.Errorf("%s is Skerry's own and cannot be changed by a Customizer", p[2])
		}
	}
	return nil
}

// ours reports whether a label or an annotation is Skerry's own.
func ours(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "skerry.dev" || strings.HasSuffix(domain, ".skerry.dev")
}

// fixed is what must not change of an object.
type fixed struct {
	top  map[string]any // apiVersion, kind, status
	meta map[string]any // without labels and annotations
	own  map[string]any // Skerry's labels and annotations, by pointer
}

func fixedOf(doc map[string]any) fixed {
	f := fixed{map[string]any{}, map[string]any{}, map[string]any{}}
	for _, k := range []string{"apiVersion", "kind", "status"} {
		if v, ok := doc[k]; ok {
			f.top[k] = v
		}
	}
	meta, _ := doc["metadata"].(map[string]any)
	for k, v := range meta {
		if k != "labels" && k != "annotations" {
			f.meta[k] = clone(v)
			continue
		}
		all, _ := v.(map[string]any)
		for name, value := range all {
			if ours(name) {
				f.own[pointer{"metadata", k, name}.String()] = value
			}
		}
	}
	return f
}

// check returns the first field that differs from f. It must not: the fields are checked when a
// Customizer is written, so this stands for what a patch does by a way of its own.
func (f fixed) check(doc map[string]any) error {
	now := fixedOf(doc)
	for _, part := range []struct {
		above    string
		was, has map[string]any
	}{{"/", f.top, now.top}, {"/metadata/", f.meta, now.meta}, {"", f.own, now.own}} {
		names := maps.Clone(part.was)
		maps.Copy(names, part.has)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			was, had := part.was[name]
			is, has := part.has[name]
			if had != has || !equal(was, is) {
				return fmt.Errorf("%s%s cannot be changed by a Customizer", part.above, name)
			}
		}
	}
	return nil
}
