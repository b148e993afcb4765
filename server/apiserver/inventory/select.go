package inventory

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is what a reader asks for, and in which form.
type selection struct {
	labels    labels.Selector
	fields    fields.Selector
	namespace string // empty for all
	form      form
}

// readSelection reads the options of a list or a watch. The error says what is not understood.
func readSelection(q url.Values, namespace, name, accept string) (selection, error) {
	s := selection{labels.Everything(), fields.Everything(), namespace, formOf(accept)}
	var err error
	if text := q.Get("labelSelector"); text != "" {
		if s.labels, err = labels.Parse(text); err != nil {
			return s, fmt.Errorf("labelSelector: %w", err)
		}
	}
	if text := q.Get("fieldSelector"); text != "" {
		if s.fields, err = fields.ParseSelector(text); err != nil {
			return s, fmt.Errorf("fieldSelector: %w", err)
		}
		for _, r := range s.fields.Requirements() {
			if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
				return s, fmt.Errorf(
					"fieldSelector: %.60q: only metadata.name and metadata.namespace can be selected",
					r.Field,
				)
			}
		}
	}
	if name != "" {
		s.fields = fields.AndSelectors(s.fields, fields.OneTermEqualSelector("metadata.name", name))
	}
	return s, nil
}

// matches reports whether an object is selected.
func (s selection) matches(o map[string]any) bool {
	if s.namespace != "" && s.namespace != Namespace {
		return false
	}
	meta := o["metadata"].(map[string]any)
	set := labels.Set{}
	if of, ok := meta["labels"].(map[string]any); ok {
		set = texts(of)
	}
	return s.labels.Matches(set) &&
		s.fields.Matches(
			fields.Set{"metadata.name": meta["name"].(string), "metadata.namespace": Namespace},
		)
}

// form is how much of an object a reader wants.
type form bool

const (
	whole        form = false
	metadataOnly form = true
)

// formOf reads an Accept header: the first form in it that is served.
func formOf(accept string) form {
	for _, one := range strings.Split(accept, ",") {
		if strings.Contains(one, "protobuf") || strings.Contains(one, "as=Table") {
			continue
		}
		return form(strings.Contains(one, "as=PartialObjectMetadata"))
	}
	return whole
}

// of returns an object in this form.
func (f form) of(o map[string]any) map[string]any {
	if f == whole {
		return o
	}
	return map[string]any{
		"apiVersion": "meta.k8s.io/v1",
		"kind":       "PartialObjectMetadata",
		"metadata":   o["metadata"],
	}
}

// list returns a list of a kind in this form.
func (f form) list(kind string, revision string, items []map[string]any) map[string]any {
	version, list := Group+"/"+Version, kind+"List"
	if f == metadataOnly {
		version, list = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	out := make([]any, 0, len(items))
	for _, o := range items {
		out = append(out, f.of(o))
	}
	return map[string]any{"apiVersion": version, "kind": list, "items": out,
		"metadata": map[string]any{"resourceVersion": revision}}
}
