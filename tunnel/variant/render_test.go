package variant

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is one file of testdata: an object, Customizers, values, and what becomes of them.
type golden struct {
	Group      string            `json:"group,omitempty"`
	Resource   string            `json:"resource"`
	Namespace  map[string]string `json:"namespaceLabels,omitempty"`
	Values     Values            `json:"values"`
	Customizer []json.RawMessage `json:"customizers"`
	Object     json.RawMessage   `json:"object"`
	Want       json.RawMessage   `json:"want,omitempty"`
	By         []string          `json:"by,omitempty"`
	Matched    []string          `json:"matched,omitempty"`
	Error      string            `json:"error,omitempty"`
	Reason     string            `json:"reason,omitempty"`
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := json.Unmarshal(b, &g); err != nil {
				t.Fatal(err)
			}
			was := g
			g.run(t)
			if *update {
				b, err := json.MarshalIndent(g, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f, append(b, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, want := fmt.Sprint(g.By, g.Matched, g.Error, g.Reason), fmt.Sprint(was.By, was.Matched, was.Error, was.Reason)
			if got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			if a, b := canon(t, g.Want), canon(t, was.Want); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

func canon(t *testing.T, b []byte) string {
	if len(b) == 0 {
		return ""
	}
	v, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(encode(v))
}

// run fills in what becomes of the object.
func (g *golden) run(t *testing.T) {
	g.Want, g.By, g.Matched, g.Error, g.Reason = nil, nil, nil, "", ""
	var all []*Customizer
	for _, raw := range g.Customizer {
		c, problems := Parse(raw)
		if len(problems) > 0 {
			var texts []string
			for _, p := range problems {
				texts = append(texts, p.Error())
			}
			g.Error = strings.Join(texts, "\n")
			return
		}
		all = append(all, c)
	}
	var head struct {
		Metadata struct{ Name, Namespace string }
	}
	if err := json.Unmarshal(g.Object, &head); err != nil {
		t.Fatal(err)
	}
	o := Object{Key: store.Key{Space: "s", Group: g.Group, Resource: g.Resource, Namespace: head.Metadata.Namespace,
		Name: head.Metadata.Name}, Body: g.Object, NamespaceLabels: func() map[string]string { return g.Namespace }}
	out, err := NewSet(all...).Explain(o, g.Values)
	g.By, g.Matched = out.By, out.Matched
	if err != nil {
		g.Error = err.Error()
		g.Reason = err.(*Error).Reason()
		if string(out.Body) != string(g.Object) {
			t.Error("a failure does not leave the base")
		}
		return
	}
	if len(out.By) == 0 && string(out.Body) != string(g.Object) {
		t.Error("nobody changed the object, and it is another one")
	}
	g.Want = out.Body
	again, err := NewSet(all...).Render(o, g.Values)
	if err != nil || string(again.Body) != string(out.Body) {
		t.Errorf("rendered again it is another one: %v", err)
	}
	for _, c := range out.Changes {
		if c.Was == c.Is || c.Path == "" {
			t.Errorf("a change that is none: %v", c)
		}
	}
	if len(out.By) > 0 && len(out.Changes) == 0 {
		t.Error("no changes are told")
	}
}
