package clusterset

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
)

// An export may say labels and annotations that its import has in each space. Those of the oldest export are all that
// an import has of them: a later one changes nothing that others may select by.

// words are labels and annotations.
type words struct {
	Labels      map[string]string
	Annotations map[string]string
}

// mostWords is how much an export may say in labels and annotations, in bytes: each space of its set has that. The API
// server takes four times as much of an object's annotations, and one of these has all the keys.
const mostWords = 64 << 10

// exportedBy reads what the spec of a ServiceExport says for its imports. Left out are the keys of what nobody can
// write, or which the center has meanings for.
func exportedBy(spec map[string]any) (is words, leftOut []string) {
	is = words{map[string]string{}, map[string]string{}}
	size := 0
	each := func(field string, to map[string]string, can func(key, value string) bool) {
		all := fields.Map(spec, field)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			value, _ := all[key].(string)
			if isReserved(key) || size+len(key)+len(value) > mostWords || !can(key, value) {
				leftOut = append(leftOut, key)
				continue
			}
			size += len(key) + len(value)
			to[strings.Clone(key)] = strings.Clone(value)
		}
	}
	each("exportedLabels", is.Labels, func(key, value string) bool {
		return len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0
	})
	each("exportedAnnotations", is.Annotations, func(key, _ string) bool {
		return len(validation.IsQualifiedName(strings.ToLower(key))) == 0
	})
	return is, leftOut
}

// isReserved reports whether a key has a meaning for the center, or says what serves an import.
func isReserved(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return key == managedBy || domain == v1alpha1.GroupVersion.Group ||
		strings.HasSuffix(domain, "."+v1alpha1.GroupVersion.Group) || domain == "multicluster.kubernetes.io"
}

// keys are those of words, as the annotation v1alpha1.AnnotationExported of an import has them: what an export says no
// more is taken off again, and what others have written stays.
type keys struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// patch is the metadata of an import that is to have words, over that which it has.
func (is words) patch(have map[string]any) map[string]any {
	var were keys
	text := fields.String(have, "metadata", "annotations", v1alpha1.AnnotationExported)
	_ = json.Unmarshal([]byte(text), &were) // what nobody can read is none
	labels, annotations := map[string]any{managedBy: center}, map[string]any{}
	over := func(to map[string]any, before []string, now map[string]string) []string {
		for _, key := range before {
			if !isReserved(key) {
				to[key] = nil
			}
		}
		for key, value := range now {
			to[key] = value
		}
		return slices.Sorted(maps.Keys(now))
	}
	are := keys{over(labels, were.Labels, is.Labels), over(annotations, were.Annotations, is.Annotations)}
	if len(are.Labels)+len(are.Annotations) > 0 {
		b, _ := json.Marshal(are) // keys can be written
		annotations[v1alpha1.AnnotationExported] = string(b)
	} else if text != "" {
		annotations[v1alpha1.AnnotationExported] = nil
	}
	return map[string]any{"labels": labels, "annotations": annotations}
}
