package variant

import (
	"encoding/json"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

const baseOfTemplates = `{"metadata":{"name":"web"},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{
	"containers":[{"name":"app","image":"docker.io/shop/app:v1","resources":{"limits":{"cpu":"1"}}},{"name":"side","image":"i"}]}}}}`

func varied(t *testing.T, k store.Key, rule string) map[string]any {
	t.Helper()
	c, problems := Parse([]byte(`{"metadata":{"name":"c"},"spec":{"objects":[{}],"rules":[` + rule + `]}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := NewSet(c).Render(Object{Key: k, Body: []byte(baseOfTemplates)}, Values{Name: "paris"})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := decode(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any)
}

func annotationOf(doc map[string]any) string {
	text, _ := doc["metadata"].(map[string]any)["annotations"].(map[string]any)[BaseAnnotation].(string)
	return text
}

// TestBaseOfATemplate: what a target keeps of a template, with its defaults, becomes what the space had.
func TestBaseOfATemplate(t *testing.T) {
	deployment := store.Key{Space: "s", Group: "apps", Resource: "deployments", Namespace: "n", Name: "web"}
	before, err := decode([]byte(baseOfTemplates))
	if err != nil {
		t.Fatal(err)
	}
	want := string(encode(templateOf(deployment, before.(map[string]any))))
	for name, rule := range map[string]string{
		"an image":          `{"images":[{"registry":"registry.{{ .name }}"}]}`,
		"a variable":        `{"env":[{"name":"SITE","value":"{{ .name }}","containers":["app"]}]}`,
		"a field taken off": `{"patches":[{"op":"remove","path":"/spec/template/spec/containers/0/resources"}]}`,
		"a container more":  `{"merge":{"spec":{"template":{"spec":{"containers":[{"name":"more","image":"m"}]}}}}}`,
		"an annotation":     `{"merge":{"spec":{"template":{"metadata":{"annotations":{"site":"{{ .name }}"}}}}}}`,
	} {
		doc := varied(t, deployment, rule)
		template, said := templateOf(deployment, doc), annotationOf(doc)
		if string(encode(template)) == want || said == "" {
			t.Errorf("%s: nothing differs, or nobody says it: %q", name, said)
		}
		for _, c := range template["spec"].(map[string]any)["containers"].([]any) {
			c.(map[string]any)["terminationMessagePath"] = "/dev/termination-log" // a default
		}
		if !Base(template, said) {
			t.Errorf("%s: not restored by %s", name, said)
		}
		got := strings.ReplaceAll(string(encode(template)), `,"terminationMessagePath":"/dev/termination-log"`, "")
		if got = strings.ReplaceAll(got, `"metadata":{"annotations":{},`, `"metadata":{`); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	doc := varied(t, deployment, `{"images":[{"registry":"r"}]}`)
	template, said := templateOf(deployment, doc), annotationOf(doc)
	template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "changed/by:somebody"
	other := string(encode(template))
	if Base(template, said) || Base(template, "nonsense") || string(encode(template)) != other {
		t.Error("what somebody else has changed is taken for a Customizer's")
	}
	for resource, rule := range map[string]string{
		"deployments": `{"merge":{"spec":{"replicas":2}}}`, "jobs": `{"images":[{"registry":"r"}]}`,
	} {
		k := deployment
		if k.Resource = resource; resource == "jobs" {
			k.Group = "batch"
		}
		if said := annotationOf(varied(t, k, rule)); said != "" {
			t.Errorf("%s, of which nothing is kept, says %s", resource, said)
		}
	}
	long, _ := json.Marshal(strings.Repeat("x", maxBase))
	rule := `{"patches":[{"op":"add","path":"/spec/template/metadata/annotations","value":{"a":` + string(long) + `}}]}`
	if said := annotationOf(varied(t, deployment, rule)); said != "" {
		t.Errorf("%d bytes", len(said))
	}
}
