package admin

import (
	"encoding/json"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// TestWhatIsDividedIsRenderedSo: an autoscaler and a disruption budget are shown with what their target has of them.
func TestWhatIsDividedIsRenderedSo(t *testing.T) {
	for name, c := range map[string]struct {
		group, resource, spec string
		portions              map[string]map[string]int64
		want                  string
	}{
		"an autoscaler": {"autoscaling", "horizontalpodautoscalers", `{"maxReplicas":8,"minReplicas":4}`,
			map[string]map[string]int64{"one": {"minReplicas": 1, "maxReplicas": 5}, "two": {"minReplicas": 3, "maxReplicas": 3}},
			`{"maxReplicas":5,"minReplicas":1}`},
		"a budget": {"policy", "poddisruptionbudgets", `{"minAvailable":3}`,
			map[string]map[string]int64{"one": {"minAvailable": 2}, "two": {"minAvailable": 1}}, `{"minAvailable":2}`},
		"a whole one": {"policy", "poddisruptionbudgets", `{"minAvailable":3}`, nil, `{"minAvailable":3}`},
	} {
		r := &rendering{asked: asked{portions: c.portions}, object: variant.Object{
			Key:  store.Key{Group: c.group, Resource: c.resource},
			Body: []byte(`{"apiVersion":"v1","kind":"X","metadata":{"annotations":{"a":"b"}},"spec":` + c.spec + `}`)}}
		out, err := r.at("one")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var doc struct {
			Metadata struct{ Annotations map[string]string }
			Spec     json.RawMessage
		}
		if err := json.Unmarshal(out.Body, &doc); err != nil || string(doc.Spec) != c.want ||
			len(doc.Metadata.Annotations) != 1 {
			t.Errorf("%s: %s, %v", name, out.Body, err)
		}
	}
}
