package customize

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/variant"
)

func TestTheAnnotationsHaveOneName(t *testing.T) {
	if variant.Annotation != v1alpha1.AnnotationCustomizedBy ||
		variant.BaseAnnotation != v1alpha1.AnnotationCustomizedTemplate || variant.SharesAnnotation != v1alpha1.AnnotationShares {
		t.Error("sites write another annotation than is documented")
	}
}

func TestValues(t *testing.T) {
	notes := map[string]any{
		"property.skerry.dev/registry": "r.paris:5000/x", "property.skerry.dev/zone": "annotated",
		"skerry.dev/key": "secret", "property.skerry.dev/long": strings.Repeat("x", variant.MaxProperty+1),
	}
	target := map[string]any{
		"metadata": map[string]any{
			"name": "paris", "labels": map[string]any{"region": "eu"}, "annotations": notes,
		},
		"status": map[string]any{"properties": map[string]any{"zone": "reported", "cluster.clusterset.k8s.io": "c1"}},
	}
	v := Values(target)
	want := map[string]string{
		"registry": "r.paris:5000/x", "zone": "annotated", "cluster.clusterset.k8s.io": "c1",
	}
	if v.Name != "paris" || v.Labels["region"] != "eu" || !maps.Equal(v.Properties, want) {
		t.Errorf("values are %+v", v)
	}
	for i := range 2 * variant.MaxProperties {
		notes[fmt.Sprintf("property.skerry.dev/p%03d", i)] = "x"
	}
	if n := len(Values(target).Properties); n != variant.MaxProperties {
		t.Errorf("%d properties", n)
	}
}
