package variant

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/store"
)

// Set are the Customizers of one space, in the order in which they are applied: by rising priority,
// and of equals by name. So what has the highest priority has the last word. It never changes.
type Set struct{ all []*Customizer }

// NewSet returns a set.
func NewSet(all ...*Customizer) *Set {
	s := &Set{slices.Clone(all)}
	slices.SortFunc(s.all, func(a, b *Customizer) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.Name, b.Name))
	})
	return s
}

// Object is what is to be rendered.
type Object struct {
	Key store.Key
	// Body is the base, as the center sends it.
	Body []byte
	// NamespaceLabels returns the labels of the object's Namespace; nil for none.
	NamespaceLabels func() map[string]string
}

// Result is a variant.
type Result struct {
	// Body is what the target gets. It is that of the object where nothing was changed.
	Body []byte
	// Matched are the names of the Customizers that select the object and have something to say at
	// the target, By of those that changed it. Both are in the order of application.
	Matched, By []string
	// Changes are the fields that each of By changed, where Explain was asked for.
	Changes []Change
}

// Change is one field that a Customizer changed.
type Change struct {
	Customizer string
	// Path is a JSON pointer. Was and Is are JSON, empty for a field that is absent.
	Path, Was, Is string
}

// Error is why a Customizer cannot be applied to an object at a target.
type Error struct {
	Customizer string
	// Field of the Customizer: spec.rules[0].patches[1].
	Field string
	Err   error
}

// Error names the Customizer, its field, and what is wrong.
func (e *Error) Error() string {
	return fmt.Sprintf("Customizer %s: %s: %v", e.Customizer, e.Field, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Reason is the word for an error in reports: MissingValue or CustomizerFailed.
func (e *Error) Reason() string {
	var missing *MissingError
	if errors.As(e.Err, &missing) {
		return "MissingValue"
	}
	return "CustomizerFailed"
}

// Touches reports whether a Customizer of the set may select an object of this key, whatever its
// labels are.
func (s *Set) Touches(k store.Key) bool {
	return s != nil && slices.ContainsFunc(s.all, func(c *Customizer) bool { return c.touches(k) })
}

// LooksAtNamespaces reports whether the labels of Namespaces matter.
func (s *Set) LooksAtNamespaces() bool {
	return s != nil && slices.ContainsFunc(s.all, func(c *Customizer) bool { return c.namespaces })
}

// Each visits the Customizers in the order of application.
func (s *Set) Each(visit func(*Customizer)) {
	if s != nil {
		for _, c := range s.all {
			visit(c)
		}
	}
}

// Render makes the variant of an object for a target. An *Error says which Customizer failed; the
// result then has what was matched.
func (s *Set) Render(o Object, v Values) (Result, error) { return s.render(o, v, false) }

// Explain is Render, and tells which Customizer changed which field.
func (s *Set) Explain(o Object, v Values) (Result, error) { return s.render(o, v, true) }

func (s *Set) render(o Object, v Values, explain bool) (Result, error) {
	out := Result{Body: o.Body}
	if !s.Touches(o.Key) {
		return out, nil
	}
	decoded, err := decode(o.Body)
	doc, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return out, fmt.Errorf("decode the base: %w", cmp.Or(err, errors.New("it is no object")))
	}
	labels := labelsOf(doc)
	left := newBudget()
	before := encode(doc)
	template, _ := clone(templateOf(o.Key, doc)).(map[string]any)
	for _, c := range s.all {
		if !c.touches(o.Key) || !c.selects(o, labels) || !c.speaks(&v) {
			continue
		}
		out.Matched = append(out.Matched, c.Name)
		var was map[string]any
		if explain {
			was = clone(doc).(map[string]any)
		}
		if err := c.apply(o, doc, &v, left); err != nil {
			return Result{Body: o.Body, Matched: out.Matched}, err
		}
		after := encode(doc)
		if string(before) == string(after) {
			continue
		}
		before = after
		out.By = append(out.By, c.Name)
		if explain {
			out.Changes = append(out.Changes, changes(c.Name, was, doc)...)
		}
	}
	if len(out.By) == 0 {
		return out, nil
	}
	sign(doc, out.By)
	signBase(doc, template, templateOf(o.Key, doc))
	if out.Body = encode(doc); len(out.Body) > store.MaxBodyBytes {
		last := out.By[len(out.By)-1]
		return Result{Body: o.Body, Matched: out.Matched}, &Error{last, "spec.rules", fmt.Errorf(
			"the result is %d bytes, at most %d", len(out.Body), store.MaxBodyBytes)}
	}
	return out, nil
}

// sign writes on a variant who has changed it.
func sign(doc map[string]any, by []string) { annotate(doc, Annotation, strings.Join(by, ",")) }

func annotate(doc map[string]any, name, value string) {
	meta, _ := doc["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	if notes == nil {
		notes = map[string]any{}
		meta["annotations"] = notes
	}
	notes[name] = value
}

func labelsOf(doc map[string]any) map[string]string {
	meta, _ := doc["metadata"].(map[string]any)
	all, _ := meta["labels"].(map[string]any)
	out := make(map[string]string, len(all))
	for k, v := range all {
		out[k], _ = v.(string)
	}
	return out
}

func (c *Customizer) touches(k store.Key) bool {
	return Customizable(k.Group, k.Resource) &&
		slices.ContainsFunc(c.clauses, func(cl Clause) bool { return cl.touches(k) })
}

func (cl *Clause) touches(k store.Key) bool {
	oneOf := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	return (cl.APIGroup == nil || *cl.APIGroup == k.Group) && oneOf(cl.Resources, k.Resource) &&
		oneOf(cl.Namespaces, k.Namespace) && oneOf(cl.Names, k.Name) &&
		(cl.NamespaceSelector == nil || k.Namespace != "")
}

// selects reports whether a clause matches the object, labels included.
func (c *Customizer) selects(o Object, labels map[string]string) bool {
	return slices.ContainsFunc(c.clauses, func(cl Clause) bool {
		if !cl.touches(o.Key) || cl.LabelSelector != nil && !cl.LabelSelector.Matches(labels) {
			return false
		}
		if cl.NamespaceSelector == nil {
			return true
		}
		var ns map[string]string
		if o.NamespaceLabels != nil {
			ns = o.NamespaceLabels()
		}
		return cl.NamespaceSelector.Matches(ns)
	})
}

// speaks reports whether a Customizer has something to say at a target.
func (c *Customizer) speaks(v *Values) bool {
	return len(c.remove) > 0 || slices.ContainsFunc(c.rules, func(r *rule) bool { return r.targets.match(v) })
}

func (t *Targets) match(v *Values) bool {
	return t == nil || t.Matches(v.Labels) && (len(t.Names) == 0 || slices.Contains(t.Names, v.Name))
}

func (c *Customizer) apply(o Object, doc map[string]any, v *Values, left *budget) error {
	keep := fixedOf(doc)
	fail := func(field string, err error) error { return &Error{c.Name, field, err} }
	for i, r := range c.rules {
		if !r.targets.match(v) {
			continue
		}
		at := fmt.Sprintf("spec.rules[%d].", i)
		if field, err := r.apply(o, doc, v, left); err != nil {
			return fail(at+field, err)
		}
	}
	for _, p := range c.remove {
		if err := p.remove(doc, left); err != nil && !errors.Is(err, errAbsent) {
			return fail("spec.remove", fmt.Errorf("%s: %w", p, err))
		}
	}
	if deeper(doc, maxDepth) {
		return fail("spec.rules", errDeep)
	}
	if err := keep.check(doc); err != nil {
		return fail("spec.rules", err)
	}
	return nil
}

// apply changes doc by one rule, and returns the field that fails.
func (r *rule) apply(o Object, doc map[string]any, v *Values, left *budget) (field string, err error) {
	for i, im := range r.images {
		if err := im.apply(o, doc, v, left); err != nil {
			return fmt.Sprintf("images[%d]", i), err
		}
	}
	for i, h := range r.hosts {
		if err := h.apply(o, doc, v, left); err != nil {
			return fmt.Sprintf("hosts[%d]", i), err
		}
	}
	for i, e := range r.env {
		if err := e.apply(o, doc, v, left); err != nil {
			return fmt.Sprintf("env[%d]", i), err
		}
	}
	if r.merge != nil {
		patch, err := r.merge.fill(v, left)
		if err == nil {
			_, err = (&merger{strategic(o.Key.Group), left}).mergeMap(doc, patch.(map[string]any))
		}
		if err != nil {
			return "merge", err
		}
	}
	for i, op := range r.patches {
		if err := op.apply(doc, v, left); err != nil {
			return fmt.Sprintf("patches[%d]", i), fmt.Errorf("%s %s: %w", op.op, op.path, err)
		}
	}
	for i, p := range r.remove {
		if err := p.remove(doc, left); err != nil && !errors.Is(err, errAbsent) {
			return fmt.Sprintf("remove[%d]", i), err
		}
	}
	return "", nil
}

// strategic reports whether lists of a group's kinds are merged by keys: those of Kubernetes are.
func strategic(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
