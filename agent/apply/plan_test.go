package apply

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
)

var update = flag.Bool("update", false, "write the golden files")

// column is a fact, and what it may be.
type column struct {
	name string
	may  []string
}

var yesNo = []string{"no", "yes"}

// table has a line for what is decided about all combinations of facts. "*" is a fact that decides
// nothing: whatever it is, the answer is the same.
func table(columns []column, decide func(is []int) action) string {
	var out strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&out, "%-*s ", width(c), c.name)
	}
	out.WriteString("\n")
	is := make([]int, len(columns))
	var lines func(from int, text string)
	lines = func(from int, text string) {
		if from == len(columns) {
			fmt.Fprintf(&out, "%s%s\n", text, decide(is))
			return
		}
		c := columns[from]
		if same(columns, is, from, decide) {
			is[from] = 0
			lines(from+1, text+fmt.Sprintf("%-*s ", width(c), "*"))
			return
		}
		for v, word := range c.may {
			is[from] = v
			lines(from+1, text+fmt.Sprintf("%-*s ", width(c), word))
		}
		is[from] = 0
	}
	lines(0, "")
	return out.String()
}

// same reports whether one column decides nothing, whatever those after it are.
func same(columns []column, is []int, which int, decide func(is []int) action) bool {
	at := append([]int(nil), is...)
	var rest func(from int) bool
	rest = func(from int) bool {
		if from == len(columns) {
			at[which] = 0
			want := decide(at)
			for at[which] = range columns[which].may {
				if decide(at) != want {
					return false
				}
			}
			return true
		}
		for at[from] = range columns[from].may {
			if !rest(from + 1) {
				return false
			}
		}
		return true
	}
	return rest(which + 1)
}

func width(c column) int {
	n := len(c.name)
	for _, v := range c.may {
		n = max(n, len(v))
	}
	return n
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at what -update makes of it:\n%s", path, got)
	}
}

var (
	planKinds  = []planKind{kindOther, kindJob, kindPod, kindNamespace, kindDefinition}
	planStates = []planState{stateAbsent, statePresent, stateGone, stateEnded}
	planned    = []column{
		{"state", words(planStates)}, {"same", yesNo}, {"kind", words(planKinds)}, {"stopped", yesNo},
		{"deleting", yesNo}, {"told", yesNo}, {"drifted", yesNo}, {"doubted", yesNo}, {"created", yesNo},
		{"sealed", yesNo}, {"remade", yesNo},
	}
)

func words[T ~string](all []T) (out []string) {
	for _, one := range all {
		out = append(out, string(one))
	}
	return out
}

func factsAt(is []int) facts {
	yes := func(i int) bool { return is[i] == 1 }
	return facts{state: planStates[is[0]], same: yes(1), kind: planKinds[is[2]], stopped: yes(3), deleting: yes(4),
		told: yes(5), drifted: yes(6), doubted: yes(7), created: yes(8), sealed: yes(9), remade: yes(10)}
}

// The table has all combinations of what is known of an object that is desired.
func TestPlan(t *testing.T) {
	golden(t, "plan.txt", table(planned, func(is []int) action { return plan(factsAt(is)) }))
}

// The body of an object that is as desired is not read, so the plan cannot be about its source.
func TestPlanOfWhatIsAsDesiredNeedsNoSource(t *testing.T) {
	eachFacts(func(f facts) {
		f.remade = false
		if do := plan(f); do == actLeave || do == actConfirm {
			f.remade = true
			if other := plan(f); other != do {
				t.Errorf("%+v: %s, and %s from another source", f, do, other)
			}
		}
	})
}

// What must not be written is not: an object of others, one that runs once and went, one that is stopped.
func TestPlanWritesNothingThatItMustNot(t *testing.T) {
	writes := map[action]bool{actCreate: true, actReplace: true, actUpdate: true}
	eachFacts(func(f facts) {
		do := plan(f)
		others := f.state == statePresent && !f.created &&
			(f.kind == kindNamespace && !f.sealed || f.kind == kindDefinition && f.sealed)
		switch {
		case !writes[do]:
		case others:
			t.Errorf("%+v: %s of an object of others", f, do)
		case f.stopped && f.kind == kindPod:
			t.Errorf("%+v: %s of a Pod that must not run", f, do)
		case f.state == stateEnded && !f.remade:
			t.Errorf("%+v: %s of what has ended", f, do)
		case f.state == statePresent && f.deleting:
			t.Errorf("%+v: %s while its deletion may come", f, do)
		case do == actCreate && f.state == statePresent:
			t.Errorf("%+v: %s of what is there", f, do)
		}
	})
}

func eachFacts(visit func(facts)) {
	is := make([]int, len(planned))
	var all func(from int)
	all = func(from int) {
		if from == len(planned) {
			visit(factsAt(is))
			return
		}
		for is[from] = range planned[from].may {
			all(from + 1)
		}
	}
	all(0)
}

// The table has all combinations of what is known of an object that is to go.
func TestPlanRemoval(t *testing.T) {
	at := func(group, resource, namespace, name string) store.Key {
		return store.Key{Space: "s", Group: group, Resource: resource, Namespace: namespace, Name: name}
	}
	objects := []store.Key{
		at("", "configmaps", "n", "settings"),
		at("", "serviceaccounts", "n", "default"),
		at("", "configmaps", "n", "kube-root-ca.crt"),
		at("rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin"),
		at("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "checks"),
		at("apiextensions.k8s.io", "customresourcedefinitions", "", "widgets.example.com"),
		at("", "namespaces", "", "shop"),
		at("", "namespaces", "", "kube-system"),
	}
	hows := []store.Removal{store.RemoveDelete, store.RemoveKeepDependents, store.RemoveOrphan}
	var names []string
	for _, k := range objects {
		names = append(names, k.Resource+"/"+k.Name)
	}
	columns := []column{{"object", names}, {"source", []string{"unknown", "known"}}, {"created", yesNo},
		{"there", yesNo}, {"sealed", yesNo}, {"how", []string{"Delete", "KeepDependents", "Orphan"}}}
	golden(t, "removal.txt", table(columns, func(is []int) action {
		r := inventory.Record{Created: is[2] == 1}
		if is[1] == 1 {
			r.OriginUID = "origin"
		}
		if is[3] == 1 {
			r.UID = "uid"
		}
		return planRemoval(objects[is[0]], objects[is[0]], r, hows[is[5]], is[4] == 1)
	}))
}
