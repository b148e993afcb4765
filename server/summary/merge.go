package summary

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"

	"skerry.dev/skerry/store"
)

// rule says how one field of many statuses becomes one. Each is associative and commutative.
type rule uint8

const (
	same     rule = iota // kept when all have it and it is equal, else left out: the default
	sum                  // numbers; absent is 0
	least                // numbers; absent is 0, and 0 is left out
	earliest             // times; those that have none do not count
	latest               // times; those that have none do not count
	last                 // times; left out when one has none
	union                // lists, each element once
	worst                // conditions, by type
	severest             // phases, see severity
	balancer             // a map with the list "ingress", united
)

// typed are the statuses whose fields are known. Fields that are not listed follow `same`.
var typed = map[string]map[string]rule{
	"apps/deployments": sums("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
		"terminatingReplicas"),
	"apps/statefulsets": sums(
		"replicas",
		"readyReplicas",
		"currentReplicas",
		"updatedReplicas",
		"availableReplicas",
	),
	"apps/replicasets": sums(
		"replicas",
		"fullyLabeledReplicas",
		"readyReplicas",
		"availableReplicas",
		"terminatingReplicas",
	),
	"/replicationcontrollers": sums("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
	"apps/daemonsets": sums("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
		"updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
	"batch/jobs": with(sums("active", "succeeded", "failed", "ready", "terminating"),
		map[string]rule{"startTime": earliest, "completionTime": last}),
	"batch/cronjobs":              {"active": union, "lastScheduleTime": latest, "lastSuccessfulTime": latest},
	"/services":                   {"conditions": worst, "loadBalancer": balancer},
	"networking.k8s.io/ingresses": {"loadBalancer": balancer},
	"/persistentvolumeclaims":     {"conditions": worst, "phase": severest},
	"/pods": {
		"conditions":         worst,
		"phase":              severest,
		"startTime":          earliest,
		"observedGeneration": least,
	},
	"autoscaling/horizontalpodautoscalers": with(sums("currentReplicas", "desiredReplicas"),
		map[string]rule{"lastScaleTime": latest}),
	"policy/poddisruptionbudgets": sums("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
}

func sums(fields ...string) map[string]rule {
	m := map[string]rule{"conditions": worst, "observedGeneration": least}
	for _, f := range fields {
		m[f] = sum
	}
	return m
}

func with(m, more map[string]rule) map[string]rule {
	for f, r := range more {
		m[f] = r
	}
	return m
}

// ruleOf tells how a field merges. Of kinds that are not known only counts of replicas are added
// up: no other number is known to be one that may be.
func ruleOf(k store.Key, field string) rule {
	if t, ok := typed[k.Group+"/"+k.Resource]; ok {
		return t[field]
	}
	switch {
	case field == "conditions":
		return worst
	case field == "observedGeneration":
		return least
	case field == "replicas" || strings.HasSuffix(field, "Replicas"):
		return sum
	}
	return same
}

// Merge makes one status of two of one kind, each of one target or itself merged. It is associative
// and commutative, so that tiers may merge what tiers merged. A target that has not reported counts
// as an empty status.
func Merge(k store.Key, a, b map[string]any) map[string]any {
	out := map[string]any{}
	for field := range a {
		combine(out, field, ruleOf(k, field), a[field], b[field])
	}
	for field := range b {
		if _, both := a[field]; !both {
			combine(out, field, ruleOf(k, field), nil, b[field])
		}
	}
	return out
}

func combine(out map[string]any, field string, r rule, a, b any) {
	var v any
	switch r {
	case sum:
		v = num(a) + num(b)
	case least:
		if n := min(num(a), num(b)); n > 0 {
			v = n
		}
	case earliest:
		v = pick(a, b, func(x, y string) bool { return x < y }, true)
	case latest:
		v = pick(a, b, func(x, y string) bool { return x > y }, true)
	case last:
		v = pick(a, b, func(x, y string) bool { return x > y }, false)
	case severest:
		v = pick(
			a,
			b,
			func(x, y string) bool { return severity(x) > severity(y) || severity(x) == severity(y) && x > y },
			true,
		)
	case union:
		v = unite(a, b)
	case worst:
		v = worstOf(a, b)
	case balancer:
		v = unitedBalancer(a, b)
	default:
		if a != nil && b != nil && bytes.Equal(encode(a), encode(b)) {
			v = a
		}
	}
	if v != nil {
		out[field] = v
	}
}

// pick returns the one of two texts that is better. If one is not there it returns the other, or
// nothing when both are needed.
func pick(a, b any, better func(x, y string) bool, oneIsEnough bool) any {
	x, okX := a.(string)
	y, okY := b.(string)
	switch {
	case okX && okY && better(x, y):
		return x
	case okX && okY:
		return y
	case okX && oneIsEnough:
		return x
	case okY && oneIsEnough:
		return y
	}
	return nil
}

// severity orders phases of Pods and claims: what people should look at first is greatest.
func severity(phase string) int {
	switch phase {
	case "Failed", "Lost":
		return 5
	case "Unknown":
		return 4
	case "Pending":
		return 3
	case "Running", "Bound":
		return 2
	case "Succeeded":
		return 1
	}
	return 0
}

func unite(a, b any) any {
	seen := map[string]any{}
	for _, list := range []any{a, b} {
		l, _ := list.([]any)
		for _, e := range l {
			seen[string(encode(e))] = e
		}
	}
	if len(seen) == 0 {
		return nil
	}
	keys := make([]string, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := make([]any, 0, len(keys))
	for _, k := range keys {
		out = append(out, seen[k])
	}
	return out
}

func unitedBalancer(a, b any) any {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	out := map[string]any{}
	if list := unite(x["ingress"], y["ingress"]); list != nil {
		out["ingress"] = list
	}
	return out
}

func num(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	case int:
		return float64(n)
	}
	return 0
}

// encode is canonical JSON: maps are sorted, 1 and 1.0 are the same.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // what was decoded from JSON can be encoded
	}
	return b
}
