package target

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// object decodes an object and its JSON in full.
func object(t testing.TB, text string) (*Object, map[string]any) {
	t.Helper()
	o, whole := &Object{}, map[string]any{}
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	return o, whole
}

// managed is an entry of managedFields.
func managed(manager, operation, fields string) string {
	return fmt.Sprintf(
		`{"manager":%q,"operation":%q,"fieldsType":"FieldsV1","fieldsV1":%s}`,
		manager,
		operation,
		fields,
	)
}

const desired = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",` +
	`"labels":{"app.kubernetes.io/name":"web"},"annotations":{"a":"b"}},
	"spec":{"replicas":3,"paused":null,"strategy":{},"template":{"spec":{"containers":[
		{"name":"c","image":"i","ports":[{"containerPort":80}],"args":["x","y"]},{"name":"d",` +
	`"image":"j"}],"finalizerLike":["one","two"]}}}}`

const whole = `{"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}},"f:annotations":{".":{},` +
	`"f:a":{}}},"f:spec":{"f:replicas":{},"f:strategy":{},
	"f:template":{"f:spec":{"f:finalizerLike":{"v:\"one\"":{},"v:\"two\"":{}},"f:containers":{
		"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:image":{},"f:args":{},` +
	`"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}},
		"k:{\"name\":\"d\"}":{".":{},"f:name":{},"f:image":{}}}}}}}`

func TestLost(t *testing.T) {
	cases := []struct {
		name   string
		ours   string
		others []string
		want   []Loss
	}{
		{"nothing", whole, []string{managed("kubectl", "Update", `{"f:spec":{"f:minReadySeconds":{}}}`)}, nil},
		{
			"a field of others",
			`{"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}},"f:annotations":{"f:a":{}}},"f:spec":{"f:template":{}}}`,
			[]string{managed("hpa", "Update", `{"f:spec":{"f:replicas":{}}}`)},
			[]Loss{{".spec.replicas", "hpa"}},
		},
		{"a label with dots that was removed", `{"f:metadata":{"f:annotations":{"f:a":{}}},"f:spec":{}}`, nil,
			[]Loss{{".metadata.labels[app.kubernetes.io/name]", ""}}},
		{
			"elements of lists",
			`{"f:metadata":{"f:labels":{},"f:annotations":{}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{
				"f:finalizerLike":{"v:\"one\"":{}},
				"f:containers":{"k:{\"name\":\"c\"}":{"f:name":{},"f:args":{},` +
				`"f:ports":{"k:{\"containerPort\":81,\"protocol\":\"TCP\"}":{"f:containerPort":{}}}}}}}}}`,
			[]string{
				managed(
					"edit",
					"Update",
					`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}}}`,
				),
			},
			[]Loss{
				{".spec.template.spec.containers[name=c].image", "edit"},
				{".spec.template.spec.containers[name=c].ports[containerPort=80]", ""},
				{".spec.template.spec.containers[name=d]", ""},
				{".spec.template.spec.finalizerLike[two]", ""},
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			entries := managed(FieldManager, "Apply", c.ours)
			for _, o := range c.others {
				entries += "," + o
			}
			live, _ := object(t, `{"metadata":{"managedFields":[`+entries+`]}}`)
			_, body := object(t, desired)
			if got := live.Lost(body); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
	live, _ := object(t, `{}`)
	_, body := object(t, desired)
	if got := live.Lost(body); len(got) != 5 {
		t.Errorf("without any managed fields: %v", got)
	}
}

func TestOwned(t *testing.T) {
	status := `{"manager":"skerry","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{}}}`
	one, _ := object(t, `{"metadata":{"managedFields":[`+status+","+managed("kubectl", "Update", `{"f:data":{}}`)+`]}}`)
	if one.Owned() != nil || one.OwnedSum() != 0 {
		t.Error("fields of others or of status count as ours")
	}
	two, _ := object(t, `{"metadata":{"managedFields":[`+managed(FieldManager, "Apply", `{"f:data":{}}`)+`]}}`)
	three, _ := object(
		t,
		`{"metadata":{"managedFields":[`+managed(FieldManager, "Apply", `{"f:data":{"f:a":{}}}`)+`,`+status+`]}}`,
	)
	if two.OwnedSum() == 0 || two.OwnedSum() == three.OwnedSum() {
		t.Error("different fields have the same hash")
	}
	four, _ := object(
		t,
		`{"metadata":{"generation":1,"managedFields":[`+managed(
			FieldManager,
			"Apply",
			`{"f:data":{"f:a":{}}}`,
		)+`]},"status":{"x":1}}`,
	)
	five, _ := object(
		t,
		`{"metadata":{"generation":1,"resourceVersion":"9","managedFields":[`+managed(
			FieldManager,
			"Apply",
			`{"f:data":{"f:a":{}}}`,
		)+`,`+status+`]}}`,
	)
	if four.ContentSum() != five.ContentSum() || two.ContentSum() == three.ContentSum() {
		t.Error("the hash of the content depends on status, or does not depend on fields")
	}
}

func TestLeave(t *testing.T) {
	ours := managed(FieldManager, "Apply", whole)
	theirs := managed(FieldManager, "Apply", `{"f:metadata":{"f:name":{}}}`)
	live := `"spec":{"replicas":7,"template":{"spec":{"containers":[{"name":"d","image":"k"},` +
		`{"name":"c","image":"l","args":["z"]}]}}}`
	cases := []struct {
		pointer, owner string
		want           string // what is at the place afterwards, "" for nothing
		bad            bool
	}{
		{"/spec/replicas", ours, "7", false},
		{"/spec/replicas", theirs, "", false},
		{"/spec/missing/deep", ours, "", false},
		{"/spec/template/spec/containers/0/image", ours, `"l"`, false},
		{"/spec/template/spec/containers/1/image", ours, `"k"`, false},
		{"/spec/template/spec/containers/1/image", theirs, "", false},
		{"/spec/template/spec/containers/0/args", ours, `["z"]`, false},
		{"/metadata/labels/app.kubernetes.io~1name", theirs, "", false},
		{"/spec/template/spec/containers/0", ours, "", true},
		{"/spec/template/spec/containers/x/image", ours, "", true},
		{"/spec/template/spec/containers/9/image", ours, "", true},
		{"/metadata/name", ours, "", true},
		{"/metadata/labels", ours, "", true},
		{"/kind", ours, "", true},
		{"spec", ours, "", true},
		{"/", ours, "", true},
	}
	for _, c := range cases {
		o, there := object(t, `{"metadata":{"managedFields":[`+c.owner+`]},`+live+`}`)
		_, body := object(t, desired)
		err := o.Leave(body, there, c.pointer)
		if (err != nil) != c.bad {
			t.Errorf("%s: %v", c.pointer, err)
		}
		if err != nil {
			continue
		}
		if got := at(body, c.pointer); got != c.want {
			t.Errorf("%s: %s, want %s", c.pointer, got, c.want)
		}
	}
}

// at is the JSON at a pointer, "" for nothing.
func at(v any, pointer string) string {
	names, err := parsePointer(pointer)
	if err != nil {
		return err.Error()
	}
	for _, n := range names {
		switch in := v.(type) {
		case map[string]any:
			v = in[n]
		case []any:
			v = in[int(n[0]-'0')]
		default:
			return ""
		}
	}
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Whatever a target says of owners and a policy of fields: nothing panics, and what is left to the
// target is not written otherwise than it is there.
func FuzzLeave(f *testing.F) {
	f.Add(
		desired,
		`{"metadata":{"managedFields":[`+managed(FieldManager, "Apply", whole)+`]},"spec":{"replicas":7}}`,
		"/spec/replicas",
	)
	f.Add(
		desired,
		`{"metadata":{"managedFields":[{"manager":"skerry","operation":"Apply","fieldsV1":{"f:spec":null}}]}}`,
		"/spec/template/spec/containers/0/image",
	)
	f.Fuzz(func(t *testing.T, desired, there, pointer string) {
		live, whole, body := &Object{}, map[string]any{}, map[string]any{}
		if json.Unmarshal([]byte(there), live) != nil || json.Unmarshal([]byte(there), &whole) != nil ||
			json.Unmarshal([]byte(desired), &body) != nil {
			return
		}
		if lost := live.Lost(body); len(lost) > maxLosses {
			t.Errorf("%d losses", len(lost))
		}
		live.OwnedSum()
		live.ContentSum()
		_ = live.Leave(body, whole, pointer)
	})
}
