package placement

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

var update = flag.Bool("update", false, "write the golden files")

// scene is a golden input: a world, rules, and groups with where they are.
type scene struct {
	Targets   []Target                           `json:"targets"`
	Locations map[string]string                  `json:"locations"`
	Offered   string                             `json:"offered"`
	Rules     map[string]v1alpha1.PlacementSpec  `json:"rules"`
	Wishes    map[string]sceneWish               `json:"wishes"`
	Moves     map[string]State                   `json:"moves"`
	Objects   map[string]sceneObject             `json:"objects"`
	Reports   map[string]map[string]store.Report `json:"reports"`
}

type sceneWish struct {
	Names     []string `json:"names"`
	Selectors []string `json:"selectors"`
	Count     int      `json:"count"`
	Current   []string `json:"current"`
}

type sceneObject struct {
	Key             store.Key         `json:"key"`
	Labels          map[string]string `json:"labels"`
	NamespaceLabels map[string]string `json:"namespaceLabels"`
}

// outcome is what comes out, beside it in want.yaml.
type outcome struct {
	Chosen   map[string]Choice              `json:"chosen,omitempty"`
	Steps    map[string]Step                `json:"steps,omitempty"`
	Resolved map[string]resolved            `json:"resolved,omitempty"`
	Progress map[string]map[string]Progress `json:"progress,omitempty"`
}

type resolved struct {
	Class  Class    `json:"class"`
	By     string   `json:"by"`
	Losers []string `json:"losers,omitempty"`
}

func (s scene) play(t *testing.T) outcome {
	w := World{Targets: s.Targets}
	for name, sel := range s.Locations {
		w.Locations = append(w.Locations, Location{name, selector(t, sel)})
	}
	if s.Offered != "" {
		w.Offered = selector(t, s.Offered)
	}
	out := outcome{Chosen: map[string]Choice{}, Steps: map[string]Step{}, Resolved: map[string]resolved{},
		Progress: map[string]map[string]Progress{}}
	for name, sw := range s.Wishes {
		wish := Wish{Names: sw.Names, Count: sw.Count}
		for _, sel := range sw.Selectors {
			wish.Selectors = append(wish.Selectors, selector(t, sel))
		}
		out.Chosen[name] = Choose(wish, w, sw.Current)
	}
	for name, m := range s.Moves {
		out.Steps[name] = Next(m)
	}
	var rules []*Rule
	for name, spec := range s.Rules {
		r, err := Compile(name, "2026-01-01T00:00:0"+name[len(name)-1:]+"Z", spec)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	Sort(rules)
	for name, o := range s.Objects {
		winner, losers := Resolve(rules, Subject{o.Key, labels.Set(o.Labels), labels.Set(o.NamespaceLabels)})
		r := resolved{Class: ClassOf(o.Key.Group, o.Key.Resource)}
		if winner != nil {
			r.By = winner.Name
		}
		for _, l := range losers {
			r.Losers = append(r.Losers, l.Name)
		}
		out.Resolved[name] = r
	}
	for kind, reports := range s.Reports {
		k, err := store.DecodeKey("s/" + kind + "/ns/x")
		if err != nil {
			t.Fatal(err)
		}
		out.Progress[kind] = map[string]Progress{}
		for name, r := range reports {
			out.Progress[kind][name] = Judge(k, r)
		}
	}
	return out
}

func selector(t *testing.T, text string) labels.Selector {
	if text == "*" {
		return labels.Everything()
	}
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, in := range dirs {
		t.Run(filepath.Base(filepath.Dir(in)), func(t *testing.T) {
			raw, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			var s scene
			if err := yaml.UnmarshalStrict(raw, &s); err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(s.play(t))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(filepath.Dir(in), "want.yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
