package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// gauges is a definition with everything that one can have beside a schema: two versions, rules,
// defaults, status, scale, columns and fields to select by.
const gauges = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gauges.example.com"},"spec":{"group":"example.com",
	"scope":"Namespaced","names":{"kind":"Gauge","listKind":"GaugeList","plural":"gauges","singular":"gauge","shortNames":["gg"],"categories":["meters"]},"versions":[
	{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
		"additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"}],"selectableFields":[{"jsonPath":".spec.color"}],"schema":SCHEMA},
	{"name":"v2","served":true,"storage":false,"subresources":{"status":{}},"schema":OTHER}]}}`

const gaugeSchema = `{"openAPIV3Schema":{"type":"object","properties":{
	"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.low <= self.high","message":"low is above high"}],
		"properties":{"low":{"type":"integer","default":1},"high":{"type":"integer","default":9},"color":{"type":"string"},"replicas":{"type":"integer"}}},
	"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}`

// customKinds: what a definition says beside the schema has effect.
func customKinds(t *testing.T, c *center) {
	ctx, d := t.Context(), dyn(t, c.admin("plain"))
	var def unstructured.Unstructured
	otherSchema := strings.Replace(gaugeSchema, `"color"`, `"note":{"type":"string"},"color"`, 1)
	must(t, def.UnmarshalJSON([]byte(strings.NewReplacer("SCHEMA", gaugeSchema, "OTHER", otherSchema).Replace(gauges))))
	_, err := d.Resource(crdsGVR).Create(ctx, &def, metav1.CreateOptions{})
	must(t, err)
	v1 := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gauges"}
	api := d.Resource(v1).Namespace("default")
	make := func(name, color string, low int64) (*unstructured.Unstructured, error) {
		g := object("example.com/v1", "Gauge", "", name)
		g.Object["spec"] = map[string]any{"color": color, "low": low}
		return api.Create(ctx, g, metav1.CreateOptions{})
	}
	if _, err := make("wrong", "red", 10); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "low is above high") {
		t.Errorf("against the rule: %v", err)
	}
	for name, color := range map[string]string{"a": "red", "b": "blue"} {
		g, err := make(name, color, 2)
		must(t, err)
		if high, _, _ := unstructured.NestedInt64(g.Object, "spec", "high"); high != 9 {
			t.Errorf("no default: %v", g.Object["spec"])
		}
	}
	if _, err := api.Patch(
		ctx,
		"a",
		types.MergePatchType,
		[]byte(`{"spec":{"high":0}}`),
		metav1.PatchOptions{},
	); !apierrors.IsInvalid(
		err,
	) {
		t.Errorf("a patch against the rule: %v", err)
	}
	list, err := api.List(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
	if must(t, err); len(list.Items) != 1 || list.Items[0].GetName() != "a" {
		t.Errorf("red ones: %v", list.Items)
	}
	if _, err := api.List(ctx, metav1.ListOptions{FieldSelector: "spec.low=2"}); !apierrors.IsBadRequest(err) {
		t.Errorf("selected by another field: %v", err)
	}
	w, err := api.Watch(
		ctx,
		metav1.ListOptions{FieldSelector: "spec.color=blue", ResourceVersion: list.GetResourceVersion()},
	)
	must(t, err)
	defer w.Stop()
	for _, color := range []string{"green", "blue"} {
		_, err := api.Patch(
			ctx,
			"a",
			types.MergePatchType,
			[]byte(`{"spec":{"color":"`+color+`"}}`),
			metav1.PatchOptions{},
		)
		must(t, err)
	}
	if e := <-w.ResultChan(); e.Type != "ADDED" || e.Object.(*unstructured.Unstructured).GetName() != "a" {
		t.Errorf("a watch of blue ones tells %s %v", e.Type, e.Object)
	}

	// The status is one's own, the scale is seen and changed.
	both := []byte(`{"spec":{"low":3},"status":{"replicas":4}}`)
	g, err := api.Patch(ctx, "b", types.MergePatchType, both, metav1.PatchOptions{}, "status")
	must(t, err)
	if low, _, _ := unstructured.NestedInt64(g.Object, "spec", "low"); low != 2 {
		t.Error("a write of the status changes the spec")
	}
	if g, err = api.Patch(
		ctx,
		"b",
		types.MergePatchType,
		[]byte(`{"spec":{"low":3},"status":{"replicas":5}}`),
		metav1.PatchOptions{},
	); err != nil ||
		g.GetGeneration() != 2 {
		t.Errorf("generation %d: %v", g.GetGeneration(), err)
	}
	if n, _, _ := unstructured.NestedInt64(g.Object, "status", "replicas"); n != 4 {
		t.Error("a write of the object changes the status")
	}
	scale, err := api.Patch(
		ctx,
		"b",
		types.MergePatchType,
		[]byte(`{"spec":{"replicas":7}}`),
		metav1.PatchOptions{},
		"scale",
	)
	must(t, err)
	is, _, _ := unstructured.NestedInt64(scale.Object, "status", "replicas")
	g, err = api.Get(ctx, "b", metav1.GetOptions{})
	must(t, err)
	if n, _, _ := unstructured.NestedInt64(g.Object, "spec", "replicas"); scale.GetKind() != "Scale" || is != 4 ||
		n != 7 {
		t.Errorf("%s with %d, and %d wished", scale.GetKind(), is, n)
	}

	// The other version, columns, and names.
	other, err := d.Resource(
		v1.GroupResource().WithVersion("v2"),
	).Namespace(
		"default",
	).Get(
		ctx,
		"b",
		metav1.GetOptions{},
	)
	if must(t, err); other.GetAPIVersion() != "example.com/v2" || other.GetUID() != g.GetUID() {
		t.Errorf("at the other version: %v", other)
	}
	disc := clients(t, c.admin("plain")).Discovery()
	raw, err := disc.RESTClient().Get().AbsPath(
		"/apis/example.com/v1/namespaces/default/gauges",
	).SetHeader(
		"Accept",
		"application/json;as=Table;v=v1;g=meta.k8s.io",
	).Do(
		ctx,
	).Raw()
	must(t, err)
	var table metav1.Table
	must(t, json.Unmarshal(raw, &table))
	if len(table.Rows) != 2 || len(table.ColumnDefinitions) != 4 || table.ColumnDefinitions[1].Name != "Color" ||
		table.ColumnDefinitions[2].Name != "Targets" ||
		table.Rows[1].Cells[1] != "blue" {
		t.Errorf("as a table: %+v %+v", table.ColumnDefinitions, table.Rows)
	}
	resources, err := disc.ServerResourcesForGroupVersion("example.com/v1")
	must(t, err)
	subresources := 0
	for _, r := range resources.APIResources {
		switch r.Name {
		case "gauges/status", "gauges/scale":
			subresources++
		case "gauges":
			if strings.Join(append(r.ShortNames, r.Categories...), " ") != "gg meters" {
				t.Errorf("names in discovery: %v", r)
			}
		}
	}
	if subresources != 2 {
		t.Errorf("%d subresources in discovery", subresources)
	}
}
