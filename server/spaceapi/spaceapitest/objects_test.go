package spaceapitest

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestMerge has the examples of RFC 7386's appendix whose documents are objects.
func TestMerge(t *testing.T) {
	for _, tc := range []struct{ obj, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		obj := decode(t, tc.obj)
		Merge(obj, decode(t, tc.patch))
		if !reflect.DeepEqual(obj, decode(t, tc.want)) {
			t.Errorf("%s with %s is %v, want %s", tc.obj, tc.patch, obj, tc.want)
		}
	}
}

func TestCloneIsDeep(t *testing.T) {
	obj := map[string]any{"spec": map[string]any{"replicas": 1}}
	c := Clone(obj)
	if c["spec"].(map[string]any)["replicas"] != float64(1) {
		t.Errorf("the copy is %v", c)
	}
	c["spec"].(map[string]any)["replicas"] = 2
	if obj["spec"].(map[string]any)["replicas"] != 1 {
		t.Error("the copy shares a map with the object")
	}
}

func decode(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
