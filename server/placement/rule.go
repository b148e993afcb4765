package placement

import (
	"fmt"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// ReadyTimeout is how long a move may take where no Placement says otherwise.
const ReadyTimeout = 10 * time.Minute

// Rule is a Placement, compiled.
type Rule struct {
	Name string
	// Created orders rules of one priority: the older wins. RFC 3339, which sorts as text.
	Created  string
	Priority int32
	// Level comes before Priority: who speaks.
	Level Level
	Wish  Wish
	// Sync is the annotation skerry.dev/sync of what it selects.
	Sync string
	// BreakFirst, ReadyTimeout and MinReady say how it moves. MinReady is nil where the Placement does not
	// say it.
	BreakFirst   bool
	ReadyTimeout time.Duration
	MinReady     *time.Duration
	// Hooks run before a target is left.
	Hooks []v1alpha1.MoveHook
	// Volumes says whether what volumes hold moves, and KeepVolumes how long those stay that were left, nil where
	// the Placement does not say it.
	Volumes     v1alpha1.VolumePolicy
	KeepVolumes *time.Duration
	// OverMetered: what volumes hold moves over links that are metered, too.
	OverMetered bool
	// Replication is what it says of the standby of volumes, nil for nothing.
	Replication *v1alpha1.VolumeReplication
	// Failover says whether what it selects leaves a target that is away.
	Failover v1alpha1.FailoverMode
	// Disruption says how many targets must keep what it selects.
	Disruption *v1alpha1.DisruptionPolicy
	// Suspended holds the decision as it is.
	Suspended bool
	// BringsDependencies: what a selected object names goes with it. Duplicates allows StatefulSets
	// on several targets, as Divided does.
	BringsDependencies, Duplicates bool
	// Divided is how replicas are shared out, nil where they are not.
	Divided *Basis

	clauses []clause
}

type clause struct {
	group                        *string
	resources, namespaces, names map[string]bool
	ofNamespace, own             labels.Selector
}

// Subject is an object as rules see it.
type Subject struct {
	Key    store.Key
	Labels labels.Labels
	// NamespaceLabels are the labels of the object's namespace.
	NamespaceLabels labels.Labels
}

// Compile makes a Rule of a Placement. The error names the field that cannot be understood.
func Compile(name, created string, spec v1alpha1.PlacementSpec) (*Rule, error) {
	wish, wrong := compileTargets(field.NewPath("spec", "targets"), spec.Targets)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("compile %w", wrong[0])
	}
	r := &Rule{Name: name, Created: created, Priority: spec.Priority, Level: levelOf(name, spec.Precedence),
		BringsDependencies: spec.BringsDependencies(), Duplicates: spec.Targets.Replicas == v1alpha1.ReplicasDuplicated,
		Wish: wish,
		Sync: FormatSync(spec.Sync, spec.Status.Associated), Suspended: spec.Suspend, Disruption: spec.Disruption,
		Failover:   spec.Failover.Mode,
		BreakFirst: spec.Move.Type == v1alpha1.BreakBeforeMake, ReadyTimeout: ReadyTimeout,
		Hooks: spec.Move.BeforeLeaving, Volumes: spec.Move.Volumes,
		OverMetered: spec.Move.VolumesOverMeteredLinks, Replication: spec.Move.VolumeReplication}
	if t := spec.Move.KeepVolumes; t != nil {
		r.KeepVolumes = &t.Duration
	}
	if s := spec.Move.MinReadySeconds; s != nil {
		r.MinReady = new(time.Duration(*s) * time.Second)
	}
	if spec.Targets.Replicas == v1alpha1.ReplicasDivided {
		basis, err := compileBasis(spec.Targets.Division)
		if err != nil {
			return nil, fmt.Errorf("compile spec.targets.division: %w", err)
		}
		r.Divided, r.Duplicates = basis, true
	}
	if t := spec.Failover.FailbackAfter; t != nil {
		r.Wish.Failback = t.Duration
	}
	if t := spec.Move.ReadyTimeout; t != nil {
		r.ReadyTimeout = t.Duration
	}
	for i, o := range spec.Objects {
		c := clause{
			group:      o.APIGroup,
			resources:  asSet(o.Resources),
			namespaces: asSet(o.Namespaces),
			names:      asSet(o.Names),
		}
		var err error
		if c.ofNamespace, err = optional(o.NamespaceSelector); err != nil {
			return nil, fmt.Errorf("compile spec.objects[%d].namespaceSelector: %w", i, err)
		}
		if c.own, err = optional(o.LabelSelector); err != nil {
			return nil, fmt.Errorf("compile spec.objects[%d].labelSelector: %w", i, err)
		}
		r.clauses = append(r.clauses, c)
	}
	return r, nil
}

func optional(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

func asSet(list []string) map[string]bool {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// Matches reports whether the rule selects an object.
func (r *Rule) Matches(s Subject) bool {
	for i := range r.clauses {
		if r.clauses[i].matches(s) {
			return true
		}
	}
	return false
}

func (c *clause) matches(s Subject) bool {
	switch {
	case c.group != nil && *c.group != s.Key.Group,
		c.resources != nil && !c.resources[s.Key.Resource],
		c.namespaces != nil && !c.namespaces[s.Key.Namespace],
		c.names != nil && !c.names[s.Key.Name],
		c.ofNamespace != nil && (s.Key.Namespace == "" || !c.ofNamespace.Matches(s.NamespaceLabels)),
		c.own != nil && !c.own.Matches(s.Labels):
		return false
	}
	return true
}

// Sort puts rules into the order in which they are asked: by level, by priority, then the older
// first, then by name.
func Sort(rules []*Rule) {
	sort.Slice(rules, func(i, j int) bool {
		a, b := rules[i], rules[j]
		if a.Level != b.Level {
			return a.Level > b.Level
		}
		if a.Priority != b.Priority {
			return a.Priority > b.Priority
		}
		if a.Created != b.Created {
			return a.Created < b.Created
		}
		return a.Name < b.Name
	})
}

// Resolve returns the rule that speaks for an object, nil when none does, and the rules of the same
// priority that select it too and lost. The rules must be sorted.
func Resolve(rules []*Rule, s Subject) (winner *Rule, losers []*Rule) {
	for _, r := range rules {
		if winner != nil && (r.Priority != winner.Priority || r.Level != winner.Level) {
			break
		}
		if !r.Matches(s) {
			continue
		}
		if winner == nil {
			winner = r
		} else {
			losers = append(losers, r)
		}
	}
	return winner, losers
}
