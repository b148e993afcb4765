package summary

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/store"
)

// counts says which fields of a status are taken together: a target's good ones against all that
// it has.
type counts struct {
	all  []string // of what the good ones are some: their sum
	good []string // the least of them counts
	rest []string
}

func (c counts) fields() []string { return slices.Concat(c.all, c.good, c.rest) }

// byKind are the kinds whose counts are known.
var byKind = map[string]counts{
	"apps/deployments": {
		all:  []string{"replicas"},
		good: []string{"updatedReplicas", "readyReplicas", "availableReplicas"},
		rest: []string{"unavailableReplicas", "terminatingReplicas"},
	},
	"apps/statefulsets": {
		all:  []string{"replicas"},
		good: []string{"readyReplicas", "updatedReplicas", "availableReplicas"},
		rest: []string{"currentReplicas"},
	},
	"apps/replicasets": {
		all:  []string{"replicas"},
		good: []string{"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
		rest: []string{"terminatingReplicas"},
	},
	"/replicationcontrollers": {
		all:  []string{"replicas"},
		good: []string{"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
	},
	"batch/jobs": {
		all:  []string{"active", "failed"},
		good: []string{"succeeded"},
		rest: []string{"ready", "terminating"},
	},
	"autoscaling/horizontalpodautoscalers": {
		all:  []string{"desiredReplicas"},
		good: []string{"currentReplicas"},
	},
	"policy/poddisruptionbudgets": {
		all:  []string{"desiredHealthy"},
		good: []string{"currentHealthy"},
		rest: []string{"disruptionsAllowed", "expectedPods"},
	},
}

func fieldsOf(kind string) []string { return byKind[kind].fields() }

func isReplicas(field string) bool {
	return field == "replicas" || strings.HasSuffix(field, "Replicas")
}

// worstCounts puts the counts of the worse of two statuses into out. To mix them would be wrong: the
// least of each field may be of a state that no target is in. Worse is the one of which a smaller part
// is good; of equals the one that has less that is good, then the one that has more in all.
func worstCounts(k store.Key, out, a, b map[string]any) {
	x, y := pickCounts(k, a), pickCounts(k, b)
	if !maps.EqualFunc(x, y, sameNumber) && worseCounts(k, y, x) {
		x = y
	}
	maps.Copy(out, x)
}

// sameNumber reports whether two values are one number, as JSON has it.
func sameNumber(a, b any) bool {
	x, okX := a.(float64)
	y, okY := b.(float64)
	return okX && okY && x == y
}

// pickCounts returns the fields of a status that are counted.
func pickCounts(k store.Key, status map[string]any) map[string]any {
	out := map[string]any{}
	for f, v := range status {
		if ruleOf(k, f) == counted {
			out[f] = v
		}
	}
	return out
}

func worseCounts(k store.Key, a, b map[string]any) bool {
	goodA, allA := weigh(k, a)
	goodB, allB := weigh(k, b)
	switch {
	case goodA*max(allB, 1) != goodB*max(allA, 1):
		return goodA*max(allB, 1) < goodB*max(allA, 1)
	case goodA != goodB:
		return goodA < goodB
	case allA != allB:
		return allA > allB
	}
	return bytes.Compare(encode(a), encode(b)) < 0
}

// weigh returns how much of the counted is good, and how much there is.
func weigh(k store.Key, status map[string]any) (good, all float64) {
	c, known := byKind[k.Group+"/"+k.Resource]
	if !known {
		c.all = []string{"replicas"}
		for f := range status {
			switch f {
			case "readyReplicas", "availableReplicas", "updatedReplicas":
				c.good = append(c.good, f)
			}
		}
	}
	for _, f := range c.all {
		all += num(status[f])
	}
	for i, f := range c.good {
		if n := num(status[f]); i == 0 || n < good {
			good = n
		}
	}
	if k.Group == "batch" {
		all += good
	}
	return good, all
}

// worstContainers merges two lists of container statuses by name: of each the one that people should
// look at first.
func worstContainers(a, b any) any {
	byName := map[string]map[string]any{}
	for _, list := range []any{a, b} {
		l, _ := list.([]any)
		for _, e := range l {
			c, _ := e.(map[string]any)
			name, _ := c["name"].(string)
			if old := byName[name]; name != "" && (old == nil || worseContainer(c, old)) {
				byName[name] = c
			}
		}
	}
	if len(byName) == 0 {
		return nil
	}
	out := make([]any, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}

func worseContainer(a, b map[string]any) bool {
	x, y := containerRank(a), containerRank(b)
	if x != y {
		return x > y
	}
	if m, n := num(a["restartCount"]), num(b["restartCount"]); m != n {
		return m > n
	}
	return bytes.Compare(encode(a), encode(b)) < 0
}

// containerRank is the greater the more a container needs to be looked at.
func containerRank(c map[string]any) int {
	state, _ := c["state"].(map[string]any)
	waiting, _ := state["waiting"].(map[string]any)
	ended, _ := state["terminated"].(map[string]any)
	reason, _ := waiting["reason"].(string)
	ready, _ := c["ready"].(bool)
	switch {
	case strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff"):
		return 5
	case ended != nil && num(ended["exitCode"]) != 0:
		return 4
	case waiting != nil:
		return 3
	case !ready && ended == nil:
		return 2
	case ready:
		return 1
	}
	return 0
}
