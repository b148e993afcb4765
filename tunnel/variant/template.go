package variant

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// template is a text with values of the target in it: {{ .labels.region | default "eu" }}. It has
// paths and a few functions, and nothing that loops or recurses.
type template struct {
	parts []part
}

// part is literal text, or an expression where steps is not empty.
type part struct {
	text  string
	steps []step
	typed bool // the expression ends in int or bool
}

// step is a path, a literal or a function of an expression.
type step struct{ word, argument string }

// MissingError says which value a target lacks.
type MissingError struct {
	// Value is what the template asks for: ".labels.region".
	Value  string
	Target string
}

// Error says what to set, and where.
func (e *MissingError) Error() string {
	kind, name, _ := strings.Cut(strings.TrimPrefix(e.Value, "."), ".")
	kind = map[string]string{"labels": "label", "properties": "property"}[kind]
	return fmt.Sprintf("target %s has no %s %s: set it on the SyncTarget, or write {{ %s | default \"...\" }}",
		e.Target, kind, name, e.Value)
}

// parseTemplate reads a text.
func parseTemplate(text string) (*template, error) {
	t := &template{}
	for expressions := 0; ; {
		literal, rest, found := strings.Cut(text, "{{")
		if literal != "" {
			t.parts = append(t.parts, part{text: literal})
		}
		if !found {
			return t, t.check()
		}
		if expressions++; expressions > MaxExpressions {
			return nil, fmt.Errorf("more than %d expressions", MaxExpressions)
		}
		steps, after, err := parseExpression(rest)
		if err != nil {
			return nil, err
		}
		last := steps[len(steps)-1].word
		t.parts = append(t.parts, part{steps: steps, typed: last == "int" || last == "bool"})
		text = after
	}
}

// check refuses a typed expression that is only part of a text.
func (t *template) check() error {
	for _, p := range t.parts {
		if p.typed && len(t.parts) > 1 {
			return errors.New("int and bool make a value that is no text: the expression must be all of it")
		}
	}
	return nil
}

// parseExpression reads what follows {{, up to }}.
func parseExpression(text string) (steps []step, after string, err error) {
	for {
		word, rest, err := nextWord(text)
		if err != nil {
			return nil, "", err
		}
		s := step{word: word}
		if text = rest; word == "default" {
			if s.argument, text, err = nextWord(text); err != nil || !strings.HasPrefix(s.argument, `"`) {
				return nil, "", errors.New(`default needs a text in quotes: default "eu"`)
			}
		}
		if err := s.check(len(steps) == 0); err != nil {
			return nil, "", err
		}
		if strings.HasPrefix(s.word, `"`) {
			s = step{word: `"`, argument: s.word}
		}
		if s.argument != "" {
			if s.argument, err = strconv.Unquote(s.argument); err != nil {
				return nil, "", fmt.Errorf("%.40s is no text: %w", s.argument, err)
			}
		}
		steps = append(steps, s)
		text = strings.TrimLeft(text, " \t")
		if after, ends := strings.CutPrefix(text, "}}"); ends {
			return steps, after, nil
		}
		piped, ok := strings.CutPrefix(text, "|")
		if !ok || len(steps) > 8 {
			return nil, "", fmt.Errorf("write {{ .labels.region }}, or {{ .labels.region | lower }}: "+
				"not understood from %.20q on", text)
		}
		text = piped
	}
}

// nextWord reads a word or a text in quotes.
func nextWord(text string) (word, rest string, err error) {
	text = strings.TrimLeft(text, " \t")
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("the text %.20s has no end", text)
		}
		return quoted, text[len(quoted):], nil
	}
	end := strings.IndexAny(text, " \t|}\"{")
	if end < 0 {
		return "", "", errors.New("{{ has no }} behind it")
	}
	if end == 0 {
		return "", "", fmt.Errorf(`an expression is empty or misses a word before %.10q: write {{ .labels.region }}, `+
			`or {{ "{{" }} for the text {{`, text)
	}
	return text[:end], text[end:], nil
}

// check refuses an unknown word.
func (s step) check(first bool) error {
	if first {
		switch {
		case strings.HasPrefix(s.word, `"`), s.word == ".name":
			return nil
		case strings.HasPrefix(s.word, ".labels.") && s.word != ".labels.",
			strings.HasPrefix(s.word, ".properties.") && s.word != ".properties.":
			return nil
		}
		return fmt.Errorf("%.60s is unknown: there are .name, .labels.KEY and .properties.KEY", s.word)
	}
	switch s.word {
	case "default", "lower", "upper", "quote", "int", "bool":
		return nil
	}
	return fmt.Errorf("the function %.40s is unknown: there are default, lower, upper, quote, int and bool", s.word)
}

// value fills in a template: a text, or a number or truth value where the expression says so.
func (t *template) value(v *Values) (any, error) {
	if len(t.parts) == 1 && t.parts[0].typed {
		return t.parts[0].evaluate(v)
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.steps == nil {
			b.WriteString(p.text)
			continue
		}
		out, err := p.evaluate(v)
		if err != nil {
			return nil, err
		}
		b.WriteString(out.(string)) // check allows no typed expression beside others
	}
	return b.String(), nil
}

// text is value for what must be text.
func (t *template) text(v *Values) (string, error) {
	out, err := t.value(v)
	if err != nil {
		return "", err
	}
	switch s := out.(type) {
	case string:
		return s, nil
	case json.Number:
		return s.String(), nil
	default:
		return fmt.Sprint(s), nil
	}
}

func (p part) evaluate(v *Values) (any, error) {
	text, known := p.steps[0].of(v)
	for _, s := range p.steps[1:] {
		if s.word == "default" {
			if !known || text == "" {
				text, known = s.argument, true
			}
			continue
		}
		if !known {
			break
		}
		switch s.word {
		case "lower":
			text = strings.ToLower(text)
		case "upper":
			text = strings.ToUpper(text)
		case "quote":
			b, err := json.Marshal(text)
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
	}
	if !known {
		return nil, &MissingError{Value: p.steps[0].word, Target: v.Name}
	}
	switch p.steps[len(p.steps)-1].word {
	case "int":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("%s of target %s is %.40q: no whole number", p.steps[0].word, v.Name, text)
		}
		return json.Number(text), nil
	case "bool":
		is, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%s of target %s is %.40q: neither true nor false", p.steps[0].word, v.Name, text)
		}
		return is, nil
	}
	return text, nil
}

// of is the value of a path or a literal.
func (s step) of(v *Values) (string, bool) {
	if s.word == `"` {
		return s.argument, true
	}
	if s.word == ".name" {
		return v.Name, true
	}
	if key, ok := strings.CutPrefix(s.word, ".labels."); ok {
		text, known := v.Labels[key]
		return text, known
	}
	text, known := v.Properties[strings.TrimPrefix(s.word, ".properties.")]
	return text, known
}
