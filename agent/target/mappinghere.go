package target

import (
	"strings"

	"skerry.dev/skerry/store"
)

// ObjectHere puts the space's names of namespaces into an object of the cluster of the kind that k
// has: its own, those that Kubernetes' kinds refer to, and that of what an Event is about.
func (m Mapping) ObjectHere(k store.Key, o map[string]any) {
	if m == "" {
		return
	}
	here := func(name string) string { return strings.TrimPrefix(name, string(m)) }
	put := func(of map[string]any, field string) {
		if name, ok := of[field].(string); ok {
			of[field] = here(name)
		}
	}
	metadata, _ := o["metadata"].(map[string]any)
	put(metadata, "namespace")
	if k.Class() == store.ClassNamespace {
		put(metadata, "name")
		labels, _ := metadata["labels"].(map[string]any)
		put(labels, LabelNamespaceName)
	}
	if k.Resource == "events" {
		for _, field := range []string{"involvedObject", "regarding", "related"} {
			about, _ := o[field].(map[string]any)
			put(about, "namespace")
		}
	}
	rename(o, k.Group+"/"+k.Resource, here)
}

// SelectorThere is a field selector of the space with the cluster's names of namespaces.
func (m Mapping) SelectorThere(k store.Key, selector string) string {
	if m == "" || selector == "" {
		return selector
	}
	terms := strings.Split(selector, ",")
	for i, term := range terms {
		at := strings.LastIndex(term, "=")
		if at < 0 {
			continue
		}
		field := strings.TrimRight(term[:at], "=!")
		if strings.HasSuffix(field, ".namespace") ||
			field == "metadata.name" && k.Class() == store.ClassNamespace {
			terms[i] = term[:at+1] + m.There(term[at+1:])
		}
	}
	return strings.Join(terms, ",")
}
