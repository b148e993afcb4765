package kinds

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A wide list says where objects are, and for how long one of their targets has not been heard of.
func TestPlaceColumnsOfBuiltInKinds(t *testing.T) {
	hour := time.Now().Add(-time.Hour)
	table := placed{
		rest.NewDefaultTableConvertor(schema.GroupResource{Resource: "configmaps"}),
		func(targets []string) time.Time {
			if slices.Contains(targets, "paris") {
				return hour
			}
			return time.Time{}
		},
	}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        []any
	}{
		{"nowhere", nil, []any{nil, nil}},
		{"reached", map[string]string{v1alpha1.AnnotationTargets: "oslo"}, []any{"oslo", nil}},
		{"one of two is silent", map[string]string{v1alpha1.AnnotationTargets: "oslo,paris"}, []any{"oslo,paris", "60m"}},
		{"a mirror", map[string]string{v1alpha1.AnnotationReportedFrom: "paris"}, []any{"paris", "60m"}},
		{"as it is stored", map[string]string{v1alpha1.AnnotationTargets: "oslo",
			v1alpha1.AnnotationUnreachable: hour.Format(time.RFC3339)}, []any{"oslo", "60m"}},
	} {
		for _, noHeaders := range []bool{false, true} {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: c.annotations}}
			got, err := table.ConvertToTable(t.Context(), obj, &metav1.TableOptions{NoHeaders: noHeaders})
			if err != nil {
				t.Fatal(err)
			}
			cells := got.Rows[0].Cells
			if is := cells[len(cells)-2:]; !slices.Equal(is, c.want) {
				t.Errorf("%s: %v, want %v", c.name, is, c.want)
			}
			if n := len(got.ColumnDefinitions); noHeaders && n != 0 || !noHeaders && n != len(cells) {
				t.Errorf("%s: %d columns of %d cells, no headers %t", c.name, n, len(cells), noHeaders)
			}
		}
	}
}

// Custom resources say the same by columns of their definition, each added once.
func TestPlaceColumnsOfCustomResources(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2",
		AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "Color", Type: "string", JSONPath: ".spec.color"},
		}}}
	ShowPlace(crd)
	ShowPlace(crd)
	for i, own := range []string{"Age", "Color"} {
		convertor, err := tableconvertor.New(crd.Spec.Versions[i].AdditionalPrinterColumns)
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Boat"}}
		o.SetName("a")
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationTargets: "oslo,paris",
			v1alpha1.AnnotationUnreachable: time.Now().Add(-time.Hour).Format(time.RFC3339)})
		table, err := convertor.ConvertToTable(t.Context(), runtime.Object(o), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range table.ColumnDefinitions {
			names = append(names, c.Name)
		}
		if want := []string{"Name", own, "Targets", "Unreachable"}; !slices.Equal(names, want) {
			t.Errorf("columns %v, want %v", names, want)
		}
		if is := table.Rows[0].Cells[2:]; !slices.Equal(is, []any{"oslo,paris", "60m"}) {
			t.Errorf("cells %v", is)
		}
	}
}
