package kinds

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// placeColumns are what `kubectl get -o wide` shows of every object of a space beside its kind's
// own columns. Priority 1 keeps them out of plain `kubectl get`.
var placeColumns = []metav1.TableColumnDefinition{
	{Name: "Targets", Type: "string", Priority: 1,
		Description: "The SyncTargets that the object is at."},
	{Name: "Unreachable", Type: "date", Priority: 1,
		Description: "For how long one of these targets has not been heard of, or its cluster has not answered."},
}

// placed adds placeColumns to the tables of a built-in kind.
type placed struct {
	rest.TableConvertor
	// unreachable returns since when one of the targets cannot be reached, or the zero time if all
	// can. A nil function knows of none.
	unreachable func(targets []string) time.Time
}

// AddPlaceColumns has the storages of a group show placeColumns. Subresources have tables of their
// own and stay as they are.
func AddPlaceColumns(storages map[string]rest.Storage, unreachable func([]string) time.Time) {
	for name, s := range storages {
		if strings.Contains(name, "/") {
			continue
		}
		if store := storeOf(s); store != nil && store.TableConvertor != nil {
			store.TableConvertor = placed{store.TableConvertor, unreachable}
		}
	}
}

// storeOf returns the registry store that upstream's REST storages embed, nil if there is none.
func storeOf(s rest.Storage) *genericregistry.Store {
	if store, ok := s.(*genericregistry.Store); ok {
		return store
	}
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() != reflect.Struct {
		return nil
	}
	field := v.FieldByName("Store")
	if !field.IsValid() || !field.CanInterface() {
		return nil
	}
	store, _ := field.Interface().(*genericregistry.Store)
	return store
}

// ConvertToTable implements rest.TableConvertor.
func (p placed) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	t, err := p.TableConvertor.ConvertToTable(ctx, obj, options)
	if err != nil {
		return nil, err
	}
	if len(t.ColumnDefinitions) > 0 { // a client may ask for no headers
		t.ColumnDefinitions = append(slices.Clip(t.ColumnDefinitions), placeColumns...)
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		row.Cells = append(row.Cells, p.cells(row.Object.Object)...)
	}
	return t, nil
}

// cells are the values of placeColumns; nil is shown as <none>.
func (p placed) cells(obj runtime.Object) []any {
	o, err := meta.Accessor(obj)
	if err != nil {
		return []any{nil, nil}
	}
	notes := o.GetAnnotations()
	text := notes[v1alpha1.AnnotationTargets]
	if text == "" {
		text = notes[v1alpha1.AnnotationReportedFrom]
	}
	if text == "" {
		return []any{nil, nil}
	}
	since := time.Time{}
	if p.unreachable != nil {
		since = p.unreachable(strings.Split(text, ","))
	}
	if since.IsZero() { // a replica that stands by knows what is stored
		since, _ = time.Parse(time.RFC3339, notes[v1alpha1.AnnotationUnreachable])
	}
	if since.IsZero() {
		return []any{text, nil}
	}
	return []any{text, metatable.ConvertToHumanReadableDateType(metav1.NewTime(since))}
}

// ShowPlace adds placeColumns to the columns of a definition as it is served. The stored definition
// stays as it is. A version without columns of its own also gets upstream's Age.
func ShowPlace(crd *apiextensionsv1.CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		has := func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
			return c.JSONPath == placePaths[0]
		}
		if slices.ContainsFunc(v.AdditionalPrinterColumns, has) {
			continue // an informer transforms again what it has transformed
		}
		columns := slices.Clip(v.AdditionalPrinterColumns)
		if len(columns) == 0 {
			columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: "Age", Type: "date",
				Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"})
		}
		for at, c := range placeColumns {
			columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: c.Name, Type: c.Type,
				Description: c.Description, Priority: c.Priority, JSONPath: placePaths[at]})
		}
		v.AdditionalPrinterColumns = columns
	}
}

// placePaths are where custom resources have the values of placeColumns.
var placePaths = []string{annotationPath(v1alpha1.AnnotationTargets), annotationPath(v1alpha1.AnnotationUnreachable)}

func annotationPath(name string) string {
	return ".metadata.annotations." + strings.ReplaceAll(name, ".", `\.`)
}
