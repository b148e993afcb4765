package celbound

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
)

// TestComparisonsCost: a comparison of much is charged by all that is compared, in whatever types it is.
func TestComparisonsCost(t *testing.T) {
	many, plain := map[string]any{}, map[string]string{}
	var items []any
	for i := range 5000 {
		k := fmt.Sprint(i)
		many[k], plain[k], items = int64(i), k, append(items, k)
	}
	in := map[string]any{"object": map[string]any{
		"deep": map[string]any{"a": map[string]any{"b": many}}, "texts": map[string]any{"a": plain},
		"list": []any{[]any{items}}, "few": map[string]any{"a": int64(1)}, "text": strings.Repeat("x", 10000),
		"lists": []any{[]any{[]any{items}}},
	}}
	env, err := syntax()
	if err == nil {
		env, err = env.Extend(cel.Variable("object", cel.DynType))
	}
	if err != nil {
		t.Fatal(err)
	}
	for text, least := range map[string]uint64{
		"object.deep == object.deep": 5000, "object.deep != object.deep": 5000, "object.texts == object.texts": 10000,
		"object.list == object.list": 5000, "object.list in object.lists": 5000, "object.text == object.text": 1000,
		"object.deep == object.few": 0, "object.few == object.few": 0, "[1, 2] == [1, 2]": 0, "1 in [1, 2]": 0,
	} {
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		p, err := env.Program(ast, cel.CostTracking(&Costs{}))
		if err != nil {
			t.Fatal(err)
		}
		_, details, err := p.Eval(in)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if cost := *details.ActualCost(); cost < least || least == 0 && cost > 50 {
			t.Errorf("%s costs %d", text, cost)
		}
	}
}
