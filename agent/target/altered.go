package target

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/exponent"
)

// Altered is what the admission of a target, or a schema, made of what was applied.
type Altered struct {
	// Removed and Changed are fields of the applied body, ".spec.replicas".
	Removed, Changed []string
	// Partly: it was too much to be compared in full.
	Partly bool
}

// maxCompared bounds how many values one comparison looks at: a target that answers with lists in
// another order, deep in one another, would have each compared with each.
const maxCompared = 20_000

// maxPath bounds a field's path, in bytes: names of labels and of custom resources may be long.
const maxPath = 200

// Compare returns which fields of an applied body the answer lacks, or has with another value. What
// the answer has beside them is a default, or somebody else's. An empty value says nothing: the API
// leaves it out. So do two notations of one value.
func Compare(applied, answer []byte) (Altered, error) {
	var sent, got map[string]any
	if err := json.Unmarshal(applied, &sent); err != nil {
		return Altered{}, fmt.Errorf("decode what was applied: %w", err)
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return Altered{}, fmt.Errorf("decode the answer to it: %w", err)
	}
	left := maxCompared
	c := comparison{left: &left}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		switch name {
		case "apiVersion", "kind", "status", "stringData": // a Secret has stringData as data
		case "metadata":
			from, _ := sent[name].(map[string]any)
			to, _ := got[name].(map[string]any)
			if labels, ok := from["labels"].(map[string]any); ok {
				delete(labels, LabelSite) // what is applied has this agent's own, and a relay's body its own
			}
			for _, field := range []string{"annotations", "finalizers", "labels", "ownerReferences"} {
				c.field(".metadata."+field, from[field], to, field)
			}
		default:
			c.field("."+name, sent[name], got, name)
		}
	}
	c.Partly = left < 0
	return c.Altered, nil
}

// comparison collects what differs.
type comparison struct {
	Altered
	left *int // how many values may still be looked at
}

// field compares one member of an object.
func (c *comparison) field(path string, sent any, in map[string]any, name string) {
	if says(sent) {
		got, has := in[name]
		c.value(path, sent, got, has)
	}
}

func (c *comparison) value(path string, sent, got any, has bool) {
	if *c.left--; *c.left < 0 {
		return
	}
	if !has || got == nil {
		if sent != false { // the API leaves it out where it is the default
			c.Removed = append(c.Removed, clip.Dotted(path, maxPath))
		}
		return
	}
	switch sent := sent.(type) {
	case map[string]any:
		if in, ok := got.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(sent)) {
				c.field(path+step(name), sent[name], in, name)
			}
			return
		}
	case []any:
		if in, ok := got.([]any); ok {
			c.list(path, sent, in)
			return
		}
	default:
		if sameValue(sent, got) {
			return
		}
	}
	c.Changed = append(c.Changed, clip.Dotted(path, maxPath))
}

// list compares lists, of which the target may have changed the order, and into which it may have put
// something.
func (c *comparison) list(path string, sent, got []any) {
	for i, e := range sent {
		if !says(e) || i < len(got) && c.covers(e, got[i]) ||
			slices.ContainsFunc(got, func(g any) bool { return c.covers(e, g) }) {
			continue
		}
		at := label(e)
		if _, is := e.(map[string]any); !is || at == "[]" {
			at = "[" + strconv.Itoa(i) + "]" // never the value: it may be a secret
		}
		counterpart := slices.IndexFunc(got, func(g any) bool { return at == label(g) })
		if counterpart < 0 && len(sent) == len(got) {
			counterpart = i
		}
		if counterpart < 0 {
			c.Removed = append(c.Removed, clip.Dotted(path+at, maxPath))
			continue
		}
		c.value(path+at, e, got[counterpart], true)
	}
}

// covers reports whether nothing of a value was altered.
func (c *comparison) covers(sent, got any) bool {
	inner := comparison{left: c.left}
	inner.value("", sent, got, true)
	return len(inner.Removed)+len(inner.Changed) == 0
}

// says reports whether a value that is left out is missed. The API leaves out what is empty, and takes
// zero and empty text for a wish for the default.
func says(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case float64:
		return v != 0
	case []any:
		return slices.ContainsFunc(v, says)
	case map[string]any:
		for _, member := range v {
			if says(member) && member != false {
				return true
			}
		}
		return false
	}
	return true
}

// sameValue reports whether two values are two notations of one: quantities, durations, times,
// addresses and bytes are written anew by the API.
func sameValue(a, b any) bool {
	if a == b {
		return true
	}
	x, y := textOf(a), textOf(b)
	return x == y || sameQuantity(x, y) || sameAs(x, y, time.ParseDuration) || sameAs(x, y, timeOf) ||
		sameAs(x, y, netip.ParsePrefix) || sameAs(x, y, netip.ParseAddr) || sameAs(x, y, bytesOf)
}

// sameAs reports whether two texts can both be read, as the same.
func sameAs[T comparable](a, b string, read func(string) (T, error)) bool {
	x, err := read(a)
	if err != nil {
		return false
	}
	y, err := read(b)
	return err == nil && x == y
}

func textOf(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func sameQuantity(a, b string) bool {
	if exponent.Absurd(a) || exponent.Absurd(b) {
		return false
	}
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

func timeOf(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339, text)
	return t.UnixMicro(), err
}

func bytesOf(text string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	return string(b), err
}
