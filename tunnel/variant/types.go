package variant

import "encoding/json"

// Limits of one Customizer, and of what a space has of them.
const (
	// MaxBytes bounds a Customizer's spec as JSON.
	MaxBytes = 64 << 10
	// MaxPerSpace bounds the Customizers of a space.
	MaxPerSpace = 64
	// MaxRules, MaxChanges bound the rules of a Customizer and each list of changes in a rule.
	MaxRules   = 32
	MaxChanges = 64
	// MaxPointer and MaxDepth bound a JSON pointer, in bytes and in steps.
	MaxPointer = 1 << 10
	MaxDepth   = 64
	// MaxExpressions bounds the {{ }} of one text.
	MaxExpressions = 16
	// MaxProperty bounds the value of a property, in bytes, MaxProperties how many a target has.
	MaxProperty   = 1 << 10
	MaxProperties = 64
	// MaxReasons bounds the failures that a Customizer's status names.
	MaxReasons = 20
)

// Annotation stands on what a target gets: the names of the Customizers that changed it, joined by
// commas.
const Annotation = "skerry.dev/customized-by"

// Values are what a target is known by. They are the body of store.ValuesKey, as JSON.
type Values struct {
	Name       string            `json:"name"`
	Labels     map[string]string `json:"labels,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// Spec is the spec of a Customizer, as server/api/v1alpha1 documents it.
type Spec struct {
	Priority int32    `json:"priority,omitempty"`
	Objects  []Clause `json:"objects"`
	Rules    []Rule   `json:"rules,omitempty"`
	Remove   []string `json:"remove,omitempty"`
}

// Clause matches objects, as a clause of a Placement does.
type Clause struct {
	APIGroup          *string   `json:"apiGroup,omitempty"`
	Resources         []string  `json:"resources,omitempty"`
	Namespaces        []string  `json:"namespaces,omitempty"`
	NamespaceSelector *Selector `json:"namespaceSelector,omitempty"`
	Names             []string  `json:"names,omitempty"`
	LabelSelector     *Selector `json:"labelSelector,omitempty"`
}

// Targets matches targets: their labels, and their names where Names is not empty.
type Targets struct {
	Selector
	Names []string `json:"names,omitempty"`
}

// Rule is what is changed at some targets, in the order of the fields.
type Rule struct {
	Targets *Targets        `json:"targets,omitempty"`
	Images  []Image         `json:"images,omitempty"`
	Hosts   []Host          `json:"hosts,omitempty"`
	Env     []Env           `json:"env,omitempty"`
	Merge   json.RawMessage `json:"merge,omitempty"`
	Patches []Operation     `json:"patches,omitempty"`
	Remove  []string        `json:"remove,omitempty"`
}

// Image swaps parts of the images of containers, or of the texts at Paths.
type Image struct {
	From       string   `json:"from,omitempty"`
	Registry   string   `json:"registry,omitempty"`
	Repository string   `json:"repository,omitempty"`
	Tag        string   `json:"tag,omitempty"`
	Containers []string `json:"containers,omitempty"`
	Paths      []string `json:"paths,omitempty"`
}

// Host swaps hosts of Ingresses and routes.
type Host struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// Env sets an environment variable of containers.
type Env struct {
	Name       string   `json:"name"`
	Value      string   `json:"value"`
	Containers []string `json:"containers,omitempty"`
}

// Operation is one of a JSON patch (RFC 6902).
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Problem is why a Customizer cannot be used: the field, from spec on, and what to do.
type Problem struct{ Field, Message string }

// Error is the field and the message.
func (p Problem) Error() string { return p.Field + ": " + p.Message }
