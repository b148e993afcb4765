package placement

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/celbound"
	"skerry.dev/skerry/tunnel"
)

// CELCost is what evaluating the expressions of a Placement for one target may cost, in CEL's units.
// A thousand of them take about 0.1 ms, and a decision evaluates every expression for every target.
const CELCost = 10_000

// celVariable is the variable that expressions see.
const celVariable = "target"

// expression is a condition in CEL, compiled.
type expression struct {
	text, message string
	program       cel.Program
	cost          uint64 // at most
}

// celOutcome is what an expression says of a target.
type celOutcome struct {
	holds bool
	err   error
}

// maxOutcomes is how many expressions the Facts of a target remember the outcomes of.
const maxOutcomes = 512

// celEnvironment is made once: it takes some milliseconds.
var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions:        []cel.EnvOption{cel.Variable(celVariable, celTarget.CelType())},
			DeclTypes:         []*apiservercel.DeclType{celTarget},
		})
	if err != nil {
		return nil, err
	}
	return set.Env(environment.StoredExpressions)
})

// celTarget is the type of the variable, with the bounds by which costs are estimated.
var celTarget = func() *apiservercel.DeclType {
	text := func(most int64) *apiservercel.DeclType {
		t := *apiservercel.StringType
		t.MaxElements = most
		return &t
	}
	fields := func(of map[string]*apiservercel.DeclType) map[string]*apiservercel.DeclField {
		out := map[string]*apiservercel.DeclField{}
		for name, t := range of {
			out[name] = apiservercel.NewDeclField(name, t, true, nil, nil)
		}
		return out
	}
	quantities := apiservercel.NewMapType(text(253), apiservercel.QuantityDeclType, 32)
	taint := apiservercel.NewObjectType("skerry.Taint", fields(map[string]*apiservercel.DeclType{
		"key": text(317), "value": text(63), "effect": text(10),
	}))
	return apiservercel.NewObjectType("skerry.Target", fields(map[string]*apiservercel.DeclType{
		"name":              text(63),
		"labels":            apiservercel.NewMapType(text(317), text(63), 64),
		"properties":        apiservercel.NewMapType(text(253), text(tunnel.MaxPropertyValue), tunnel.MaxProperties),
		"kubernetesVersion": text(64),
		"capacity":          quantities,
		"allocatable":       quantities,
		"taints":            apiservercel.NewListType(taint, 32),
	}))
}()

// compileCEL compiles an expression. The error says what to change.
func compileCEL(e v1alpha1.TargetExpression) (*expression, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, fmt.Errorf("make the environment of CEL: %w", err)
	}
	ast, issues := env.Compile(e.Expression)
	if issues != nil && issues.Err() != nil {
		return nil, errors.New(strings.TrimSpace(issues.String()))
	}
	if ast.OutputType() != cel.BoolType {
		return nil, fmt.Errorf("the expression is of type %s: it must be of type bool", ast.OutputType())
	}
	if err := new(celbound.Bounds).Check(e.Expression); err != nil {
		return nil, err
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: celSizes{}})
	if err != nil {
		return nil, fmt.Errorf("estimate the cost: %w", err)
	}
	if cost.Max > CELCost {
		return nil, fmt.Errorf("the expression may cost %d for one target, %d is the most: "+
			"look up labels and properties by key instead of going through them, and compare with == instead of matches()",
			cost.Max, CELCost)
	}
	program, err := env.Program(ast, cel.CostLimit(CELCost), cel.CostTracking(&celbound.Costs{}),
		cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("prepare the expression: %w", err)
	}
	return &expression{text: e.Expression, message: e.Message, program: program, cost: cost.Max}, nil
}

// holds returns what the expression says of a target. It is evaluated once for the Facts of a target.
func (e *expression) holds(t *Target) (bool, error) {
	f := t.Facts
	if f == nil {
		return e.evaluate(t)
	}
	f.mu.Lock()
	known, ok := f.outcomes[e.text]
	f.mu.Unlock()
	if ok {
		return known.holds, known.err
	}
	holds, err := e.evaluate(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outcomes == nil || len(f.outcomes) >= maxOutcomes {
		f.outcomes = map[string]celOutcome{}
	}
	f.outcomes[e.text] = celOutcome{holds, err}
	return holds, err
}

func (e *expression) evaluate(t *Target) (bool, error) {
	out, _, err := e.program.Eval(map[string]any{celVariable: t.celInput()})
	if err != nil {
		return false, err
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the expression is of type %s, not bool", out.Type().TypeName())
	}
	return b, nil
}

// celInput is the target as expressions see it.
func (t *Target) celInput() map[string]any {
	if t.Facts == nil {
		return t.celFields(&Facts{})
	}
	t.Facts.once.Do(func() { t.Facts.input = t.celFields(t.Facts) })
	return t.Facts.input
}

func (t *Target) celFields(f *Facts) map[string]any {
	quantities := func(of corev1.ResourceList) map[string]any {
		out := make(map[string]any, len(of))
		for name, q := range of {
			out[string(name)] = apiservercel.Quantity{Quantity: &q}
		}
		return out
	}
	taints := make([]any, 0, len(t.Taints))
	for _, taint := range t.Taints {
		taints = append(taints, map[string]any{"key": taint.Key, "value": taint.Value, "effect": string(taint.Effect)})
	}
	texts := func(of map[string]string) map[string]string {
		if of == nil {
			return map[string]string{}
		}
		return of
	}
	return map[string]any{
		"name": t.Name, "labels": texts(t.Labels), "properties": texts(f.Properties),
		"kubernetesVersion": f.KubernetesVersion, "capacity": quantities(f.Capacity),
		"allocatable": quantities(f.Allocatable), "taints": taints,
	}
}

// celSizes bounds what the variable has, for the estimate of costs.
type celSizes struct{}

// EstimateSize implements checker.CostEstimator.
func (celSizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 || path[0] != celVariable {
		return nil
	}
	node := celTarget
	for _, name := range path[1:] {
		switch {
		case name == "@items" || name == "@values":
			node = node.ElemType
		case name == "@keys":
			node = node.KeyType
		case node.Fields[name] != nil:
			node = node.Fields[name].Type
		default:
			node = node.ElemType // of a map, by its key
		}
		if node == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(node.MaxElements)}
}

// EstimateCallCost implements checker.CostEstimator.
func (celSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
