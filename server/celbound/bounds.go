package celbound

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// maxGrowth is how much a value may grow: a request of 1.5 MiB makes texts of 48 MiB at most.
const maxGrowth = 32

// Bounds checks the expressions of one object. The zero value is ready.
type Bounds struct {
	// Estimated says that whoever compiles the expressions refuses those that may cost much, by the
	// bounds that a schema gives lists and texts. Then only what they make is looked at, not how long
	// that takes.
	Estimated bool

	variables    map[string]growth
	patterns     map[string]bool // regular expressions that are counted
	instructions int             // of all of them
}

// syntax is what CEL in Kubernetes can be written in, with all macros.
var syntax = sync.OnceValues(func() (*cel.Env, error) {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
})

// Check returns an error that says which call is not bounded and what to write instead. A text that
// is no CEL is left to those who compile it.
func (b *Bounds) Check(text string) error {
	_, err := b.growth(text)
	return err
}

// Variable is Check of the expression of a variable, which later ones see as variables.NAME.
func (b *Bounds) Variable(name, text string) error {
	is, err := b.growth(text)
	if b.variables == nil {
		b.variables = map[string]growth{}
	}
	b.variables[name] = is
	return err
}

func (b *Bounds) growth(text string) (growth, error) {
	env, err := syntax()
	if err != nil {
		return growth{}, fmt.Errorf("make the environment of CEL: %w", err)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return growth{}, nil
	}
	w := walk{bounds: b, variables: b.variables, estimated: b.Estimated}
	is := w.expr(parsed.NativeRep().Expr(), nil)
	return is, w.found
}
