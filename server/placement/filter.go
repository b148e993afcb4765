package placement

import (
	"fmt"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/store/clip"
)

// Filter names what a target must pass to be chosen.
type Filter string

// The filters in the order in which they are asked, and what a target that passes them all can
// still lack.
const (
	FilterSelected          Filter = "NotSelected"
	FilterSpreadLabel       Filter = "SpreadLabelMissing"
	FilterKubernetesVersion Filter = "KubernetesVersion"
	FilterProperties        Filter = "Properties"
	FilterCEL               Filter = "CEL"
	FilterNoExecute         Filter = "NoExecuteTaint"
	FilterAffinity          Filter = "Affinity"
	FilterNoSchedule        Filter = "NoScheduleTaint"
	FilterUnschedulable     Filter = "Unschedulable"
	FilterAPIs              Filter = "APINotServed"
	FilterAntiAffinity      Filter = "AntiAffinity"
	// FilterSpread and FilterCount say that others were chosen.
	FilterSpread Filter = "Spread"
	FilterCount  Filter = "Count"
)

// usual reports whether a filter is there to keep new objects away alone, so that nobody need be
// told of what stays.
func (f Filter) usual() bool {
	return f == FilterNoSchedule || f == FilterUnschedulable || f == FilterAntiAffinity
}

// answer is what a filter says of a target.
type answer uint8

const (
	passes answer = iota
	// keepsNew: the target gets nothing new; what is there stays. Unknown facts are such, too.
	keepsNew
	// fails: what is there leaves as well.
	fails
)

// evaluation is what one decision asks of every target.
type evaluation struct {
	wish      *Wish
	world     *World
	names     map[string]bool
	selectors []labels.Selector
	around    surroundings
	// again is when the first toleration ends by which something stays.
	again time.Time
}

// check asks a filter about a target. The detail is for people and may be empty.
type check func(e *evaluation, t *Target) (a answer, detail string)

// filters are asked in this order. Those that make something leave come before those that only keep
// new things away.
var filters = []struct {
	name Filter
	ask  check
}{
	{FilterSelected, (*evaluation).selected},
	{FilterSpreadLabel, (*evaluation).spreadLabels},
	{FilterKubernetesVersion, (*evaluation).kubernetesVersion},
	{FilterProperties, (*evaluation).properties},
	{FilterCEL, (*evaluation).expressions},
	{FilterNoExecute, (*evaluation).noExecute},
	{FilterAffinity, (*evaluation).affinity},
	{FilterNoSchedule, (*evaluation).noSchedule},
	{FilterUnschedulable, (*evaluation).unschedulable},
	{FilterAPIs, (*evaluation).apis},
	{FilterAntiAffinity, (*evaluation).antiAffinity},
}

// judge asks all filters about a target. Of several answers the first that fails is told, else the
// first that keeps new things away.
func (e *evaluation) judge(c *candidate) {
	for i := range filters {
		a, detail := filters[i].ask(e, c.target)
		if a == passes || a == keepsNew && c.answer == keepsNew {
			continue
		}
		c.answer, c.filter, c.detail = a, filters[i].name, detail
		if a == fails {
			return
		}
	}
}

func (e *evaluation) selected(t *Target) (answer, string) {
	if e.names[t.Name] {
		return passes, ""
	}
	for _, s := range e.selectors {
		if s.Matches(t.Labels) {
			return passes, ""
		}
	}
	return fails, ""
}

func (e *evaluation) spreadLabels(t *Target) (answer, string) {
	if c := e.wish.Constraints; c != nil {
		for i := range c.spread {
			if !t.Labels.Has(c.spread[i].By) {
				return fails, "it has no label " + c.spread[i].By + ", by which to spread"
			}
		}
	}
	return passes, ""
}

func (e *evaluation) kubernetesVersion(t *Target) (answer, string) {
	c := e.wish.Constraints
	if c == nil || c.version == nil {
		return passes, ""
	}
	if t.Facts == nil || t.Facts.KubernetesVersion == "" {
		return keepsNew, "it has not reported its version"
	}
	v, ok := parseVersion(t.Facts.KubernetesVersion)
	switch {
	case !ok:
		return keepsNew, "its version " + t.Facts.KubernetesVersion + " is not understood"
	case !c.version(v):
		return fails, "its version " + t.Facts.KubernetesVersion + " is not in " + c.versionText
	}
	return passes, ""
}

func (e *evaluation) properties(t *Target) (answer, string) {
	c := e.wish.Constraints
	if c == nil || len(c.properties) == 0 {
		return passes, ""
	}
	if t.Facts == nil || t.Facts.APIs == nil && t.Facts.Properties == nil { // both come at once
		return keepsNew, "it has not reported its properties"
	}
	for i := range c.properties {
		if r := &c.properties[i]; !meets(r, t.Facts.Properties) {
			return fails, "its properties do not fulfil: " + requirementText(r)
		}
	}
	return passes, ""
}

func (e *evaluation) expressions(t *Target) (answer, string) {
	if e.wish.Constraints == nil {
		return passes, ""
	}
	first, detail := passes, ""
	for _, x := range e.wish.Constraints.cel {
		holds, err := x.holds(t)
		switch {
		case err != nil && first == passes:
			first, detail = keepsNew, "evaluate "+x.text+": "+err.Error()
		case err != nil || holds:
		case x.message != "":
			return fails, x.message
		default:
			return fails, x.text + " is false"
		}
	}
	return first, detail
}

func (e *evaluation) noExecute(t *Target) (answer, string) {
	if len(t.Taints) == 0 {
		return passes, ""
	}
	tolerations := e.wish.Constraints.Tolerations()
	until, ends := ToleratedUntil(t.Taints, tolerations)
	if !ends || until.After(e.world.Now) {
		return passes, ""
	}
	for i := range t.Taints {
		taint := &t.Taints[i]
		if u, ends := ToleratedUntil([]corev1.Taint{*taint}, tolerations); ends && !u.After(e.world.Now) {
			return keepsNew, "it has the taint " + taint.ToString() + ", which is not tolerated"
		}
	}
	return passes, ""
}

func (e *evaluation) noSchedule(t *Target) (answer, string) {
	if len(t.Taints) == 0 {
		return passes, ""
	}
	tolerations := e.wish.Constraints.Tolerations()
	if taint, found := Untolerated(t.Taints, tolerations); found {
		return keepsNew, "it has the taint " + taint.ToString() + ", which is not tolerated"
	}
	if until, ends := ToleratedUntil(t.Taints, tolerations); ends {
		at := until.UTC().Format(time.RFC3339)
		return keepsNew, "its taints are tolerated for what is there only, until " + at
	}
	return passes, ""
}

func (e *evaluation) unschedulable(t *Target) (answer, string) {
	if t.Unschedulable || t.Closed != "" {
		return keepsNew, t.Closed
	}
	return passes, ""
}

func (e *evaluation) apis(t *Target) (answer, string) {
	c := e.wish.Constraints
	if c != nil && len(c.apis) > 0 && (t.Facts == nil || t.Facts.APIs == nil) {
		return keepsNew, "it has not reported what it serves"
	}
	if t.Facts == nil || t.Facts.APIs == nil {
		return passes, ""
	}
	if c != nil {
		for _, a := range c.apis {
			if !t.Facts.APIs.Serves(a) {
				return keepsNew, "its cluster does not serve " + a.String()
			}
		}
	}
	for _, a := range e.world.Needs {
		if !t.Facts.APIs.Serves(a) {
			return keepsNew, "its cluster does not serve " + a.String() + ", which the objects are of"
		}
	}
	return passes, ""
}

func (e *evaluation) affinity(t *Target) (answer, string) {
	for i := range e.around.with {
		if v := &e.around.with[i]; !v.near(t) {
			return fails, "it is not near to the objects of " + v.who
		}
	}
	return passes, ""
}

func (e *evaluation) antiAffinity(t *Target) (answer, string) {
	for i := range e.around.apart {
		if v := &e.around.apart[i]; v.near(t) {
			return keepsNew, "it is too near to the objects of " + v.who
		}
	}
	return passes, ""
}

// sentences say what a filter found that gives no detail.
var sentences = map[Filter]string{
	FilterSelected:      "no selector and no name of the wish matches the target",
	FilterUnschedulable: "it is cordoned",
	FilterSpread:        "the spread needs another target",
	FilterCount:         "enough others are chosen",
}

// maxMessage is how long the message of one filter is, in bytes.
const maxMessage = 300

// message says for people why a target is not chosen, or gets nothing new.
func message(f Filter, detail string) string {
	if detail == "" {
		return sentences[f]
	}
	return clip.Dotted(detail, maxMessage)
}

// summary counts the selected candidates that do not fit, by why, the most frequent first.
func summary(all []candidate) string {
	type count struct {
		text string
		n    int
	}
	var counts []count
	index := map[string]int{}
	fit, selected := 0, 0
	for i := range all {
		c := &all[i]
		if c.filter == FilterSelected {
			continue
		}
		if selected++; c.answer == passes {
			fit++
			continue
		}
		text := message(c.filter, c.detail)
		if j, ok := index[text]; ok {
			counts[j].n++
			continue
		}
		if index[text] = len(counts); len(counts) < maxReasons {
			counts = append(counts, count{text, 1})
		} else {
			index[text] = len(counts) - 1
			counts[len(counts)-1] = count{"other reasons", counts[len(counts)-1].n + 1}
		}
	}
	sort.SliceStable(counts, func(i, j int) bool { return counts[i].n > counts[j].n })
	parts := make([]string, 0, len(counts))
	for _, c := range counts {
		parts = append(parts, fmt.Sprintf("%d: %s", c.n, c.text))
	}
	text := fmt.Sprintf("%d of the %d targets that are selected fit", fit, selected)
	if len(parts) > 0 {
		text += "; of the others " + strings.Join(parts, "; ")
	}
	return text
}

// maxReasons is how many reasons a summary tells apart.
const maxReasons = 8

// tolerated notes when a toleration ends by which something stays on a target.
func (e *evaluation) tolerated(t *Target) {
	if len(t.Taints) == 0 {
		return
	}
	until, ends := ToleratedUntil(t.Taints, e.wish.Constraints.Tolerations())
	if ends && (e.again.IsZero() || until.Before(e.again)) {
		e.again = until
	}
}
