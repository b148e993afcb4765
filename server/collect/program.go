package collect

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types/ref"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/celbound"
	"skerry.dev/skerry/store/clip"
)

const (
	// maxCost is how much one expression may cost for one report, in units of CEL: about 2 ms.
	maxCost = 20000
	// elements is how many elements a list, a map or a text of an object is taken to have when the
	// cost of an expression is estimated.
	elements = 32
	// maxText is how long a text in a row may be, maxFailed why a report counts nowhere, in bytes: both have what the
	// report says in them.
	maxText   = 256
	maxFailed = 512
	// defaultLimit is how many rows there are where a collector does not say.
	defaultLimit = 20
)

// environmentOf is the CEL of Kubernetes with our variables.
var environmentOf = sync.OnceValues(func() (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("obj", cel.MapType(cel.StringType, cel.DynType)),
			cel.Variable("target", cel.MapType(cel.StringType, cel.DynType)),
		},
	})
	if err != nil {
		return nil, err
	}
	return set.NewExpressionsEnv(), nil
})

// program is a StatusCollector that can be run.
type program struct {
	spec     v1alpha1.StatusCollectorSpec
	selector labels.Selector
	filter   cel.Program // nil for all
	texts    []column    // groups, or what is selected
	numbers  []column    // the field of which index; program is nil for COUNT
	columns  []string
	order    int // the column by which rows are ordered, -1 for their texts
	limit    int
}

// column is one expression.
type column struct {
	field string // of the spec, for messages
	kind  v1alpha1.CombineType
	run   cel.Program
}

// compile makes a program. An error names the field, the cause and what to write instead.
func compile(spec v1alpha1.StatusCollectorSpec) (*program, error) {
	p := &program{spec: spec, order: -1, limit: int(spec.Limit), selector: labels.Everything()}
	if p.limit == 0 {
		p.limit = defaultLimit
	}
	var err error
	if s := spec.Scope.LabelSelector; s != nil {
		if p.selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return nil, fmt.Errorf("spec.scope.labelSelector: %w", err)
		}
	}
	if spec.Filter != "" {
		if p.filter, err = compileOne("spec.filter", spec.Filter, cel.BoolType); err != nil {
			return nil, err
		}
	}
	lists := []struct {
		name string
		list []v1alpha1.NamedExpression
	}{{"groupBy", spec.GroupBy}, {"select", spec.Select}}
	for _, l := range lists {
		for i, e := range l.list {
			field := fmt.Sprintf("spec.%s[%d].def", l.name, i)
			run, err := compileOne(field, e.Def, nil)
			if err != nil {
				return nil, err
			}
			p.texts = append(p.texts, column{field: field, run: run})
			p.columns = append(p.columns, e.Name)
		}
	}
	for i, f := range spec.CombinedFields {
		c := column{field: fmt.Sprintf("spec.combinedFields[%d].subject", i), kind: f.Type}
		if f.Type != v1alpha1.CombineCount {
			if c.run, err = compileOne(c.field, f.Subject, nil); err != nil {
				return nil, err
			}
		}
		p.numbers = append(p.numbers, c)
		p.columns = append(p.columns, f.Name)
	}
	return p, p.ordered()
}

// Validate returns what keeps a collector from being understood, nil when it is. The detail says what to
// write instead.
func Validate(spec v1alpha1.StatusCollectorSpec) *field.Error {
	_, err := compile(spec)
	if err == nil {
		return nil
	}
	at, detail, _ := strings.Cut(err.Error(), ": ")
	return &field.Error{Type: field.ErrorTypeInvalid, Field: at, BadValue: field.OmitValueType{}, Detail: detail}
}

// ordered finds the column by which rows are ordered.
func (p *program) ordered() error {
	seen := map[string]bool{}
	for i, name := range p.columns {
		if seen[name] {
			return fmt.Errorf("spec: two columns have the name %q; give one of them another", name)
		}
		seen[name] = true
		if name == p.spec.OrderBy {
			p.order = i
		}
	}
	switch {
	case p.spec.OrderBy != "" && p.order < 0:
		return fmt.Errorf("spec.orderBy: there is no column %q; there are %s", p.spec.OrderBy, strings.Join(p.columns, ", "))
	case p.spec.OrderBy == "" && len(p.numbers) > 0:
		p.order = len(p.texts)
	}
	return nil
}

// compileOne compiles an expression. want is its type, nil where that shows when it is run.
func compileOne(field, text string, want *cel.Type) (cel.Program, error) {
	env, err := environmentOf()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("%s: %q does not compile: %w; an expression sees obj, such as obj.status.phase, and "+
			"target, such as target.labels.region", field, text, err)
	}
	if is := ast.OutputType(); want != nil && !is.IsExactType(want) && !is.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%s: %q is a %s; write an expression that is a %s", field, text, is, want)
	}
	if err := new(celbound.Bounds).Check(text); err != nil {
		return nil, fmt.Errorf("%s: %q: %w", field, text, err)
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: sizes{}})
	if err != nil {
		return nil, fmt.Errorf("%s: estimate the cost of %q: %w", field, text, err)
	}
	if cost.Max > maxCost {
		return nil, fmt.Errorf("%s: %q may cost %d for one report, and the limit is %d; look at fewer lists within lists",
			field, text, cost.Max, maxCost)
	}
	run, err := env.Program(ast, cel.CostLimit(maxCost), cel.CostTracking(&celbound.Costs{}),
		cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", field, text, err)
	}
	return run, nil
}

// sizes says how large what an expression sees is taken to be.
type sizes struct{}

// EstimateSize implements checker.CostEstimator.
func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: elements}
}

// EstimateCallCost implements checker.CostEstimator.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// contribution is what a program makes of one report.
type contribution struct {
	texts   []string
	numbers []float64
	failed  string // why it counts nowhere
}

// evaluate runs a program on one report; it is nil for a report that the filter leaves out.
func (p *program) evaluate(obj, target map[string]any) *contribution {
	in := map[string]any{"obj": obj, "target": target}
	if p.filter != nil {
		v, err := run(p.filter, in)
		if err != nil {
			return failed("spec.filter", err)
		}
		if is, ok := v.Value().(bool); !ok {
			return failed("spec.filter", fmt.Errorf("it is a %s and no truth", v.Type().TypeName()))
		} else if !is {
			return nil
		}
	}
	c := &contribution{}
	for _, t := range p.texts {
		v, err := run(t.run, in)
		if err == nil {
			var text string
			if text, err = textOf(v); err == nil {
				c.texts = append(c.texts, text)
				continue
			}
		}
		return failed(t.field, err)
	}
	for _, n := range p.numbers {
		if n.run == nil {
			c.numbers = append(c.numbers, 1)
			continue
		}
		v, err := run(n.run, in)
		if err == nil {
			var number float64
			if number, err = numberOf(v); err == nil {
				c.numbers = append(c.numbers, number)
				continue
			}
		}
		return failed(n.field, err)
	}
	return c
}

// failed is a contribution that counts nowhere.
func failed(field string, err error) *contribution {
	return &contribution{failed: clip.Dotted(field+": "+err.Error(), maxFailed)}
}

func run(p cel.Program, in map[string]any) (ref.Val, error) {
	v, _, err := p.Eval(in)
	return v, err
}

func textOf(v ref.Val) (string, error) {
	switch x := v.Value().(type) {
	case string:
		return clip.Dotted(x, maxText), nil
	case bool:
		return strconv.FormatBool(x), nil
	case int64:
		return strconv.FormatInt(x, 10), nil
	case uint64:
		return strconv.FormatUint(x, 10), nil
	case float64:
		return decimal(x), nil
	}
	return "", fmt.Errorf("it is a %s; write string(...) around it, or look at a field of it", v.Type().TypeName())
}

func numberOf(v ref.Val) (float64, error) {
	var n float64
	switch x := v.Value().(type) {
	case int64:
		n = float64(x)
	case uint64:
		n = float64(x)
	case float64:
		n = x
	default:
		return 0, fmt.Errorf("it is a %s and no number; of a quantity write quantity(...).asApproximateFloat()",
			v.Type().TypeName())
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("it is %v, with which nothing can be combined", n)
	}
	return n, nil
}

// decimal writes a number as people do: 3, 2.5.
func decimal(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', 10, 64)
}
