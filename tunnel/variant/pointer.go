package variant

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// pointer is a JSON pointer (RFC 6901), decoded.
type pointer []string

// parsePointer reads a pointer to a field; the whole document is none.
func parsePointer(text string) (pointer, error) {
	switch {
	case len(text) > MaxPointer:
		return nil, fmt.Errorf("%d bytes, at most %d", len(text), MaxPointer)
	case text == "":
		return nil, errors.New("the whole object cannot be changed: name a field, as in /spec/replicas")
	case text[0] != '/':
		return nil, fmt.Errorf("%.60q is no JSON pointer: begin with /, as in /spec/replicas", text)
	}
	parts := strings.Split(text[1:], "/")
	if len(parts) > MaxDepth {
		return nil, fmt.Errorf("%d steps, at most %d", len(parts), MaxDepth)
	}
	for i, p := range parts {
		for j := range len(p) {
			if p[j] == '~' && (j+1 == len(p) || p[j+1] != '0' && p[j+1] != '1') {
				return nil, fmt.Errorf("%.60q: write ~0 for ~, and ~1 for /", text)
			}
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts, nil
}

func (p pointer) String() string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// errAbsent is returned for a pointer that leads to nothing.
var errAbsent = errors.New("the object has no such field")

// index reads an index of a list of n elements; - is behind the last.
func index(part string, n int) (int, error) {
	if part == "-" {
		return n, nil
	}
	i, err := strconv.Atoi(part)
	if err != nil || i < 0 || part != strconv.Itoa(i) {
		return 0, fmt.Errorf("%.40q is no index of a list", part)
	}
	if i > n {
		return 0, errAbsent
	}
	return i, nil
}

// find returns the value at a pointer.
func (p pointer) find(doc any) (any, error) {
	for _, part := range p {
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, errAbsent
			}
			doc = next
		case []any:
			i, err := index(part, len(v))
			if err != nil || i == len(v) {
				return nil, errors.Join(err, errAbsent)
			}
			doc = v[i]
		default:
			return nil, errAbsent
		}
	}
	return doc, nil
}

// edit changes the parent of a pointer's last part. A list that change returns takes the place of
// the one there.
func (p pointer) edit(doc any, change func(parent any, last string) (any, error)) (any, error) {
	if len(p) == 1 {
		return change(doc, p[0])
	}
	switch v := doc.(type) {
	case map[string]any:
		next, ok := v[p[0]]
		if !ok {
			return nil, errAbsent
		}
		next, err := p[1:].edit(next, change)
		if err == nil {
			v[p[0]] = next
		}
		return v, err
	case []any:
		i, err := index(p[0], len(v))
		if err != nil || i == len(v) {
			return nil, errors.Join(err, errAbsent)
		}
		next, err := p[1:].edit(v[i], change)
		if err == nil {
			v[i] = next
		}
		return v, err
	}
	return nil, errAbsent
}

// add puts a value at a pointer, and inserts it into a list.
func (p pointer) add(doc, value any, left *budget) error {
	_, err := p.edit(doc, func(parent any, last string) (any, error) {
		switch v := parent.(type) {
		case map[string]any:
			v[last] = value
			return v, nil
		case []any:
			i, err := index(last, len(v))
			if err != nil {
				return nil, err
			}
			if err := left.step(len(v) - i + 1); err != nil {
				return nil, err
			}
			v = append(v, nil)
			copy(v[i+1:], v[i:])
			v[i] = value
			return v, nil
		}
		return nil, errAbsent
	})
	return err
}

// remove takes away the value at a pointer.
func (p pointer) remove(doc any, left *budget) error {
	_, err := p.edit(doc, func(parent any, last string) (any, error) {
		switch v := parent.(type) {
		case map[string]any:
			if _, ok := v[last]; !ok {
				return nil, errAbsent
			}
			delete(v, last)
			return v, nil
		case []any:
			i, err := index(last, len(v))
			if err != nil || i == len(v) {
				return nil, errors.Join(err, errAbsent)
			}
			if err := left.step(len(v) - i); err != nil {
				return nil, err
			}
			return append(v[:i], v[i+1:]...), nil
		}
		return nil, errAbsent
	})
	return err
}

// replace sets the value at a pointer, where there is one.
func (p pointer) replace(doc, value any) error {
	if _, err := p.find(doc); err != nil {
		return err
	}
	_, err := p.edit(doc, func(parent any, last string) (any, error) {
		switch v := parent.(type) {
		case map[string]any:
			v[last] = value
		case []any:
			i, err := index(last, len(v))
			if err != nil {
				return nil, err
			}
			v[i] = value
		}
		return parent, nil
	})
	return err
}
