package placement

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

var update = flag.Bool("update", false, "write the golden files")

// scene is a golden input: a world, rules and wishes.
type scene struct {
	Targets   []Target                           `json:"targets"`
	Locations map[string]string                  `json:"locations"`
	Offered   string                             `json:"offered"`
	Rules     map[string]v1alpha1.PlacementSpec  `json:"rules"`
	Wishes    map[string]sceneWish               `json:"wishes"`
	Objects   map[string]sceneObject             `json:"objects"`
	Reports   map[string]map[string]store.Report `json:"reports"`
	// Served is what targets report of their APIs, Placements are the others of the space, and Now
	// is the time.
	Served     map[string]v1alpha1.ServedAPIs `json:"served"`
	Placements map[string]sceneNeighbour      `json:"placements"`
	Now        time.Time                      `json:"now"`
}

type sceneNeighbour struct {
	Labels  map[string]string            `json:"labels"`
	Targets []string                     `json:"targets"`
	Avoids  []v1alpha1.PlacementAffinity `json:"avoids"`
}

type sceneWish struct {
	Names     []string `json:"names"`
	Selectors []string `json:"selectors"`
	Count     int      `json:"count"`
	Current   []string `json:"current"`
	// Clause is the whole of a Placement's targets instead, and Labels are the Placement's.
	Clause *v1alpha1.TargetClause `json:"clause"`
	Labels map[string]string      `json:"labels"`
	// Needs are the resources of the objects. Explain writes the verdict on every target.
	Needs   []string `json:"needs"`
	Explain bool     `json:"explain"`
}

// chosen is a Choice as the golden files have it.
type chosen struct {
	Targets  []string `json:"targets"`
	Reason   string   `json:"reason,omitempty"`
	Message  string   `json:"message,omitempty"`
	Left     []string `json:"left,omitempty"`
	Again    string   `json:"again,omitempty"`
	Verdicts []string `json:"verdicts,omitempty"`
	Refused  []string `json:"refused,omitempty"`
}

type sceneObject struct {
	Key             store.Key         `json:"key"`
	Labels          map[string]string `json:"labels"`
	NamespaceLabels map[string]string `json:"namespaceLabels"`
}

// outcome is what comes out, beside it in want.yaml.
type outcome struct {
	Chosen   map[string]chosen              `json:"chosen,omitempty"`
	Resolved map[string]resolved            `json:"resolved,omitempty"`
	Progress map[string]map[string]Progress `json:"progress,omitempty"`
}

type resolved struct {
	Class  Class    `json:"class"`
	By     string   `json:"by"`
	Losers []string `json:"losers,omitempty"`
}

func (s scene) play(t *testing.T) outcome {
	w := s.world(t)
	out := outcome{Chosen: map[string]chosen{}, Resolved: map[string]resolved{},
		Progress: map[string]map[string]Progress{}}
	for name, sw := range s.Wishes {
		out.Chosen[name] = s.choose(t, w, sw)
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

func (s scene) world(t *testing.T) World {
	w := World{Targets: s.Targets, Now: s.Now}
	for i := range w.Targets {
		if served, ok := s.Served[w.Targets[i].Name]; ok {
			w.Targets[i].Facts.APIs = NewAPIs(&served)
		}
	}
	for name, sel := range s.Locations {
		w.Locations = append(w.Locations, Location{name, selector(t, sel)})
	}
	if s.Offered != "" {
		w.Offered = selector(t, s.Offered)
	}
	for name, n := range s.Placements {
		avoiding, wrong := compileTargets(field.NewPath("avoids"), v1alpha1.TargetClause{AntiAffinity: n.Avoids})
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		w.Neighbours = append(w.Neighbours,
			Neighbour{Name: name, Labels: n.Labels, Targets: n.Targets, Avoids: avoiding.Constraints.Avoids()})
	}
	return w
}

func (s scene) choose(t *testing.T, w World, sw sceneWish) (out chosen) {
	wish := Wish{Names: sw.Names, Count: sw.Count}
	for _, sel := range sw.Selectors {
		wish.Selectors = append(wish.Selectors, selector(t, sel))
	}
	if sw.Clause != nil {
		var wrong field.ErrorList
		if wish, wrong = compileTargets(field.NewPath("spec", "targets"), *sw.Clause); len(wrong) > 0 {
			for _, e := range wrong {
				out.Refused = append(out.Refused, e.Error())
			}
			return out
		}
	}
	w.Self = Neighbour{Name: "self", Labels: sw.Labels}
	for _, text := range sw.Needs {
		a, _ := ParseAPI(text)
		w.Needs = append(w.Needs, a)
	}
	c, verdicts := Explain(wish, w, sw.Current)
	if again := Choose(wish, w, c.Targets); !slices.Equal(again.Targets, c.Targets) {
		t.Errorf("%v is not stable: then it is %v", c.Targets, again.Targets)
	}
	out.Targets, out.Reason, out.Message = c.Targets, c.Reason, c.Message
	for _, v := range c.Left {
		out.Left = append(out.Left, v.Target+": "+v.Message)
	}
	if !c.Again.IsZero() {
		out.Again = c.Again.UTC().Format(time.RFC3339)
	}
	for _, v := range verdicts {
		if sw.Explain {
			out.Verdicts = append(out.Verdicts,
				fmt.Sprintf("%s %v %d %s %s", v.Target, v.Chosen, v.Score, v.Filter, v.Message))
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
