package variant

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// operation is an Operation that has been read.
type operation struct {
	op         string
	path, from pointer
	value      *pattern
}

// pattern is JSON whose texts are templates.
type pattern struct {
	leaf *template // of a text
	raw  any       // of another value that is neither a map nor a list
	maps map[string]*pattern
	list []*pattern
	kind byte // 't'ext, 'r'aw, 'm'ap, 'l'ist
}

// maxNesting bounds how deep a value of a patch is.
const maxNesting = 64

func newPattern(v any, depth int) (*pattern, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it is nested more than %d times", maxNesting)
	}
	switch v := v.(type) {
	case string:
		t, err := parseTemplate(v)
		return &pattern{leaf: t, kind: 't'}, err
	case map[string]any:
		p := &pattern{maps: map[string]*pattern{}, kind: 'm'}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c, err := newPattern(v[k], depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			p.maps[k] = c
		}
		return p, nil
	case []any:
		p := &pattern{kind: 'l'}
		for _, e := range v {
			c, err := newPattern(e, depth+1)
			if err != nil {
				return nil, err
			}
			p.list = append(p.list, c)
		}
		return p, nil
	}
	return &pattern{raw: v, kind: 'r'}, nil
}

// fill returns a new value, with the values of a target.
func (p *pattern) fill(v *Values, left *budget) (any, error) {
	switch p.kind {
	case 't':
		out, err := p.leaf.value(v)
		if err == nil {
			err = left.add(size(out))
		}
		return out, err
	case 'm':
		out := make(map[string]any, len(p.maps))
		for _, k := range slices.Sorted(maps.Keys(p.maps)) { // the first error is always the same
			e, err := p.maps[k].fill(v, left)
			if err != nil {
				return nil, err
			}
			out[k] = e
		}
		return out, nil
	case 'l':
		out := make([]any, 0, len(p.list))
		for _, c := range p.list {
			e, err := c.fill(v, left)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	}
	return p.raw, nil
}

// newOperation reads an operation. The problem names its field.
func newOperation(o Operation) (*operation, *Problem) {
	out := &operation{op: o.Op}
	var err error
	if out.path, err = parsePointer(o.Path); err != nil {
		return nil, &Problem{"path", err.Error()}
	}
	switch o.Op {
	case "move", "copy":
		if out.from, err = parsePointer(o.From); err != nil {
			return nil, &Problem{"from", err.Error()}
		}
	case "add", "replace", "test":
		if o.Value == nil {
			return nil, &Problem{"value", o.Op + " needs a value"}
		}
		v, err := decode(o.Value)
		if err == nil {
			out.value, err = newPattern(v, 0)
		}
		if err != nil {
			return nil, &Problem{"value", err.Error()}
		}
	case "remove":
	default:
		return nil, &Problem{"op", fmt.Sprintf(
			"%.40q is unknown: write add, remove, replace, move, copy or test", o.Op)}
	}
	return out, nil
}

// apply changes doc. What it adds and moves is taken from what is left.
func (o *operation) apply(doc map[string]any, v *Values, left *budget) error {
	var value any
	var err error
	switch o.op {
	case "add", "replace", "test":
		if value, err = o.value.fill(v, left); err != nil {
			return err
		}
	case "move", "copy":
		if value, err = o.from.find(doc); err != nil {
			return err
		}
	}
	switch o.op {
	case "add":
		return o.path.add(doc, value, left)
	case "replace":
		return o.path.replace(doc, value)
	case "remove":
		return o.path.remove(doc, left)
	case "copy":
		if err := left.add(size(value)); err != nil {
			return err
		}
		return o.path.add(doc, clone(value), left)
	case "move":
		if o.from.above(o.path) {
			return errors.New("a field cannot be moved into itself")
		}
		if err := o.from.remove(doc, left); err != nil {
			return err
		}
		return o.path.add(doc, value, left)
	}
	have, err := o.path.find(doc)
	if err != nil {
		return err
	}
	if !equal(have, value) {
		return errors.New("the test fails: the object has another value there")
	}
	return nil
}

// above reports whether a pointer leads to something that other is in.
func (p pointer) above(other pointer) bool {
	return len(p) < len(other) && slices.Equal(p, other[:len(p)])
}

// size is about how many bytes of JSON a value is.
func size(v any) int {
	n := 8
	switch v := v.(type) {
	case string:
		n += len(v)
	case map[string]any:
		for k, e := range v {
			n += len(k) + size(e)
		}
	case []any:
		for _, e := range v {
			n += size(e)
		}
	}
	return n
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k, e := range out {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// equal compares decoded JSON. Numbers are equal that are written alike, or are equal floats.
func equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		if !ok || x == y {
			return ok
		}
		fx, err1 := x.Float64()
		fy, err2 := y.Float64()
		return err1 == nil && err2 == nil && fx == fy
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, e := range x {
			if other, ok := y[k]; !ok || !equal(e, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i, e := range x {
			if !equal(e, y[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}
