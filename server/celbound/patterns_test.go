package celbound

import (
	regex "regexp/syntax"
	"strconv"
	"strings"
	"testing"
)

// bomb is a regular expression of about n instructions.
func bomb(n int) string { return strings.Repeat("(a{0,1000})", n/1000) }

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		texts []string
		fine  bool
	}{
		{[]string{"object.x.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')"}, true},
		{[]string{"object.x.matches('" + bomb(5000) + "')", "object.x.matches('" + bomb(5000) + "')"}, true},
		{[]string{"object.x.matches('" + bomb(30000) + "')"}, false},
		{[]string{"matches(object.x, '" + bomb(30000) + "')"}, false},
		{[]string{"object.x.find('" + bomb(30000) + "') == ''"}, false},
		{[]string{"object.l.all(s, s.findAll('" + bomb(30000) + "', 1).size() > 0)"}, false},
		{[]string{"object.x.matches('a{1000}(b{500})" + bomb(9000) + "')", "object.x.matches('" + bomb(11000) + "')"}, false},
		{[]string{"object.x.matches(object.y)"}, false},
		{[]string{"object.x.matches('a' + object.y)"}, false},
		{[]string{"object.x.matches('((')"}, true}, // left to those who compile it
	} {
		var b Bounds
		var err error
		for _, text := range c.texts {
			if e := b.Check(text); e != nil {
				err = e
			}
		}
		if (err == nil) != c.fine {
			t.Errorf("%.60q: %v", c.texts, err)
		}
	}
	var b Bounds
	var err error
	for i := range 30 { // of a schema, and counted together
		if e := b.Pattern(strconv.Itoa(i) + bomb(1000)); e != nil {
			err = e
		}
	}
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(maxPatterns)) {
		t.Errorf("many patterns: %v", err)
	}
}

// What is counted is about what Go compiles to, and never much less.
func TestInstructions(t *testing.T) {
	for _, text := range []string{"a", "^[a-z]+$", "(a{0,1000})", "(a{1000})", "((ab|cd){3,7}x?){1,20}", "[a-z]{5,}", bomb(20000),
		"(?i)straße{2}", `[\p{L}\p{S}]{0,62}`, "a{0}b{0,0}"} {
		parsed, err := regex.Parse(text, regex.Perl)
		if err != nil {
			t.Fatal(err)
		}
		counted := instructions(parsed)
		program, err := regex.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(program.Inst); counted*3 < n || counted > 4*n+10 {
			t.Errorf("%.40q: counted %d, it has %d", text, counted, n)
		}
	}
}
