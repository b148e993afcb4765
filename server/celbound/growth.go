package celbound

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"skerry.dev/skerry/tunnel/exponent"
)

// growth is how many times as large as what an expression reads a value may be.
type growth struct {
	times int
	// text: CEL knows it for a text, so that + of it is charged.
	text bool
	// many: a loop has made it, and has put in again and again what does not depend on it.
	many bool
	// nested: it may have lists that are repeated in a loop.
	nested bool
	// sane: it is no absurd number, see package exponent, and has none in it.
	sane bool
	// made: the expression has made it, so that its fields are named as the expression says.
	made bool
}

// unbounded is the growth of what a loop repeats.
const unbounded = 1 << 20

// of one, and of a constant.
var (
	one      = growth{times: 1}
	constant = growth{sane: true}
)

func (g growth) plus(o growth) growth {
	return growth{
		min(g.times+o.times, unbounded), g.text || o.text, g.many || o.many, g.nested || o.nested, g.sane && o.sane,
		g.made || o.made,
	}
}

// untyped is a growth of something of another type.
func (g growth) untyped() growth {
	return growth{times: g.times, many: g.many, nested: g.nested, sane: g.sane, made: g.made}
}

// doubtful is a growth of something that may be made of parts.
func (g growth) doubtful() growth {
	g.sane, g.made = false, true
	return g
}

// key is a growth of a key of a map, or of an element of a list.
func (g growth) key() growth {
	g.sane = false
	return g.untyped()
}

// built is a growth of a list or a map that is written out.
func (g growth) built() growth {
	g.made = true
	return g.untyped()
}

// field is a growth of a field of something.
func (g growth) field(name string) growth {
	g.sane = g.sane || !g.made && exponent.Holds(name)
	return g.untyped()
}

// charged is a text that CEL charges by its length: however often it is made, all together are not
// much larger than an object.
func (g growth) charged(factor int) growth {
	switch {
	case g.times == 0:
		return growth{text: true, made: true}
	case g.times >= unbounded:
		return growth{times: min(factor, unbounded), text: true, made: true}
	}
	return growth{times: min(g.times*factor, unbounded), text: true, made: true}
}

// scope are the variables of loops around an expression. makes is the one that gathers what a loop makes.
type scope struct {
	vars  map[string]growth
	above *scope
	loop  bool // what is above is repeated
	makes string
}

// walk goes through one expression.
type walk struct {
	bounds    *Bounds
	variables map[string]growth
	estimated bool
	found     error
}

// refuseTime refuses what takes too long, unless others do.
func (w *walk) refuseTime(format string, args ...any) {
	if !w.estimated {
		w.refuse(format, args...)
	}
}

func (w *walk) refuse(format string, args ...any) {
	if w.found == nil {
		w.found = fmt.Errorf(format, args...)
	}
}

// variable is the growth of a name: in a loop that repeats it, it is unbounded.
func (w *walk) variable(name string, s *scope) growth {
	repeated := false
	for ; s != nil; s = s.above {
		if is, ok := s.vars[name]; ok {
			return again(is, repeated)
		}
		repeated = repeated || s.loop
	}
	return again(one, repeated)
}

func again(g growth, repeated bool) growth {
	if repeated && g.times > 0 {
		g.times = unbounded
	}
	return g
}

func (s *scope) repeats() bool {
	for ; s != nil; s = s.above {
		if s.loop {
			return true
		}
	}
	return false
}

func (w *walk) expr(e ast.Expr, s *scope) growth {
	switch e.Kind() {
	case ast.LiteralKind:
		is, text := e.AsLiteral().(types.String)
		return growth{text: text, sane: !exponent.Absurd(string(is))}
	case ast.IdentKind:
		return w.variable(e.AsIdent(), s)
	case ast.SelectKind:
		return w.selected(e.AsSelect(), s)
	case ast.ListKind:
		return w.all(e.AsList().Elements(), s).built()
	case ast.MapKind:
		sum := constant
		for _, entry := range e.AsMap().Entries() {
			m := entry.AsMapEntry()
			sum = sum.plus(w.expr(m.Key(), s)).plus(w.expr(m.Value(), s))
		}
		return sum.built()
	case ast.StructKind:
		sum := constant
		for _, f := range e.AsStruct().Fields() {
			sum = sum.plus(w.expr(f.AsStructField().Value(), s))
		}
		return sum.built()
	case ast.ComprehensionKind:
		return w.comprehension(e.AsComprehension(), s)
	case ast.CallKind:
		return w.call(e.AsCall(), s)
	}
	return one
}

// all is the growth of expressions together.
func (w *walk) all(list []ast.Expr, s *scope) growth {
	sum := constant
	for _, e := range list {
		sum = sum.plus(w.expr(e, s))
	}
	return sum.untyped()
}

func (w *walk) selected(e ast.SelectExpr, s *scope) growth {
	is := w.expr(e.Operand(), s)
	if of := e.Operand(); of.Kind() == ast.IdentKind && of.AsIdent() == "variables" {
		known, ok := w.variables[e.FieldName()]
		if !ok {
			known = one.doubtful()
		}
		return again(known, s.repeats())
	}
	if e.IsTestOnly() {
		return constant
	}
	return is.field(e.FieldName())
}

// comprehension is a loop, as macros make it. The step sees each element of the range once, and
// everything else as often as the loop runs.
func (w *walk) comprehension(e ast.ComprehensionExpr, s *scope) growth {
	of := w.expr(e.IterRange(), s)
	made := w.expr(e.AccuInit(), s)
	in := &scope{above: s, loop: true, makes: e.AccuVar(), vars: map[string]growth{
		e.IterVar(): of.key(), e.AccuVar(): constant,
	}}
	if e.HasIterVar2() {
		in.vars[e.IterVar2()] = of.untyped()
	}
	w.expr(e.LoopCondition(), in)
	made = made.plus(w.expr(e.LoopStep(), in))
	made.many = made.many || made.times >= unbounded
	return w.expr(e.Result(), &scope{above: s, vars: map[string]growth{e.AccuVar(): made}})
}

// truths are functions whose result is small whatever they are given.
var truths = map[string]bool{
	operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true,
	operators.Greater: true, operators.GreaterEquals: true, operators.LogicalAnd: true, operators.LogicalOr: true,
	operators.LogicalNot: true, operators.NotStrictlyFalse: true, operators.In: true,
	operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true,
	operators.Negate: true,
	"size":           true, "matches": true, "contains": true, "startsWith": true, "endsWith": true, "hasValue": true,
	"int": true, "uint": true, "double": true, "bool": true, "isSorted": true, "sum": true, "indexOf": true,
	"lastIndexOf": true, "exists": true, "type": true,
}

// kept are functions whose result is what they are given, or in it.
var kept = map[string]bool{
	"dyn": true, "string": true, "orValue": true, "or": true, "optional.of": true, "of": true, "value": true,
	operators.OptSelect: true,
}

// measured are functions that CEL charges by the length of what they read, and whose result is not
// longer than a few times that.
var measured = map[string]bool{
	"lowerAscii": true, "upperAscii": true, "trim": true, "substring": true, "charAt": true, "find": true,
	"quote": true, "url": true, "jsonpatch.escapeKey": true,
}

func (w *walk) call(c ast.CallExpr, s *scope) growth {
	var target growth
	if c.IsMemberFunction() {
		target = w.expr(c.Target(), s)
	}
	name := c.FunctionName()
	if is, ok := w.special(c, target, s); ok {
		return is
	}
	args := w.all(c.Args(), s)
	switch {
	case truths[name]:
		return constant
	case measured[name]:
		return target.plus(args).charged(1)
	}
	if c.IsMemberFunction() {
		args = target.plus(args)
	}
	if kept[name] {
		return args.untyped()
	}
	return args.untyped().doubtful()
}
