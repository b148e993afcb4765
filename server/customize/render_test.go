package customize

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, in := range inputs {
		t.Run(filepath.Base(filepath.Dir(in)), func(t *testing.T) {
			obj, before := load(t, in), load(t, in)
			origin := Origin{Space: "shop", Placement: "pl", UID: "u-1"}
			got, err := Render(obj, origin)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(obj, before) {
				t.Error("Render changed the object, which is shared")
			}
			var again map[string]any
			if err := json.Unmarshal(got, &again); err != nil {
				t.Fatal(err)
			}
			twice, err := Render(again, origin)
			if err != nil {
				t.Fatal(err)
			}
			if string(twice) != string(got) {
				t.Errorf("not idempotent:\n%s\n%s", got, twice)
			}
			compare(t, filepath.Join(filepath.Dir(in), "want.yaml"), got)
		})
	}
}

// TestNobodySaysWhoAnObjectWasAtARelay: a relay takes the identity of what its parent sends for an import.
func TestNobodySaysWhoAnObjectWasAtARelay(t *testing.T) {
	got, err := Render(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c",
		"annotations": map[string]any{"skerry.dev/import": `{"uid":"u-2"}`, "a": "b"}}}, Origin{Space: "shop", UID: "u-1"})
	if err != nil || strings.Contains(string(got), "import") || !strings.Contains(string(got), `"a":"b"`) {
		t.Errorf("%s, %v", got, err)
	}
}

// A relay that has the name of a Service alone passes on which Pods it governs. Nobody else says that.
func TestHostsComeFromAParent(t *testing.T) {
	for name, c := range map[string]struct {
		origin, hosts, want string
	}{
		"a parent":                    {"shop/", "", "db-{0..2}"},
		"a parent, and it knows them": {"shop/", "db-{0..5}", "db-{0..5}"},
		"a user":                      {"", "", ""},
	} {
		notes := map[string]any{"skerry.dev/hosts": "db-{0..2}"}
		if c.origin != "" {
			notes["skerry.dev/origin"] = c.origin
		}
		got, err := Render(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "db",
			"annotations": notes}}, Origin{Space: "shop", UID: "u-1", Reaches: true, Hosts: c.hosts})
		if err != nil || strings.Contains(string(got), "skerry.dev/hosts") != (c.want != "") ||
			!strings.Contains(string(got), c.want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// Who may come in is said by the center alone. A relay passes on what its parent has said of a Service, also where it has
// no Ingress of its own that sends to it.
func TestWhoComesInIsSaidByAParent(t *testing.T) {
	for name, c := range map[string]struct {
		origin  string
		entered bool
		want    bool
	}{
		"a parent":        {"shop/", false, true},
		"an Ingress here": {"", true, true},
		"a user":          {"", false, false},
	} {
		notes := map[string]any{"skerry.dev/entered": "true"}
		if c.origin != "" {
			notes["skerry.dev/origin"] = c.origin
		}
		got, err := Render(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web",
			"annotations": notes}}, Origin{Space: "shop", UID: "u-1", Reaches: true, Entered: c.entered})
		if err != nil || strings.Contains(string(got), "skerry.dev/entered") != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func load(t *testing.T, file string) map[string]any {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := yaml.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func compare(t *testing.T, file string, got []byte) {
	text, err := yaml.JSONToYAML(got)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestEqualObjectsGiveEqualBytes(t *testing.T) {
	origin := Origin{Space: "shop", UID: "u-1"}
	obj := load(t, "testdata/deployment/in.yaml")
	first, err := Render(obj, origin)
	if err != nil {
		t.Fatal(err)
	}
	meta := obj["metadata"].(map[string]any)
	meta["resourceVersion"], meta["generation"] = "99", 9
	meta["annotations"].(map[string]any)["skerry.dev/targets"] = "elsewhere"
	obj["status"] = map[string]any{"replicas": 0}
	second, err := Render(obj, origin)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("bookkeeping changed the bytes:\n%s\n%s", first, second)
	}
}

func BenchmarkRender(b *testing.B) {
	raw, err := os.ReadFile("testdata/deployment/in.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var obj map[string]any
	if err := yaml.Unmarshal(raw, &obj); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(obj, Origin{Space: "shop", UID: "u-1"}); err != nil {
			b.Fatal(err)
		}
	}
}
