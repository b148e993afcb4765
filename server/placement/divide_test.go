package placement

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func weightsOf(numbers ...int64) (out []Weight) {
	for i, n := range numbers {
		out = append(out, Weight{fmt.Sprintf("t%d", i), n})
	}
	return out
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		n       int64
		weights []int64
		want    []int64
	}{
		{5, []int64{1, 1}, []int64{3, 2}},
		{0, []int64{1, 1}, []int64{0, 0}},
		{1, []int64{1, 1, 1}, []int64{1, 0, 0}},
		{10, []int64{3, 1, 1}, []int64{6, 2, 2}},
		// The table of packaging/docs/explanation/placement.md.
		{4, []int64{3, 1, 1, 1}, []int64{2, 1, 1, 0}},
		{5, []int64{3, 1, 1, 1}, []int64{2, 1, 1, 1}},
		{6, []int64{3, 1, 1, 1}, []int64{3, 1, 1, 1}},
		{7, []int64{3, 1, 1, 1}, []int64{4, 1, 1, 1}},
		{8, []int64{3, 1, 1, 1}, []int64{5, 1, 1, 1}},
		{9, []int64{3, 1, 1, 1}, []int64{5, 2, 1, 1}},
		{8, []int64{1, 1, 1, 3}, []int64{2, 1, 1, 4}},
		{7, []int64{0, 1}, []int64{0, 7}},
		{7, []int64{0, 0}, []int64{7, 0}},
		{100, []int64{1000, 1}, []int64{100, 0}},
		{1_000_000_000, []int64{1, 1, 2}, []int64{250_000_000, 250_000_000, 500_000_000}},
	} {
		if got := Divide(c.n, weightsOf(c.weights...)); !slices.Equal(got, c.want) {
			t.Errorf("Divide(%d, %v) = %v, want %v", c.n, c.weights, got, c.want)
		}
	}
	if got := Divide(3, nil); len(got) != 0 {
		t.Errorf("nobody gets %v", got)
	}
}

// Where each target has weight 0 is refused, and not where a target that nobody lists may have weight 1.
func TestSomeTargetHasAWeight(t *testing.T) {
	edge := metav1.LabelSelector{MatchLabels: map[string]string{"tier": "edge"}}
	weight := func(n int32, s *metav1.LabelSelector, names ...string) v1alpha1.TargetWeight {
		return v1alpha1.TargetWeight{Selector: s, Names: names, Weight: n}
	}
	names := v1alpha1.TargetClause{Names: []string{"a", "b"}}
	selects := v1alpha1.TargetClause{Selectors: []metav1.LabelSelector{edge}}
	both := v1alpha1.TargetClause{Names: names.Names, Selectors: selects.Selectors}
	type weights []v1alpha1.TargetWeight
	for name, c := range map[string]struct {
		of      v1alpha1.TargetClause
		weights weights
		wrong   bool
	}{
		"all by names":           {names, weights{weight(0, nil, "a"), weight(0, nil, "b")}, true},
		"all by the selector":    {selects, weights{weight(0, &edge)}, true},
		"all there are":          {both, weights{weight(0, &metav1.LabelSelector{})}, true},
		"names and selectors":    {both, weights{weight(0, &edge), weight(0, nil, "b", "a")}, true},
		"none is left":           {names, weights{weight(0, &metav1.LabelSelector{}), weight(3, nil, "a")}, true},
		"one has a weight":       {names, weights{weight(3, nil, "b"), weight(0, &metav1.LabelSelector{})}, false},
		"one is not listed":      {names, weights{weight(0, nil, "a")}, false},
		"others are selected":    {both, weights{weight(0, nil, "a", "b")}, false},
		"others are named":       {both, weights{weight(0, &edge)}, false},
		"of some of the names":   {names, weights{weight(0, &edge, "a", "b")}, false},
		"of some of the labels":  {selects, weights{weight(0, &edge, "a")}, false},
		"no weights":             {names, nil, false},
		"no targets of its own":  {v1alpha1.TargetClause{}, weights{weight(0, &metav1.LabelSelector{})}, false},
		"selected by other ones": {selects, weights{weight(0, &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}})}, false},
	} {
		spec := v1alpha1.PlacementSpec{Targets: c.of}
		spec.Targets.Replicas, spec.Targets.Division = v1alpha1.ReplicasDivided, &v1alpha1.Division{Weights: c.weights}
		wrong := Validate(spec)
		if (len(wrong) > 0) != c.wrong || c.wrong && wrong[0].Error() != `spec.targets.division.weights: Invalid value: 0: `+
			`all targets have weight 0, so that one gets all replicas: give at least one of them a weight from 1 to 1000` {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}

// naive gives replicas one by one.
func naive(n int64, weights []Weight) []int64 {
	shares := make([]int64, len(weights))
	for ; n > 0; n-- {
		best := 0
		for i := range weights {
			if weights[i].Weight*(2*shares[best]+1) > weights[best].Weight*(2*shares[i]+1) {
				best = i
			}
		}
		shares[best]++
	}
	return shares
}

func drawWeights(t *rapid.T) []Weight {
	return weightsOf(rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 12).Draw(t, "weights")...)
}

// The start that Divide makes at once takes nothing from anybody, and the sum is right.
// TestScalesOfAnAutoscaler: what it may have at all targets together is what it may have, but that each has one.
func TestScalesOfAnAutoscaler(t *testing.T) {
	three := []Weight{{"a", 2}, {"b", 1}, {"c", 1}}
	for name, c := range map[string]struct {
		least, most int64
		is, was     []Weight
		want        string
	}{
		"by weight":               {4, 12, three, nil, "map[a:[2 6] b:[1 3] c:[1 3]]"},
		"fewer than targets":      {1, 2, three, nil, "map[a:[1 1] b:[1 1] c:[1 1]]"},
		"none is allowed":         {0, 4, three, nil, "map[a:[0 2] b:[0 1] c:[0 1]]"},
		"one of weight 0":         {2, 8, []Weight{{"a", 1}, {"b", 0}}, nil, "map[a:[2 8] b:[1 1]]"},
		"while it moves":          {2, 8, []Weight{{"a", 1}, {"b", 1}}, []Weight{{"a", 1}, {"c", 3}}, "map[a:[1 4] b:[1 4] c:[1 6]]"},
		"the least is all":        {8, 8, three, nil, "map[a:[4 4] b:[2 2] c:[2 2]]"},
		"what nobody can mean so": {9, 3, three, nil, "map[a:[1 1] b:[1 1] c:[1 1]]"},
	} {
		if got := fmt.Sprint(NewDivision(c.is, c.was).Scales(c.least, c.most)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSharesOfTheAutoscaled: each target with a weight begins with one, unless the workload is stopped. What a budget
// keeps is kept in the sum, and it lets one Pod of each target go, unless it lets none.
func TestSharesOfTheAutoscaled(t *testing.T) {
	d := NewDivision([]Weight{{"a", 2}, {"b", 1}, {"c", 0}}, nil)
	for _, c := range []struct{ name, got, want string }{
		{"one of three", fmt.Sprint(d.Started().Shares(1)), "map[a:1 b:1]"},
		{"stopped", fmt.Sprint(d.Started().Shares(0)), "map[]"},
		{"more than one each", fmt.Sprint(d.Started().Shares(6)), "map[a:4 b:2]"},
		{"without an autoscaler", fmt.Sprint(d.Shares(1)), "map[a:1]"},
		{"kept", fmt.Sprint(d.Least(3)), "map[a:2 b:1 c:0]"},
		{"let go", fmt.Sprint(d.Unavailables(1)), "map[a:1 b:1 c:1]"},
		{"none let go", fmt.Sprint(d.Unavailables(0)), "map[a:0 b:0 c:0]"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	if d.Same(d.Started()) || !d.Started().Same(d.Started()) {
		t.Error("what an autoscaler changes is not told apart")
	}
}

func TestDivideGivesOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, weights := rapid.Int64Range(0, 500).Draw(t, "n"), drawWeights(t)
		got, want, sum := Divide(n, weights), naive(n, weights), int64(0)
		for _, s := range got {
			sum += s
		}
		if sum != n || !slices.Equal(got, want) && slices.ContainsFunc(weights, func(w Weight) bool { return w.Weight > 0 }) {
			t.Fatalf("Divide(%d, %v) = %v, want %v", n, weights, got, want)
		}
	})
}

// One replica more goes to one target, and takes none from another.
func TestDivideIsStableUnderScaling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, weights := rapid.Int64Range(0, 10_000).Draw(t, "n"), drawWeights(t)
		before, after, grown := Divide(n, weights), Divide(n+1, weights), 0
		for i := range before {
			if after[i] < before[i] || after[i] > before[i]+1 {
				t.Fatalf("%d replicas are %v, one more are %v", n, before, after)
			}
			if after[i] > before[i] {
				grown++
			}
		}
		if grown != 1 {
			t.Fatalf("%d replicas are %v, one more are %v", n, before, after)
		}
	})
}

// A target that goes takes no replica away from those that stay.
func TestDivideIsStableWhenATargetGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, weights := rapid.Int64Range(0, 10_000).Draw(t, "n"), drawWeights(t)
		gone := rapid.IntRange(0, len(weights)-1).Draw(t, "gone")
		rest := slices.Delete(slices.Clone(weights), gone, gone+1)
		if !slices.ContainsFunc(rest, func(w Weight) bool { return w.Weight > 0 }) {
			return
		}
		before := slices.Delete(Divide(n, weights), gone, gone+1)
		for i, s := range Divide(n, rest) {
			if s < before[i] {
				t.Fatalf("without %s of %v the shares of %d are less: %v, %v", weights[gone].Target, weights, n, before, s)
			}
		}
	})
}

// In a move nobody loses a replica before it has ended, and after it the sum is right.
func TestSharesInAMove(t *testing.T) {
	from, to := weightsOf(1, 1), []Weight{{"t1", 1}, {"new", 1}}
	moving := NewDivision(to, from).Shares(5)
	if want := map[string]int64{"t0": 3, "t1": 3, "new": 2}; !maps.Equal(moving, want) {
		t.Errorf("in the move the shares are %v, want %v", moving, want)
	}
	if got, want := NewDivision(to, nil).Shares(5), (map[string]int64{"t1": 3, "new": 2}); !maps.Equal(got, want) {
		t.Errorf("after it they are %v, want %v", got, want)
	}
}

func TestBasis(t *testing.T) {
	eu := labels.Set{"region": "eu"}
	b, err := compileBasis(&v1alpha1.Division{Weights: []v1alpha1.TargetWeight{
		{Names: []string{"paris"}, Weight: 7},
		{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": "eu"}}, Weight: 3},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		of   labels.Set
		want int64
	}{{"paris", eu, 7}, {"oslo", eu, 3}, {"nyc", nil, 1}} {
		if got := b.Of(c.name, c.of, nil); got != (Weight{c.name, c.want}) {
			t.Errorf("%s has %v, want %d", c.name, got, c.want)
		}
	}
	b, err = compileBasis(&v1alpha1.Division{By: v1alpha1.DivisionByAllocatable})
	if err != nil {
		t.Fatal(err)
	}
	cpu := func(text string) int64 {
		return b.Of("x", nil, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}).Weight
	}
	if cpu("100") != cpu("101") {
		t.Error("a hundredth more makes a difference")
	}
	if ratio := float64(cpu("64")) / float64(cpu("8")); ratio < 6.5 || ratio > 9.5 {
		t.Errorf("64 cores count %.1f times as much as 8", ratio)
	}
	if b.Of("x", nil, nil).Weight != 0 {
		t.Error("a target that does not say what it has counts")
	}
	if cpu("100000000") > maxWeight {
		t.Error("a weight is not bounded")
	}
}
