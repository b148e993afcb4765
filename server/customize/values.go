package customize

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/tunnel/variant"
)

// Values is what a SyncTarget is known by in Customizers: its name, its labels, and its properties,
// which are those of its status and its annotations with v1alpha1.AnnotationProperty. A property that is
// too long is left out, and so are those beyond the limit, by name.
func Values(obj map[string]any) variant.Values {
	meta := fields.Map(obj, "metadata")
	v := variant.Values{
		Name: fields.String(meta, "name"), Labels: map[string]string{}, Properties: map[string]string{},
	}
	for k, text := range fields.Map(meta, "labels") {
		v.Labels[k], _ = text.(string)
	}
	for k, text := range fields.Map(obj, "status", "properties") {
		v.Properties[k], _ = text.(string)
	}
	for k, text := range fields.Map(meta, "annotations") {
		if name, is := strings.CutPrefix(k, v1alpha1.AnnotationProperty); is {
			v.Properties[name], _ = text.(string)
		}
	}
	for k, text := range v.Properties {
		if len(text) > variant.MaxProperty {
			delete(v.Properties, k)
		}
	}
	if len(v.Properties) > variant.MaxProperties {
		for _, k := range slices.Sorted(maps.Keys(v.Properties))[variant.MaxProperties:] {
			delete(v.Properties, k)
		}
	}
	return v
}
