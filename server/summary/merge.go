package summary

import (
	"bytes"
	"encoding/json"
	"sort"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// rule says how one field of many statuses becomes one. Each is associative and commutative.
type rule uint8

const (
	same       rule = iota // kept when all have it and it is equal, else left out: the default
	sum                    // numbers; absent is 0
	counted                // numbers that are taken together from the worst target, see worstCounts
	least                  // numbers; absent is 0
	earliest               // times; those that have none do not count
	latest                 // times; those that have none do not count
	last                   // times; left out when one has none
	union                  // lists, each element once
	worst                  // conditions, by type
	severest               // phases, see severity
	balancer               // a map with the list "ingress", united
	containers             // container statuses, by name, see worstContainers
)

// typed are the statuses whose fields are known. Fields that are not listed follow `same`.
var typed = map[string]map[string]rule{
	"apps/deployments":        rules(counted, fieldsOf("apps/deployments")...),
	"apps/statefulsets":       rules(counted, fieldsOf("apps/statefulsets")...),
	"apps/replicasets":        rules(counted, fieldsOf("apps/replicasets")...),
	"/replicationcontrollers": rules(counted, fieldsOf("/replicationcontrollers")...),
	"apps/daemonsets": rules(sum, "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
		"numberReady", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
	"batch/jobs": with(rules(counted, fieldsOf("batch/jobs")...),
		map[string]rule{"startTime": earliest, "completionTime": last}),
	"batch/cronjobs":              {"active": union, "lastScheduleTime": latest, "lastSuccessfulTime": latest},
	"/services":                   {"conditions": worst, "loadBalancer": balancer},
	"networking.k8s.io/ingresses": {"loadBalancer": balancer},
	"/persistentvolumeclaims":     {"conditions": worst, "phase": severest},
	"/pods": {
		"conditions":            worst,
		"phase":                 severest,
		"startTime":             earliest,
		"observedGeneration":    least,
		"containerStatuses":     containers,
		"initContainerStatuses": containers,
	},
	"autoscaling/horizontalpodautoscalers": with(
		rules(counted, fieldsOf("autoscaling/horizontalpodautoscalers")...),
		map[string]rule{"lastScaleTime": latest}),
	"policy/poddisruptionbudgets": rules(counted, fieldsOf("policy/poddisruptionbudgets")...),
}

func rules(of rule, fields ...string) map[string]rule {
	m := map[string]rule{"conditions": worst, "observedGeneration": least}
	for _, f := range fields {
		m[f] = of
	}
	return m
}

func with(m, more map[string]rule) map[string]rule {
	for f, r := range more {
		m[f] = r
	}
	return m
}

// ruleOf tells how a field merges. Of kinds that are not known only counts of replicas are counted:
// of no other number is known what it counts.
func ruleOf(k store.Key, field string) rule {
	if t, ok := typed[k.Group+"/"+k.Resource]; ok {
		return t[field]
	}
	switch {
	case field == "conditions":
		return worst
	case field == "observedGeneration":
		return least
	case isReplicas(field):
		return counted
	}
	return same
}

// Division says what a status of many targets counts.
type Division bool

const (
	// Copies: every target has all replicas. The counts are those of the worst target, so that they
	// compare with spec.replicas.
	Copies Division = false
	// Shares: spec.replicas are shared out among the targets. The counts are sums.
	Shares Division = true
)

// repeatsAdd reports whether a status that is merged once more changes what there is: where a field is a
// sum.
func repeatsAdd(k store.Key, d Division) bool {
	for _, r := range typed[k.Group+"/"+k.Resource] {
		if r == sum {
			return true
		}
	}
	return d == Shares
}

// Merge makes one status of two of one kind, each of one target or itself merged. It is associative
// and commutative, so that tiers may merge what tiers merged. A target that has not reported counts
// as what unreported returns.
func Merge(k store.Key, d Division, a, b map[string]any) map[string]any {
	return mergeBy(polaritiesOf(k), k, d, a, b)
}

// mergeBy is Merge with the polarities of conditions.
func mergeBy(of polarities, k store.Key, d Division, a, b map[string]any) map[string]any {
	out := map[string]any{}
	one := func(field string, a, b any) {
		r := ruleOf(k, field)
		if r == counted && d == Shares {
			r = sum
		}
		if r == worst && !placement.BuiltIn(k.Group) {
			if v := worstOf(of, a, b, untold); v != nil {
				out[field] = v
			}
			return
		}
		combine(of, k, out, field, r, a, b)
	}
	ends := isJob(k) && ended(a) && ended(b)
	if isJob(k) {
		a, b = aboutToFail(a), aboutToFail(b)
	}
	for field := range a {
		one(field, a[field], b[field])
	}
	for field := range b {
		if _, both := a[field]; !both {
			one(field, nil, b[field])
		}
	}
	if d == Copies {
		worstCounts(k, out, a, b)
	}
	if isJob(k) && !ends {
		unended(out)
	}
	return out
}

// unreported is the status of an object at a target that has said nothing of it: empty, but for kinds
// whose phase everybody reads.
func unreported(k store.Key) map[string]any {
	if k.Group == "" && (k.Resource == "pods" || k.Resource == "persistentvolumeclaims") {
		return map[string]any{"phase": "Pending"}
	}
	return map[string]any{}
}

func combine(of polarities, k store.Key, out map[string]any, field string, r rule, a, b any) {
	var v any
	switch r {
	case sum:
		v = num(a) + num(b)
	case least:
		v = min(num(a), num(b))
	case counted: // worstCounts sets them
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
		v = worstOf(of, a, b, nil)
	case balancer:
		v = unitedBalancer(a, b)
	case containers:
		v = worstContainers(a, b)
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
