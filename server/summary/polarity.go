package summary

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// polarity is what it means that a condition is True.
type polarity uint8

const (
	unsaid polarity = iota // nobody has said
	good
	bad
)

// polarities are those of the types of one kind's conditions.
type polarities map[string]polarity

// ours are the conditions that the center and agents put on objects of any kind.
var ours = polarities{
	v1alpha1.ConditionObjectSynced: good, v1alpha1.ConditionObjectScheduled: good,
	v1alpha1.ConditionObjectReachable: good, v1alpha1.ConditionObjectMoving: bad,
	v1alpha1.ConditionObjectAltered: bad,
}

// customKinds are what kstatus reads of kinds that it does not know, and what placement.Judge and
// placement.Failure read.
var customKinds = alsoOurs(polarities{
	"Ready": good, "Available": good, "Reconciling": bad, "Stalled": bad, "Failed": bad})

// builtIn are the conditions of Kubernetes' own kinds, as the constants of k8s.io/api say.
var builtIn = map[string]polarities{
	"apps/deployments":        alsoOurs(polarities{"Available": good, "Progressing": good, "ReplicaFailure": bad}),
	"apps/replicasets":        alsoOurs(polarities{"ReplicaFailure": bad}),
	"/replicationcontrollers": alsoOurs(polarities{"ReplicaFailure": bad}),
	"batch/jobs": alsoOurs(polarities{"Complete": good, "SuccessCriteriaMet": good, "Failed": bad,
		"FailureTarget": bad, "Suspended": bad}),
	"/pods": alsoOurs(polarities{"Ready": good, "ContainersReady": good, "Initialized": good, "PodScheduled": good,
		"PodReadyToStartContainers": good, "DisruptionTarget": bad, "PodResizePending": bad, "PodResizeInProgress": bad,
		"AllContainersRestarting": bad}),
	"/persistentvolumeclaims": alsoOurs(polarities{"Resizing": bad, "FileSystemResizePending": bad,
		"ControllerResizeError": bad, "NodeResizeError": bad, "ModifyVolumeError": bad, "ModifyingVolume": bad}),
	"autoscaling/horizontalpodautoscalers": alsoOurs(polarities{"AbleToScale": good, "ScalingActive": good,
		"ScalingLimited": bad}),
	"policy/poddisruptionbudgets": alsoOurs(polarities{"DisruptionAllowed": good}),
	"/services":                   alsoOurs(polarities{"LoadBalancerPortsError": bad}),
}

// budgetShares are those of a disruption budget that is divided: where a target lets a Pod go, the budget does.
var budgetShares = alsoOurs(polarities{"DisruptionAllowed": bad})

func alsoOurs(p polarities) polarities {
	maps.Copy(p, ours)
	return p
}

// polaritiesOf are those of a kind.
func polaritiesOf(k store.Key) polarities {
	if p, ok := builtIn[k.Group+"/"+k.Resource]; ok {
		return p
	}
	if placement.BuiltIn(k.Group) {
		return ours
	}
	return customKinds
}

// polaritiesAt are those of an object: its definition may say more.
func polaritiesAt(at placement.Located) polarities {
	of := polaritiesOf(at.Key)
	if at.Divided && placement.Budgets(at.Key.Group, at.Key.Resource) {
		of = budgetShares
	}
	if len(at.Conditions) == 0 {
		return of
	}
	all := polarities{}
	for kind, isGood := range at.Conditions {
		if all[kind] = bad; isGood {
			all[kind] = good
		}
	}
	for kind, is := range of {
		if _, said := all[kind]; !said {
			all[kind] = is
		}
	}
	return alsoOurs(all)
}

// differs is the reason of a condition of which targets say different things, and of which nobody has
// said what is worse.
const differs = "DiffersByTarget"

func isDiffering(c map[string]any) bool {
	return c != nil && c["reason"] == differs && c["status"] == "Unknown"
}

// differing makes this condition of two of which one may be absent. It keeps the latest transition, so
// that the order of merging does not matter.
func differing(a, b map[string]any) map[string]any {
	out := map[string]any{"type": oneOf(a, b)["type"], "status": "Unknown", "reason": differs,
		"message": "its targets say different things"}
	if at := max(fields.String(a, "lastTransitionTime"), fields.String(b, "lastTransitionTime")); at != "" {
		out["lastTransitionTime"] = at
	}
	return out
}

// nameDiffering says in such conditions which targets say what.
func nameDiffering(at placement.Located, of polarities, reports []*store.Report, merged map[string]any) {
	if len(at.Targets) != len(reports) {
		return
	}
	for _, one := range fields.List(merged, "conditions") {
		if c, ok := one.(map[string]any); ok && isDiffering(c) {
			c["message"] = sayings(at, of, reports, fields.String(c, "type"))
		}
	}
}

// sayings says which targets say what of a type of condition.
func sayings(at placement.Located, of polarities, reports []*store.Report, kind string) string {
	says := map[string][]string{}
	for i, r := range reports {
		word := "not told"
		if r != nil {
			if status := statusIn(byType(of, conditionsIn(r.Status))[kind]); status != "" {
				word = status
			}
		}
		says[word] = append(says[word], at.Targets[i])
	}
	var parts []string
	for _, word := range []string{"True", "False", "Unknown", "not told"} {
		if names := says[word]; len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, word+" on "+placement.Some(names))
		}
	}
	return strings.Join(parts, ", ")
}

func conditionsIn(status json.RawMessage) any {
	var s struct {
		Conditions []any `json:"conditions"`
	}
	if json.Unmarshal(status, &s) != nil {
		return nil
	}
	return s.Conditions
}
