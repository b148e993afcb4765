package placement

import (
	"encoding/json"
	"fmt"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Constraints are what a Placement requires of its targets beyond names, selectors and count,
// compiled. They are not changed.
type Constraints struct {
	text         string // what they were compiled of, so that equal ones can be told
	versionText  string
	version      semver.Range
	apis         []API
	properties   []v1alpha1.PropertyRequirement
	cel          []*expression
	tolerations  []corev1.Toleration
	affinity     []Affinity
	antiAffinity []Affinity
	spread       []v1alpha1.Spread
	preferences  []preference
	groups       []labels.Selector
}

// group is the number of the first group that has a target, and that of all groups for one in none.
func (c *Constraints) group(t *Target) int {
	if c == nil {
		return 0
	}
	for i, s := range c.groups {
		if s.Matches(t.Labels) {
			return i
		}
	}
	return len(c.groups)
}

// Avoids are the terms of antiAffinity, see Neighbour.
func (c *Constraints) Avoids() []Affinity {
	if c == nil {
		return nil
	}
	return c.antiAffinity
}

// Related reports whether a decision depends on where other Placements are.
func (c *Constraints) Related() bool {
	return c != nil && len(c.affinity)+len(c.antiAffinity) > 0
}

// Tolerations of taints.
func (c *Constraints) Tolerations() []corev1.Toleration {
	if c == nil {
		return nil
	}
	return c.tolerations
}

// compileTargets makes a Wish of what a Placement says of its targets, and says of every field that
// cannot be understood, or fulfilled by any target, why and what to write instead.
func compileTargets(at *field.Path, t v1alpha1.TargetClause) (w Wish, wrong field.ErrorList) {
	w = Wish{Names: t.Names}
	if t.Count != nil {
		w.Count, w.None = int(*t.Count), *t.Count == 0
	}
	for i := range t.Selectors {
		s, err := metav1.LabelSelectorAsSelector(&t.Selectors[i])
		if err != nil {
			wrong = append(wrong, field.Invalid(at.Child("selectors").Index(i), "", err.Error()))
			continue
		}
		w.Selectors = append(w.Selectors, s)
	}
	rest := t
	rest.Selectors, rest.Names, rest.Count, rest.Replicas, rest.Division = nil, nil, nil, "", nil
	text, err := json.Marshal(rest)
	if err != nil {
		return w, append(wrong, field.InternalError(at, err))
	}
	if string(text) == "{}" {
		return w, wrong
	}
	c := &Constraints{text: string(text), properties: t.Properties, tolerations: t.Tolerations, spread: t.Spread}
	w.Constraints = c
	for i := range t.Groups {
		s, err := metav1.LabelSelectorAsSelector(&t.Groups[i].Selector)
		if err != nil {
			wrong = append(wrong, field.Invalid(at.Child("groups").Index(i).Child("selector"), "", err.Error()))
			continue
		}
		w.Selectors, c.groups = append(w.Selectors, s), append(c.groups, s)
	}
	wrong = append(wrong, c.compileFilters(at, t)...)
	wrong = append(wrong, c.compileRelations(at, t)...)
	return w, append(wrong, contradictions(at, t)...)
}

func (c *Constraints) compileFilters(at *field.Path, t v1alpha1.TargetClause) (wrong field.ErrorList) {
	if t.KubernetesVersion != "" {
		r, err := semver.ParseRange(t.KubernetesVersion)
		if err != nil {
			wrong = append(wrong, field.Invalid(at.Child("kubernetesVersion"), t.KubernetesVersion,
				err.Error()+`: write a range with all three numbers, such as ">=1.30.0 <1.34.0"`))
		}
		c.version, c.versionText = r, t.KubernetesVersion
	}
	for i, text := range t.RequiresAPIs {
		a, ok := ParseAPI(text)
		if !ok {
			wrong = append(wrong, field.Invalid(at.Child("requiresAPIs").Index(i), text,
				"write group/version/resource, such as apps/v1/deployments, or v1/pods"))
		}
		c.apis = append(c.apis, a)
	}
	cost := uint64(0)
	for i, e := range t.CEL {
		compiled, err := compileCEL(e)
		if err != nil {
			wrong = append(wrong, field.Invalid(at.Child("cel").Index(i).Child("expression"), e.Expression, err.Error()))
			continue
		}
		if cost += compiled.cost; cost > CELCost {
			wrong = append(wrong, field.Invalid(at.Child("cel").Index(i).Child("expression"), e.Expression, fmt.Sprintf(
				"this one and those before it may cost %d for one target, %d is the most: leave some out", cost, CELCost)))
			continue
		}
		c.cel = append(c.cel, compiled)
	}
	return wrong
}

func (c *Constraints) compileRelations(at *field.Path, t v1alpha1.TargetClause) (wrong field.ErrorList) {
	terms := func(name string, list []v1alpha1.PlacementAffinity) (out []Affinity) {
		for i, term := range list {
			s, err := optional(term.Selector)
			if err != nil {
				wrong = append(wrong, field.Invalid(at.Child(name).Index(i).Child("selector"), "", err.Error()))
			}
			out = append(out, Affinity{names: term.Placements, selector: s, by: term.By})
		}
		return out
	}
	c.affinity, c.antiAffinity = terms("affinity", t.Affinity), terms("antiAffinity", t.AntiAffinity)
	for i, p := range t.Preferences {
		s, err := optional(p.Selector)
		if err != nil {
			wrong = append(wrong, field.Invalid(at.Child("preferences").Index(i).Child("selector"), "", err.Error()))
		}
		c.preferences = append(c.preferences, preference{int64(p.Weight), s, p.FreeCapacity})
	}
	return wrong
}

// contradictions are fields of which each can be understood and that no target fulfils together.
func contradictions(at *field.Path, t v1alpha1.TargetClause) (wrong field.ErrorList) {
	for i, a := range t.Affinity {
		for _, b := range t.AntiAffinity {
			if a.By == b.By && sameTerm(a, b) {
				wrong = append(wrong, field.Invalid(at.Child("affinity").Index(i), a.By,
					"antiAffinity has the same term, so that no target fits: remove one of them"))
			}
		}
	}
	seen := map[string]v1alpha1.PropertyRequirement{}
	for i, r := range t.Properties {
		if r.Operator != v1alpha1.PropertyExists && r.Operator != v1alpha1.PropertyDoesNotExist {
			continue
		}
		if other, ok := seen[r.Name]; ok && other.Operator != r.Operator {
			wrong = append(wrong, field.Invalid(at.Child("properties").Index(i), r.Name,
				"the property must exist and must not exist, so that no target fits: remove one of the two"))
		}
		seen[r.Name] = r
	}
	for i, s := range t.Spread {
		if s.MinGroups != nil && t.Count != nil && *t.Count > 0 && *s.MinGroups > *t.Count {
			wrong = append(wrong, field.Invalid(at.Child("spread").Index(i).Child("minGroups"), *s.MinGroups,
				fmt.Sprintf("%d targets cannot be in so many groups: raise count, or lower minGroups", *t.Count)))
		}
	}
	return wrong
}

func sameTerm(a, b v1alpha1.PlacementAffinity) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Validate says what is wrong with a Placement: what cannot be understood, costs too much, or can never
// be fulfilled.
func Validate(spec v1alpha1.PlacementSpec) field.ErrorList {
	at := field.NewPath("spec")
	wish, wrong := compileTargets(at.Child("targets"), spec.Targets)
	check := func(s *metav1.LabelSelector, at *field.Path) {
		if _, err := optional(s); err != nil {
			wrong = append(wrong, field.Invalid(at, metav1.FormatLabelSelector(s), err.Error()))
		}
	}
	check(spec.SpaceSelector, at.Child("spaceSelector"))
	for i, o := range spec.Objects {
		check(o.NamespaceSelector, at.Child("objects").Index(i).Child("namespaceSelector"))
		check(o.LabelSelector, at.Child("objects").Index(i).Child("labelSelector"))
	}
	if d := spec.Targets.Division; d != nil {
		weights := at.Child("targets", "division", "weights")
		for i, w := range d.Weights {
			check(w.Selector, weights.Index(i).Child("selector"))
		}
		if b, err := compileBasis(d); err == nil && b.weighsNothing(wish) {
			wrong = append(wrong, field.Invalid(weights, 0, "all targets have weight 0, so that one gets all replicas: "+
				"give at least one of them a weight from 1 to 1000"))
		}
	}
	return append(wrong, labelKeys(at, spec)...)
}

// labelKeys refuses what is to be the key of a label and can be none: no target would ever have it.
func labelKeys(at *field.Path, spec v1alpha1.PlacementSpec) (wrong field.ErrorList) {
	check := func(key string, at *field.Path) {
		if key == "" {
			return
		}
		for _, why := range validation.IsQualifiedName(key) {
			wrong = append(wrong, field.Invalid(at, key, "write the key of a label of SyncTargets: "+why))
		}
	}
	targets := at.Child("targets")
	for i, s := range spec.Targets.Spread {
		check(s.By, targets.Child("spread").Index(i).Child("by"))
	}
	for i, a := range spec.Targets.Affinity {
		check(a.By, targets.Child("affinity").Index(i).Child("by"))
	}
	for i, a := range spec.Targets.AntiAffinity {
		check(a.By, targets.Child("antiAffinity").Index(i).Child("by"))
	}
	check(spec.Rollout.GroupBy, at.Child("rollout", "groupBy"))
	return wrong
}

// preference raises the score of targets.
type preference struct {
	weight   int64
	selector labels.Selector
	free     string
}
