package collect

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestCompileRefuses(t *testing.T) {
	field := func(f v1alpha1.CombinedField) v1alpha1.StatusCollectorSpec {
		return v1alpha1.StatusCollectorSpec{CombinedFields: []v1alpha1.CombinedField{f}}
	}
	group := func(def string) v1alpha1.StatusCollectorSpec {
		return v1alpha1.StatusCollectorSpec{GroupBy: []v1alpha1.NamedExpression{{Name: "g", Def: def}}}
	}
	for _, tc := range []struct {
		spec v1alpha1.StatusCollectorSpec
		want string
	}{
		{v1alpha1.StatusCollectorSpec{Filter: "obj.status.phase =="}, `spec.filter: .* does not compile.*an expression sees obj`},
		{v1alpha1.StatusCollectorSpec{Filter: "self.x"}, `spec.filter: .*undeclared reference to 'self'`},
		{v1alpha1.StatusCollectorSpec{Filter: "'yes'"}, `spec.filter: "'yes'" is a string; write an expression that is a bool`},
		{group("obj.status.a.map(a, obj.status.b.map(b, obj.status.c.map(c, c + b + a)))"),
			`spec.groupBy\[0\].def: .* may cost .* the limit is 20000; look at fewer lists within lists`},
		{field(v1alpha1.CombinedField{Name: "n", Type: v1alpha1.CombineSum, Subject: "obj..x"}),
			`spec.combinedFields\[0\].subject: `},
		{v1alpha1.StatusCollectorSpec{Select: []v1alpha1.NamedExpression{{Name: "a", Def: "1"}}, OrderBy: "b"},
			`spec.orderBy: there is no column "b"; there are a`},
		{v1alpha1.StatusCollectorSpec{GroupBy: []v1alpha1.NamedExpression{{Name: "a", Def: "1"}},
			CombinedFields: []v1alpha1.CombinedField{{Name: "a", Type: v1alpha1.CombineCount}}}, `two columns have the name "a"`},
	} {
		_, err := compile(tc.spec)
		if err == nil || !matches(tc.want, err.Error()) {
			t.Errorf("%v\nwant %s", err, tc.want)
		}
	}
}

func pod(phase string, restarts int64) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "p", "labels": map[string]any{}},
		"status": map[string]any{"phase": phase, "containerStatuses": []any{map[string]any{"restartCount": restarts}}}}
}

var paris = map[string]any{"name": "paris", "labels": map[string]any{"region": "eu"}}

func TestEvaluate(t *testing.T) {
	spec := v1alpha1.StatusCollectorSpec{
		Filter: "obj.status.phase != 'Succeeded'",
		GroupBy: []v1alpha1.NamedExpression{{Name: "phase", Def: "obj.status.phase"},
			{Name: "region", Def: "target.labels.?region.orValue('none')"}},
		CombinedFields: []v1alpha1.CombinedField{{Name: "n", Type: v1alpha1.CombineCount},
			{Name: "restarts", Type: v1alpha1.CombineSum, Subject: "obj.status.containerStatuses.map(c, c.restartCount).sum()"}},
	}
	p, err := compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	if is := p.evaluate(pod("Running", 3), paris); !reflect.DeepEqual(is,
		&contribution{texts: []string{"Running", "eu"}, numbers: []float64{1, 3}}) {
		t.Errorf("%+v", is)
	}
	if is := p.evaluate(pod("Succeeded", 3), paris); is != nil {
		t.Errorf("filtered: %+v", is)
	}
	is := p.evaluate(map[string]any{"status": map[string]any{}}, paris)
	if is == nil || !matches("spec.filter: no such key: phase", is.failed) {
		t.Errorf("%+v", is)
	}
	odd := pod("Running", 1)
	odd["status"].(map[string]any)["containerStatuses"] = "none"
	if is := p.evaluate(odd, paris); is == nil || !strings.HasPrefix(is.failed, "spec.combinedFields[1].subject: ") {
		t.Errorf("%+v", is)
	}
	odd["status"].(map[string]any)["phase"] = map[string]any{"a": "b"}
	if is := p.evaluate(odd, paris); is == nil || !matches(`spec.groupBy\[0\].def: it is a map; write string`, is.failed) {
		t.Errorf("%+v", is)
	}
	long := pod(strings.Repeat("é", 1000), 1)
	if is := p.evaluate(long, paris); len(is.texts[0]) > maxText+3 || !strings.HasSuffix(is.texts[0], "é...") {
		t.Errorf("%d bytes: %q", len(is.texts[0]), is.texts[0])
	}
}

// What an estimate lets through is still stopped when an object is larger than was thought.
func TestEvaluationIsBounded(t *testing.T) {
	p, err := compile(v1alpha1.StatusCollectorSpec{Filter: "obj.status.a.all(x, obj.status.a.exists(y, y == x))"})
	if err != nil {
		t.Fatal(err)
	}
	var large []any
	for i := range 150 { // far below the limit that Kubernetes has
		large = append(large, int64(i))
	}
	is := p.evaluate(map[string]any{"status": map[string]any{"a": large}}, paris)
	if is == nil || !strings.Contains(is.failed, "cost limit") {
		t.Errorf("%+v", is)
	}
}

// Why a report counts nowhere is kept of each report, and written of one: what a site says in it is cut.
func TestWhyAReportFailsIsBounded(t *testing.T) {
	const lacks = "obj.metadata.labels[obj.status.phase]"
	obj := map[string]any{"metadata": map[string]any{"labels": map[string]any{}},
		"status": map[string]any{"phase": strings.Repeat("x", 1<<20)}}
	for field, spec := range map[string]v1alpha1.StatusCollectorSpec{
		"spec.filter":                    {Filter: lacks + " == 'a'"},
		"spec.select[0].def":             {Select: []v1alpha1.NamedExpression{{Name: "a", Def: lacks}}},
		"spec.combinedFields[0].subject": {CombinedFields: []v1alpha1.CombinedField{{Name: "a", Type: "SUM", Subject: lacks}}},
	} {
		p, err := compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		is := p.evaluate(obj, paris)
		if is == nil || !strings.HasPrefix(is.failed, field+": no such key: xxx") || len(is.failed) > 1<<10 {
			t.Errorf("%s: %v, %d bytes", field, is != nil, len(is.failed))
		}
	}
}

func foldOf(t *testing.T, spec v1alpha1.StatusCollectorSpec, all []*contribution) v1alpha1.CombinedResult {
	t.Helper()
	p, err := compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p.fold("x", slices.Values(all))
}

func TestFold(t *testing.T) {
	var all []*contribution
	for i, reason := range []string{"Running", "CrashLoopBackOff", "Running", "Pending", "Running", "Pending"} {
		n := float64(i)
		all = append(all, &contribution{texts: []string{reason}, numbers: []float64{1, n, n, n, n}})
	}
	var fields []v1alpha1.CombinedField
	for _, kind := range []v1alpha1.CombineType{"COUNT", "SUM", "MIN", "MAX", "AVG"} {
		f := v1alpha1.CombinedField{Name: strings.ToLower(string(kind)), Type: kind, Subject: "1"}
		fields = append(fields, f)
	}
	spec := v1alpha1.StatusCollectorSpec{GroupBy: []v1alpha1.NamedExpression{{Name: "reason", Def: "'x'"}},
		CombinedFields: fields}
	want := [][]string{{"Running", "3", "6", "0", "4", "2"}, {"Pending", "2", "8", "3", "5", "4"},
		{"CrashLoopBackOff", "1", "1", "1", "1", "1"}}
	for range 20 { // in any order
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		is := foldOf(t, spec, all)
		if !reflect.DeepEqual(is.Rows, want) || is.Omitted != 0 ||
			!slices.Equal(is.ColumnNames, []string{"reason", "count", "sum", "min", "max", "avg"}) {
			t.Fatalf("%+v", is)
		}
	}
	spec.Limit, spec.OrderBy = 1, "max"
	if is := foldOf(t, spec, all); is.Omitted != 2 || is.Rows[0][0] != "Pending" {
		t.Errorf("%+v", is)
	}
	spec.Ascending, spec.OrderBy = true, "reason"
	if is := foldOf(t, spec, all); is.Rows[0][0] != "CrashLoopBackOff" {
		t.Errorf("the least first: %+v", is.Rows)
	}
	spec.GroupBy, spec.OrderBy, spec.CombinedFields = nil, "", fields[:2]
	if is := foldOf(t, spec, nil); !reflect.DeepEqual(is.Rows, [][]string{{"0", "0"}}) {
		t.Errorf("of nothing: %+v", is)
	}
}

func TestSelectListsTheWorst(t *testing.T) {
	var all []*contribution
	for i := range 200 {
		all = append(all, &contribution{texts: []string{fmt.Sprint("pod-", i), fmt.Sprint(i % 150)}})
	}
	spec := v1alpha1.StatusCollectorSpec{Limit: 2, OrderBy: "restarts", Select: []v1alpha1.NamedExpression{
		{Name: "pod", Def: "'x'"}, {Name: "restarts", Def: "1"}}}
	if is := foldOf(t, spec, all); !reflect.DeepEqual(is.Rows, [][]string{{"pod-149", "149"}, {"pod-148", "148"}}) ||
		is.Omitted != 198 {
		t.Errorf("%+v", is)
	}
}

// A fold must not depend on the order of what is compared: every three texts are in one order.
func TestCompareTextsIsAnOrder(t *testing.T) {
	texts := []string{"10", "9", "5x", "", "NaN", "-1", "1e3", "a", "Inf", "0x10", "9.0"}
	for _, a := range texts {
		for _, b := range texts {
			if compareTexts(a, b) != -compareTexts(b, a) {
				t.Errorf("%q %q", a, b)
			}
			for _, c := range texts {
				if compareTexts(a, b) < 0 && compareTexts(b, c) < 0 && compareTexts(a, c) >= 0 {
					t.Errorf("%q < %q < %q", a, b, c)
				}
			}
		}
	}
}

// Whatever text somebody writes is refused or can be evaluated. It is no fuzz test, because most of
// what would be instrumented is the library of the language.
func TestAnyTextIsCompiledOrRefused(t *testing.T) {
	parts := []string{"obj", ".status", ".phase", "target.labels", "['a']", "map(x, x)", "(", ")", "1/0", "\x00", " + ",
		"quantity('1Gi')", "'", "[", "]", "{", "}", "?", ":", "has(obj.x)", "-9223372036854775808", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 12).Draw(t, "parts"), "")
		p, err := compile(v1alpha1.StatusCollectorSpec{Select: []v1alpha1.NamedExpression{{Name: "a", Def: text}}})
		if err == nil {
			p.evaluate(pod("Running", 1), paris)
		}
	})
}

func matches(pattern, text string) bool {
	return regexp.MustCompile("(?s)" + pattern).MatchString(text)
}

// What admission says is the field, and then the cause and the fix.
func TestValidateNamesTheField(t *testing.T) {
	if wrong := Validate(v1alpha1.StatusCollectorSpec{Filter: "true"}); wrong != nil {
		t.Errorf("a good one: %v", wrong)
	}
	costly := "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, " +
		"[1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, a*b*c*d*e > 0)))))"
	wrong := Validate(v1alpha1.StatusCollectorSpec{Filter: costly})
	if wrong == nil || wrong.Field != "spec.filter" || !strings.Contains(wrong.Detail, "look at fewer lists within lists") {
		t.Errorf("a costly one: %v", wrong)
	}
}
