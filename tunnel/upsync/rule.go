package upsync

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// What a target brings at the most. Bytes are those of the objects as JSON.
const (
	// MaxClauses is how many clauses a rule has.
	MaxClauses = 16
	// MaxObjects and MaxBytes are the limits of one Upsync.
	MaxObjects = 100
	MaxBytes   = 1 << 20
	// MaxSpaceObjects and MaxSpaceBytes are the limits of a space.
	MaxSpaceObjects = 1000
	MaxSpaceBytes   = 8 << 20
	// MaxProblems is how many problems a target names.
	MaxProblems = 20
)

// Rule is one Upsync.
type Rule struct {
	// UID is that of the Upsync at the parent, empty where the parent has not said it.
	UID     string
	Clauses []Clause
}

// Clause selects objects: every field that is set must match.
type Clause struct {
	// APIVersion, such as v1 or cert-manager.io/v1, in which the objects are read and written.
	APIVersion string `json:"apiVersion,omitempty"`
	// Resources are lower-case plurals.
	Resources []string `json:"resources"`
	// Namespaces and Names are those of the space; empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`
	// LabelSelector is over the labels of the object.
	LabelSelector *variant.Selector `json:"labelSelector,omitempty"`
}

// stored is an Upsync, as far as it is read here.
type stored struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Objects []Clause `json:"objects"`
	} `json:"spec"`
}

// Parse reads an Upsync. A rule is returned only without problems.
func Parse(body []byte) (*Rule, []variant.Problem) {
	var o stored
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, []variant.Problem{{Field: "spec", Message: "it is not understood: " + err.Error()}}
	}
	if problems := Check("spec.objects", o.Spec.Objects); len(problems) > 0 {
		return nil, problems
	}
	return &Rule{UID: o.Metadata.Annotations["skerry.dev/origin-uid"], Clauses: o.Spec.Objects}, nil
}

// Check returns what is wrong with the clauses that a field has.
func Check(field string, clauses []Clause) (out []variant.Problem) {
	say := func(field, format string, args ...any) {
		out = append(out, variant.Problem{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if len(clauses) > MaxClauses {
		say(field, "%d clauses, at most %d are understood: put resources or names of several into one",
			len(clauses), MaxClauses)
		return out
	}
	for i, c := range clauses {
		at := fmt.Sprintf("%s[%d]", field, i)
		if strings.Count(c.APIVersion, "/") > 1 || c.Version() == "" {
			say(at+".apiVersion", "%q is no version of an API: write v1, or GROUP/VERSION", c.APIVersion)
		}
		if len(c.Resources) == 0 {
			say(at+".resources", "at least one resource is needed, such as secrets")
		}
		for j, r := range c.Resources {
			if why := refusesKind(c.Group(), r); why != "" {
				say(fmt.Sprintf("%s.resources[%d]", at, j), "%s", why)
			}
		}
		if c.Group() == "" && slices.Contains(c.Resources, "secrets") && len(c.Names) == 0 &&
			c.LabelSelector.Empty() {
			say(at, "a clause for secrets needs names or labelSelector: without them every Secret would come")
		}
		for j, n := range c.Namespaces {
			if reserved(n) {
				say(fmt.Sprintf("%s.namespaces[%d]", at, j), "what is in namespaces named kube-* and skerry-* never comes")
			}
		}
		if err := c.LabelSelector.Check(); err != nil {
			say(at+".labelSelector", "%s", err)
		}
	}
	return out
}

// Group is the API group of the objects, empty for the core group.
func (c *Clause) Group() string {
	group, _, found := strings.Cut(c.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Version is the version without the group; v1 where nothing is said.
func (c *Clause) Version() string {
	_, version, found := strings.Cut(c.APIVersion, "/")
	switch {
	case c.APIVersion == "":
		return "v1"
	case !found:
		return c.APIVersion
	}
	return version
}

// About reports whether the clause is about the kind of a key.
func (c *Clause) About(k store.Key) bool {
	return c.Group() == k.Group && slices.Contains(c.Resources, k.Resource)
}

// selects reports whether the clause selects an object of the space.
func (c *Clause) selects(k store.Key, labels map[string]string) bool {
	return c.About(k) && k.Namespace != "" &&
		(len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, k.Namespace)) &&
		(len(c.Names) == 0 || slices.Contains(c.Names, k.Name)) &&
		(c.LabelSelector.Empty() || c.LabelSelector.Matches(labels))
}

// Selects returns the version in which an object of the space is read and written. It tells false for
// an object that the rule does not select.
func (r *Rule) Selects(k store.Key, labels map[string]string) (version string, ok bool) {
	for i := range r.Clauses {
		if c := &r.Clauses[i]; c.selects(k, labels) {
			return c.Version(), true
		}
	}
	return "", false
}
