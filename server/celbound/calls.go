package celbound

import (
	"regexp"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

const (
	// maxRange is how long a list of lists.range may be.
	maxRange = 10_000
	// maxMembers is how many elements the list of a sets function has that is written out.
	maxMembers = 64
	// maxPrecision is how many digits behind the point format writes.
	maxPrecision = 99
	// maxReplaced is how often replace may put in a text that is not written out.
	maxReplaced = 16
)

// special looks at the functions that are looked at one by one; false for all others. The target of a
// call has been looked at.
func (w *walk) special(c ast.CallExpr, target growth, s *scope) (growth, bool) {
	switch c.FunctionName() {
	case operators.Add:
		return w.add(c, s), true
	case operators.Conditional:
		return w.choice(c, s), true
	case operators.Index, operators.OptIndex, operators.OptSelect:
		return w.index(c, s), true
	case "quantity", "isQuantity":
		return w.quantity(c, s), true
	case "replace":
		return w.replace(c, target, s), true
	case "join":
		return w.join(c, target, s), true
	case "format":
		return w.format(c, s), true
	case "flatten":
		return w.flatten(c, target, s), true
	case "distinct":
		return w.distinct(target), true
	case "range", "lists.range":
		return w.rangeOf(c, target, s), true
	case "matches", "find", "findAll":
		w.pattern(c) // what it makes is looked at with all others
	case "contains", "intersects", "equivalent", "sets.contains", "sets.intersects", "sets.equivalent":
		return w.sets(c, s), true
	}
	return growth{}, false
}

func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	is, ok := e.AsLiteral().(types.String)
	return string(is), ok
}

func whole(e ast.Expr) (int64, bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	is, ok := e.AsLiteral().(types.Int)
	return int64(is), ok
}

// add is charged for texts; lists are only put side by side.
func (w *walk) add(c ast.CallExpr, s *scope) growth {
	sum, args := constant, c.Args()
	for _, e := range args {
		sum = sum.plus(w.expr(e, s))
	}
	switch {
	case s != nil && s.loop && args[0].Kind() == ast.IdentKind && args[0].AsIdent() == s.makes:
		return growth{times: sum.times, many: sum.many || sum.times >= unbounded, nested: sum.nested, made: true}
	case sum.text:
		return sum.charged(1)
	case sum.times >= unbounded && !sum.many: // of texts it is charged, and lists in lists are nothing to join
		return growth{times: 1, nested: true, made: true}
	}
	return sum.doubtful()
}

// index is an element of a list, or a field whose name stands in quotes.
func (w *walk) index(c ast.CallExpr, s *scope) growth {
	args := c.Args()
	is := w.expr(args[0], s)
	w.expr(args[1], s)
	field, _ := text(args[1])
	return is.field(field)
}

// quantity reads a number with which the next comparison computes for hours, if it is an absurd one.
// Requests that write such numbers are refused where fields have quantities by their names.
func (w *walk) quantity(c ast.CallExpr, s *scope) growth {
	for _, e := range c.Args() {
		if !w.expr(e, s).sane {
			w.refuse("%s() of a text that may be 1e999999999 may compute for hours: read it from a field that is named "+
				"limits, requests, capacity, cpu, memory, storage, size, quantity or amount, where such numbers are refused",
				c.FunctionName())
		}
	}
	return constant
}

func (w *walk) choice(c ast.CallExpr, s *scope) growth {
	args := c.Args()
	w.expr(args[0], s)
	a, b := w.expr(args[1], s), w.expr(args[2], s)
	return growth{
		times: max(a.times, b.times), text: a.text && b.text, many: a.many || b.many, nested: a.nested || b.nested,
		sane: a.sane && b.sane, made: a.made || b.made,
	}
}

// replace is charged by the text that is changed, not by what it becomes.
func (w *walk) replace(c ast.CallExpr, target growth, s *scope) growth {
	args := c.Args()
	w.all(args, s)
	if len(args) < 2 {
		return target
	}
	if len(args) > 2 {
		if most, ok := whole(args[2]); ok && most >= 0 && most <= maxReplaced {
			return target.plus(w.expr(args[1], s)).charged(1)
		}
	}
	by, ok := text(args[1])
	if !ok {
		w.refuse("replace() with a text that is not written out may need all memory: write the new text in quotes, " +
			"or say as its third argument how often to replace, 16 times at most")
		return target
	}
	factor := len(by) + 1
	if from, ok := text(args[0]); ok && from != "" {
		factor = max(1, (len(by)+len(from)-1)/len(from))
	}
	out := target.charged(factor)
	w.limit("replace()", "put in a shorter text", out)
	return out
}

func (w *walk) join(c ast.CallExpr, target growth, s *scope) growth {
	out := target
	for _, e := range c.Args() {
		w.expr(e, s)
		by, ok := text(e)
		if !ok {
			w.refuse("join() with a text that is not written out may need all memory: write the separator in quotes")
		}
		out.times = min(out.times+len(by), unbounded)
	}
	w.limit("join()", "add texts with + in the loop, or join what the elements of the list have", out)
	return growth{times: out.times, text: true, made: true}
}

// precision finds how many digits a format asks for.
var precision = regexp.MustCompile(`%\.([0-9]+)`)

// format is charged by its pattern alone.
func (w *walk) format(c ast.CallExpr, s *scope) growth {
	out := w.all(c.Args(), s)
	if out.nested {
		out.times = unbounded
	}
	if c.IsMemberFunction() {
		pattern, ok := text(c.Target())
		if !ok {
			w.refuse("format() of a text that is not written out may need all memory: write the pattern in quotes")
		}
		for _, found := range precision.FindAllStringSubmatch(pattern, -1) {
			if n, err := strconv.Atoi(found[1]); err != nil || n > maxPrecision {
				w.refuse("format() with %.20s: write at most %d digits", found[0], maxPrecision)
			}
		}
	}
	w.limit("format()", "write fewer %s, or add texts with +", out)
	return growth{times: out.times, text: true, made: true}
}

func (w *walk) flatten(c ast.CallExpr, target growth, s *scope) growth {
	w.all(c.Args(), s)
	if target.nested {
		target.times = unbounded
	}
	w.limit("flatten()", "make the list of what the elements of one list have", target)
	return target
}

// distinct compares each element with each other one.
func (w *walk) distinct(target growth) growth {
	if target.times > 0 {
		w.refuseTime("distinct() compares each element with each other one, which may take hours: use exists_one(), or a map")
	}
	return target
}

func (w *walk) rangeOf(c ast.CallExpr, target growth, s *scope) growth {
	args := w.all(c.Args(), s)
	if of := c.Target(); c.FunctionName() == "range" && (of.Kind() != ast.IdentKind || of.AsIdent() != "lists") {
		return target.plus(args).untyped()
	}
	if n, ok := whole(c.Args()[0]); len(c.Args()) == 1 && (!ok || n > maxRange) {
		w.refuseTime("lists.range() may need all memory: write a number of at most %d", maxRange)
	}
	return constant
}

// sets are the functions that look for each element of a list in another one. contains of a text has
// the same name.
func (w *walk) sets(c ast.CallExpr, s *scope) growth {
	args := c.Args()
	w.all(args, s)
	if of := c.Target(); c.IsMemberFunction() && (of.Kind() != ast.IdentKind || of.AsIdent() != "sets") {
		return constant
	}
	for _, e := range args {
		if e.Kind() == ast.ListKind && e.AsList().Size() <= maxMembers {
			return constant
		}
	}
	w.refuseTime("%s() looks for each element of a list in another one, which may take hours: write one of the lists "+
		"out, with at most %d elements, or use all() and in", c.FunctionName(), maxMembers)
	return constant
}

// limit refuses a result that has grown too much.
func (w *walk) limit(what, instead string, g growth) {
	if g.times <= maxGrowth {
		return
	}
	by := "without a bound"
	if g.times < unbounded {
		by = "by " + strconv.Itoa(g.times) + ", and " + strconv.Itoa(maxGrowth) + " is the most"
	}
	w.refuse("%s may make texts larger than what it reads %s: %s", what, by, instead)
}
