package summary

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

var update = flag.Bool("update", false, "write the golden files")

// kindsUnderTest has every typed kind and one that nobody knows.
func kindsUnderTest() []store.Key {
	out := []store.Key{{Group: "example.org", Resource: "widgets"}}
	for id := range typed {
		group, resource, _ := strings.Cut(id, "/")
		out = append(out, store.Key{Group: group, Resource: resource})
	}
	return out
}

// anyStatus draws a status with every field of the kind, in all its rules, and others.
func anyStatus(t *rapid.T, k store.Key, label string) map[string]any {
	s := map[string]any{}
	fields := []string{"observedGeneration", "conditions", "other", "replicas", "phase"}
	for f := range typed[k.Group+"/"+k.Resource] {
		fields = append(fields, f)
	}
	for _, f := range fields {
		if !rapid.Bool().Draw(t, label+f) {
			continue
		}
		switch ruleOf(k, f) {
		case sum, counted, least:
			s[f] = float64(rapid.IntRange(0, 5).Draw(t, label+f+"n"))
		case earliest, latest, last:
			s[f] = fmt.Sprintf("2026-01-0%dT00:00:00Z", rapid.IntRange(1, 4).Draw(t, label+f+"t"))
		case severest:
			s[f] = rapid.SampledFrom([]string{"Pending", "Running", "Failed", "Odd", "Bound"}).Draw(t, label+f+"p")
		case worst:
			s[f] = anyConditions(t, k, label)
		case containers:
			s[f] = anyContainers(t, label+f)
		case union:
			s[f] = []any{float64(rapid.IntRange(0, 3).Draw(t, label+f+"e"))}
		case balancer:
			s[f] = map[string]any{
				"ingress": []any{
					map[string]any{"ip": fmt.Sprint("10.0.0.", rapid.IntRange(1, 3).Draw(t, label+f+"i"))},
				},
			}
		default:
			s[f] = rapid.SampledFrom([]any{"x", "y", 1.0, map[string]any{"z": 1.0}}).Draw(t, label+f+"v")
		}
	}
	return s
}

func anyContainers(t *rapid.T, label string) (out []any) {
	for _, name := range []string{"app", "proxy"} {
		if !rapid.Bool().Draw(t, label+name) {
			continue
		}
		out = append(out, map[string]any{"name": name, "ready": rapid.Bool().Draw(t, label+name+"r"),
			"restartCount": float64(rapid.IntRange(0, 2).Draw(t, label+name+"n")),
			"state": rapid.SampledFrom([]map[string]any{{"running": map[string]any{}},
				{"waiting": map[string]any{"reason": "CrashLoopBackOff"}}, {"waiting": map[string]any{}},
				{"terminated": map[string]any{"exitCode": 1.0}}}).Draw(t, label+name+"s")})
	}
	return out
}

func anyConditions(t *rapid.T, k store.Key, label string) []any {
	var out []any
	types := []string{"Available", "ReplicaFailure", "skerry.dev/Synced"}
	if isJob(k) {
		types = append(types, "Complete", "Failed", "FailureTarget")
	}
	for _, typ := range types {
		if rapid.Bool().Draw(t, label+typ) {
			out = append(out, map[string]any{"type": typ,
				"status": rapid.SampledFrom([]string{"True", "False", "Unknown"}).Draw(t, label+typ+"s"),
				"reason": rapid.SampledFrom([]string{"A", "B"}).Draw(t, label+typ+"r"),
				"lastTransitionTime": fmt.Sprintf(
					"2026-01-0%dT00:00:00Z",
					rapid.IntRange(1, 2).Draw(t, label+typ+"t"),
				)})
		}
	}
	return out
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	for _, k := range kindsUnderTest() {
		t.Run(k.Group+"_"+k.Resource, rapid.MakeCheck(func(t *rapid.T) {
			a, b, c := anyStatus(t, k, "a"), anyStatus(t, k, "b"), anyStatus(t, k, "c")
			d := Division(rapid.Bool().Draw(t, "shares"))
			left, right := Merge(k, d, Merge(k, d, a, b), c), Merge(k, d, a, Merge(k, d, b, c))
			if x, y := string(encode(left)), string(encode(right)); x != y {
				t.Fatalf("(a+b)+c = %s\na+(b+c) = %s", x, y)
			}
			if x, y := string(encode(Merge(k, d, a, b))), string(encode(Merge(k, d, b, a))); x != y {
				t.Fatalf("a+b = %s\nb+a = %s", x, y)
			}
		}))
	}
}

// What many targets say is the same as what each of them says in turn, whatever of it is merged once.
func TestMergeAllIsMergeOfEach(t *testing.T) {
	for _, k := range kindsUnderTest() {
		t.Run(k.Group+"_"+k.Resource, rapid.MakeCheck(func(t *rapid.T) {
			kinds := []map[string]any{unreported(k), anyStatus(t, k, "a"), anyStatus(t, k, "b")}
			at := placement.Located{Key: k, Divided: rapid.Bool().Draw(t, "shares")}
			var reports []*store.Report
			var want map[string]any
			for i, n := range rapid.SliceOfN(rapid.IntRange(0, 2), 2, 8).Draw(t, "targets") {
				r := &store.Report{}
				if n > 0 {
					r.Status = encode(kinds[n])
				} else if rapid.Bool().Draw(t, "silent") {
					r = nil
				}
				reports = append(reports, r)
				if i == 0 {
					want = kinds[n]
				} else {
					want = Merge(k, Division(at.Divided), want, kinds[n])
				}
			}
			got, err := mergeAll(at, reports)
			if err != nil {
				t.Fatal(err)
			}
			if x, y := string(encode(got)), string(encode(want)); x != y {
				t.Fatalf("all at once %s\none by one %s", x, y)
			}
		}))
	}
}

// Each file has a kind, the statuses of targets and what they are together.
func TestMergeGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/merge/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var g struct {
				Group    string           `json:"group"`
				Resource string           `json:"resource"`
				Statuses []map[string]any `json:"statuses"`
				Want     map[string]any   `json:"want"`
			}
			if err := yaml.UnmarshalStrict(raw, &g); err != nil {
				t.Fatal(err)
			}
			k := store.Key{Group: g.Group, Resource: g.Resource}
			got := g.Statuses[0]
			for _, s := range g.Statuses[1:] {
				got = Merge(k, Copies, got, s)
			}
			if *update {
				g.Want = got
				b, err := yaml.Marshal(g)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f, b, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			x, _ := json.MarshalIndent(got, "", " ")
			y, _ := json.MarshalIndent(g.Want, "", " ")
			if string(x) != string(y) {
				t.Errorf("got %s\nwant %s", x, y)
			}
		})
	}
}
