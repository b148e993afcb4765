package celbound

import (
	"fmt"
	regex "regexp/syntax"

	"github.com/google/cel-go/common/ast"
)

// maxPatterns is how many instructions the regular expressions of one object compile to. One takes 300
// bytes, and (a{0,1000}) has more than a thousand of them. Of 600 public definitions the largest
// have 5,000.
const maxPatterns = 20_000

// Pattern adds a regular expression that is compiled with the object. It returns an error when all of
// them together would take too much memory. One that is none is left to those who compile it.
func (b *Bounds) Pattern(text string) error {
	if b.patterns[text] {
		return nil
	}
	parsed, err := regex.Parse(text, regex.Perl)
	if err != nil {
		return nil
	}
	if b.patterns == nil {
		b.patterns = map[string]bool{}
	}
	b.patterns[text] = true
	n := instructions(parsed)
	if b.instructions += n; b.instructions > maxPatterns {
		return fmt.Errorf("regular expressions of %d steps may take too much memory, and %d for all of an object are the "+
			"most: the pattern %.40q has %d; write smaller numbers in braces, and bound lengths by maxLength or size()",
			b.instructions, maxPatterns, text, n)
	}
	return nil
}

// instructions counts what a regular expression compiles to, without doing that. A parser refuses
// numbers in braces above 1000, also nested ones, so the sum fits.
func instructions(re *regex.Regexp) int {
	n := 1
	if re.Op == regex.OpLiteral {
		n += len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch {
	case re.Op != regex.OpRepeat:
		return n
	case re.Max < 0:
		return n * (re.Min + 1)
	}
	return n * max(1, re.Max)
}

// pattern looks at the regular expression of a call.
func (w *walk) pattern(c ast.CallExpr) {
	args := c.Args()
	at := 0
	if !c.IsMemberFunction() {
		at = 1
	}
	if len(args) <= at {
		return
	}
	written, ok := text(args[at])
	if !ok {
		w.refuse("%s() with a regular expression that is not written out may need all memory: write it in quotes",
			c.FunctionName())
		return
	}
	if err := w.bounds.Pattern(written); err != nil {
		w.refuse("%s(): %s", c.FunctionName(), err)
	}
}
