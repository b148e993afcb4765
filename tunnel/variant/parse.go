package variant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Customizer is one that has been read and checked.
type Customizer struct {
	Name string
	// UID of the object in the space of the target's parent, and its generation.
	UID        string
	Generation int64
	priority   int32
	clauses    []Clause
	rules      []*rule
	remove     []pointer
	// namespaces: a clause looks at the labels of namespaces.
	namespaces bool
}

// rule is a Rule that has been read.
type rule struct {
	targets *Targets
	images  []*image
	hosts   []*host
	env     []*env
	merge   *pattern
	patches []*operation
	remove  []pointer
}

// decode reads one JSON value. Numbers stay as they are written.
func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// encode is canonical JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // what was decoded from JSON can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// maxProblems bounds what is said of one Customizer.
const maxProblems = 10

// Parse reads the body of a Customizer. Problems say, by field, why it cannot be used; then there
// is no Customizer.
func Parse(body []byte) (*Customizer, []Problem) {
	var o struct {
		Metadata struct {
			Name        string            `json:"name"`
			UID         string            `json:"uid"`
			Generation  int64             `json:"generation"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, []Problem{{"spec", err.Error()}}
	}
	if len(o.Spec) > MaxBytes {
		return nil, []Problem{{"spec", fmt.Sprintf(
			"%d bytes of JSON, at most %d: split it into several Customizers", len(o.Spec), MaxBytes)}}
	}
	var s Spec
	if err := json.Unmarshal(o.Spec, &s); err != nil {
		return nil, []Problem{{"spec", err.Error()}}
	}
	c := &Customizer{
		Name: o.Metadata.Name, UID: o.Metadata.UID, Generation: o.Metadata.Generation,
		priority: s.Priority, clauses: s.Objects,
	}
	if c.UID == "" {
		c.UID = o.Metadata.Annotations["skerry.dev/origin-uid"]
	}
	p := &parser{}
	p.clauses(c, s.Objects)
	p.limit("spec.rules", len(s.Rules), MaxRules)
	for i := range s.Rules {
		c.rules = append(c.rules, p.rule(fmt.Sprintf("spec.rules[%d]", i), &s.Rules[i]))
	}
	c.remove = p.pointers("spec.remove", s.Remove)
	if len(s.Rules) == 0 && len(s.Remove) == 0 {
		p.say("spec.rules", "must not be empty: a Customizer without rules and without remove changes nothing")
	}
	if len(p.found) > 0 {
		return nil, p.found
	}
	return c, nil
}

// parser gathers problems.
type parser struct{ found []Problem }

func (p *parser) say(field, message string) {
	if len(p.found) < maxProblems {
		p.found = append(p.found, Problem{field, message})
	}
}

func (p *parser) limit(field string, n, limit int) {
	if n > limit {
		p.say(field, fmt.Sprintf("%d entries, at most %d", n, limit))
	}
}

func (p *parser) clauses(c *Customizer, clauses []Clause) {
	p.limit("spec.objects", len(clauses), MaxChanges)
	if len(clauses) == 0 {
		p.say("spec.objects", "must not be empty: say which objects are changed; {} is all of the space")
	}
	for i := range clauses {
		cl, at := &clauses[i], fmt.Sprintf("spec.objects[%d]", i)
		cl.NamespaceSelector.problems(at+".namespaceSelector", func(f Problem) { p.say(f.Field, f.Message) })
		cl.LabelSelector.problems(at+".labelSelector", func(f Problem) { p.say(f.Field, f.Message) })
		c.namespaces = c.namespaces || cl.NamespaceSelector != nil
		if cl.APIGroup == nil {
			continue
		}
		for j, r := range cl.Resources {
			if !Customizable(*cl.APIGroup, r) {
				p.say(fmt.Sprintf("%s.resources[%d]", at, j), fmt.Sprintf("%s are the same at every target", r))
			}
		}
	}
}

func (p *parser) rule(at string, in *Rule) *rule {
	out := &rule{targets: in.Targets}
	if in.Targets != nil {
		in.Targets.problems(at+".targets", func(f Problem) { p.say(f.Field, f.Message) })
		p.limit(at+".targets.names", len(in.Targets.Names), 4*MaxChanges)
	}
	p.limit(at+".images", len(in.Images), MaxChanges)
	for i, im := range in.Images {
		out.images = append(out.images, p.image(fmt.Sprintf("%s.images[%d]", at, i), im))
	}
	p.limit(at+".hosts", len(in.Hosts), MaxChanges)
	for i, h := range in.Hosts {
		field := fmt.Sprintf("%s.hosts[%d].to", at, i)
		if h.To == "" {
			p.say(field, "must not be empty")
		}
		out.hosts = append(out.hosts, &host{h.From, p.template(field, h.To)})
	}
	p.limit(at+".env", len(in.Env), MaxChanges)
	for i, e := range in.Env {
		field := fmt.Sprintf("%s.env[%d]", at, i)
		if e.Name == "" || strings.Contains(e.Name, "=") {
			p.say(field+".name", "must be the name of an environment variable")
		}
		out.env = append(out.env, &env{e.Name, p.template(field+".value", e.Value), e.Containers})
	}
	p.limit(at+".patches", len(in.Patches), MaxChanges)
	for i, op := range in.Patches {
		read, problem := newOperation(op)
		if problem != nil {
			p.say(fmt.Sprintf("%s.patches[%d].%s", at, i, problem.Field), problem.Message)
			continue
		}
		field := fmt.Sprintf("%s.patches[%d]", at, i)
		if op.Op != "test" {
			p.allowed(field+".path", read.path)
		}
		if op.Op == "move" {
			p.allowed(field+".from", read.from)
		}
		out.patches = append(out.patches, read)
	}
	out.merge = p.merge(at+".merge", in.Merge)
	out.remove = p.pointers(at+".remove", in.Remove)
	return out
}

func (p *parser) image(at string, in Image) *image {
	out := &image{from: in.From, containers: in.Containers, paths: p.pointers(at+".paths", in.Paths)}
	for _, part := range []struct {
		field, text string
		into        **template
	}{
		{"registry", in.Registry, &out.registry},
		{"repository", in.Repository, &out.repository}, {"tag", in.Tag, &out.tag},
	} {
		if part.text != "" {
			*part.into = p.template(at+"."+part.field, part.text)
		}
	}
	if in.Registry == "" && in.Repository == "" && in.Tag == "" {
		p.say(at, "changes nothing: give registry, repository or tag")
	}
	return out
}

func (p *parser) template(field, text string) *template {
	t, err := parseTemplate(text)
	if err != nil {
		p.say(field, err.Error())
	}
	return t
}

func (p *parser) pointers(field string, texts []string) (out []pointer) {
	p.limit(field, len(texts), MaxChanges)
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", field, i)
		ptr, err := parsePointer(text)
		if err != nil {
			p.say(at, err.Error())
			continue
		}
		p.allowed(at, ptr)
		out = append(out, ptr)
	}
	return out
}

func (p *parser) merge(field string, raw json.RawMessage) *pattern {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	v, err := decode(raw)
	if err == nil {
		err = checkMerge(v)
	}
	if err != nil {
		p.say(field, err.Error())
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		p.say(field, "must be an object with the fields to change")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		below := m[name]
		switch name {
		case "metadata":
			p.mergesMetadata(field, below)
			continue
		case directive:
			p.say(field, "the whole object cannot be replaced: write $patch below a field")
			continue
		}
		p.allowed(field+"."+name, pointer{name})
	}
	out, err := newPattern(m, 0)
	if err != nil {
		p.say(field, err.Error())
	}
	return out
}

// mergesMetadata checks what a merge patch says of the metadata.
func (p *parser) mergesMetadata(field string, v any) {
	meta, _ := v.(map[string]any)
	for _, f := range slices.Sorted(maps.Keys(meta)) {
		p.allowed(field+".metadata."+f, pointer{"metadata", f})
		all, _ := meta[f].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			p.allowed(fmt.Sprintf("%s.metadata.%s[%s]", field, f, key), pointer{"metadata", f, key})
		}
	}
}

func (p *parser) allowed(field string, ptr pointer) {
	if err := mayChange(ptr); err != nil {
		p.say(field, err.Error())
	}
}
