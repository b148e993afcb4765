package placement

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// The order of the levels: whoever of these exists and comes first decides.
func TestLevels(t *testing.T) {
	rule := func(name string, p v1alpha1.Precedence, priority int32) *Rule {
		r, err := Compile(
			name,
			"2026-01-01T00:00:00Z",
			v1alpha1.PlacementSpec{Priority: priority, Precedence: p,
				Objects: []v1alpha1.ObjectClause{
					{},
				}, Targets: v1alpha1.TargetClause{Names: []string{"a"}}},
		)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	override := rule("root.must", v1alpha1.PrecedenceOverride, -5)
	own := rule("mine", v1alpha1.PrecedenceOverride, 0) // the word means nothing without the name
	fallback := rule("root.usual", v1alpha1.PrecedenceDefault, 100)
	for _, c := range []struct {
		rules               []*Rule
		labelled, namespace bool
		want                *Rule
	}{
		{[]*Rule{fallback, own, override}, true, true, override},
		{[]*Rule{fallback, own}, true, true, nil},
		{[]*Rule{fallback, own}, false, true, own},
		{[]*Rule{fallback}, false, true, nil},
		{[]*Rule{fallback}, true, false, nil},
		{[]*Rule{fallback}, false, false, fallback},
		{[]*Rule{fallback, own}, false, false, own},
		{nil, false, false, nil},
	} {
		Sort(c.rules)
		subject := Subject{
			Key: store.Key{
				Space:     "s",
				Group:     "apps",
				Resource:  "deployments",
				Namespace: "n",
				Name:      "d",
			},
			Labels:          labels.Set{},
			NamespaceLabels: labels.Set{},
		}
		if got, _ := Decides(c.rules, subject, c.labelled, c.namespace); got != c.want {
			t.Errorf(
				"labelled %v, namespace %v, %s: got %v, want %v",
				c.labelled,
				c.namespace,
				ruleNames(c.rules),
				got,
				c.want,
			)
		}
	}
	rules := []*Rule{fallback, own, override}
	Sort(rules)
	if w, losers := Resolve(rules, Subject{Labels: labels.Set{}, NamespaceLabels: labels.Set{}}); w != override ||
		len(losers) != 0 {
		t.Errorf("rules of other levels conflict: %v", losers)
	}
}

func ruleNames(rules []*Rule) string {
	out := make([]string, 0, len(rules))
	for _, r := range rules {
		out = append(out, r.Name)
	}
	return fmt.Sprint(out)
}
