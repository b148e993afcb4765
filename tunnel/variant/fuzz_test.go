package variant

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

// FuzzTemplate: a text is refused, or filled in; what has no expression stays as it is.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"", "plain", "{{ .name }}", `a{{.labels.a/b | default "x" | lower}}b{{ "{{" }}`, "{{ .labels.n | int }}",
		"{{", "}}", "{{ | }}", `{{ .name | default "a\"b" | quote }}`, "{{ .properties. }}",
	} {
		f.Add(s)
	}
	v := &Values{Name: "paris", Labels: map[string]string{"n": "5", "a/b": "C"}}
	f.Fuzz(func(t *testing.T, text string) {
		tp, err := parseTemplate(text)
		if err != nil {
			return
		}
		out, err := tp.value(v)
		if err == nil && !strings.Contains(text, "{{") && out != text {
			t.Errorf("%q became %q", text, out)
		}
		if s, ok := out.(string); ok && len(s) > 2*len(text)+MaxExpressions*64 {
			t.Errorf("%d bytes became %d", len(text), len(s))
		}
	})
}

// FuzzRender: whatever a Customizer says, it is refused, fails, or leaves what it may not change,
// within the limits, and the same every time.
func FuzzRender(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(b, &g); err != nil {
			f.Fatal(err)
		}
		for _, c := range g.Customizer {
			f.Add([]byte(c), []byte(g.Object))
		}
	}
	k := store.Key{Space: "s", Group: "apps", Resource: "deployments", Namespace: "web", Name: "shop"}
	values := Values{Name: "paris", Labels: map[string]string{"region": "eu"}, Properties: map[string]string{"p": "q"}}
	f.Fuzz(func(t *testing.T, customizer, object []byte) {
		var o map[string]any
		if json.Unmarshal(object, &o) != nil || o == nil {
			return
		}
		if _, ok := o["metadata"].(map[string]any); !ok {
			return
		}
		c, problems := Parse(customizer)
		if (c == nil) != (len(problems) > 0) || len(problems) > maxProblems {
			t.Fatalf("%v with %d problems", c, len(problems))
		}
		if c == nil {
			return
		}
		set, in := NewSet(c), Object{Key: k, Body: object}
		out, err := set.Render(in, values)
		again, err2 := set.Explain(in, values)
		if string(out.Body) != string(again.Body) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("two renderings differ: %v, %v", err, err2)
		}
		var failed *Error
		if err != nil && (!errors.As(err, &failed) || string(out.Body) != string(object)) {
			t.Fatalf("it fails with %v", err)
		}
		if len(out.Body) > max(len(object), store.MaxBodyBytes) {
			t.Fatalf("%d bytes", len(out.Body))
		}
		if err != nil || len(out.By) == 0 {
			return
		}
		a, _ := decode(object)
		b, decodeErr := decode(out.Body)
		if decodeErr != nil {
			t.Fatal(decodeErr)
		}
		was, is := a.(map[string]any), b.(map[string]any)
		for _, doc := range []map[string]any{was, is} {
			if notes, ok := doc["metadata"].(map[string]any)["annotations"].(map[string]any); ok {
				delete(notes, Annotation)
				delete(notes, BaseAnnotation)
			}
		}
		if err := fixedOf(was).check(is); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzShare: a base is refused, stays as it is, or has a number of replicas and no word of the shares
// of others; the same every time.
func FuzzShare(f *testing.F) {
	for _, s := range []string{
		`{"metadata":{"annotations":{"skerry.dev/shares":"{\"paris\":2}"}},"spec":{"replicas":5}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"{}"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"{\"paris\":-1}"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"{}"}}}`, `{"skerry.dev/shares":1}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, base []byte) {
		out, divided, err := Share(base, "paris")
		if !divided {
			if string(out) != string(base) {
				t.Errorf("%q became %q", base, out)
			}
			return
		}
		again, twice, againErr := Share(out, "paris")
		if err != nil || twice || againErr != nil && !strings.Contains(againErr.Error(), "decode") || string(again) != string(out) {
			t.Errorf("%q became %q (%v), and then %q (%v)", base, out, err, again, againErr)
		}
		var o struct {
			Spec struct {
				Replicas *uint32 `json:"replicas"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(out, &o); err != nil || o.Spec.Replicas == nil {
			t.Errorf("%q became %q: %v", base, out, err)
		}
	})
}
