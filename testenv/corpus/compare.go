package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// difference is one place at which an object differs between the cluster and the space.
type difference struct {
	object, path   string
	cluster, space string
	// reason is why that is right, or "" for a defect.
	reason string
	// step is when a bundle differs.
	step string
}

const absent = "(absent)"

func (d difference) String() string {
	at := ""
	if d.step != "" {
		at = "(" + d.step + ") "
	}
	return fmt.Sprintf("%s%s %s: cluster %s, space %s", at, d.object, d.path, short(d.cluster), short(d.space))
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 160 {
		return s[:157] + "..."
	}
	return s
}

// tally is how many objects were compared, and how many of them have a status.
type tally struct{ objects, statuses int }

func (t tally) max(other tally) tally {
	if other.objects > t.objects {
		return other
	}
	return t
}

// compare returns what the cluster has and where that of the space differs from it. Objects of one
// key, like the Pods of a ReplicaSet, are compared as sorted sets.
func compare(cluster, space []object) (compared tally, differences []difference) {
	want, got := byKey(cluster), byKey(space)
	keys := maps.Clone(want)
	maps.Copy(keys, got)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		compared.objects += len(want[key])
		for _, leaves := range want[key] {
			if hasStatus(leaves) {
				compared.statuses++
			}
		}
		if len(want[key]) != len(got[key]) {
			differences = append(differences, difference{object: key, path: "*", cluster: count(want[key]),
				space: count(got[key])})
			continue
		}
		for i := range want[key] {
			differences = append(differences, compareLeaves(key, want[key][i], got[key][i])...)
		}
	}
	return compared, differences
}

func hasStatus(leaves map[string]string) bool {
	for path := range leaves {
		if strings.HasPrefix(path, "status.") {
			return true
		}
	}
	return false
}

func count(leaves []map[string]string) string {
	if len(leaves) == 0 {
		return absent
	}
	return fmt.Sprint(len(leaves), " of them")
}

// byKey returns the leaves of the objects of each key, in an order that depends on content alone.
func byKey(objects []object) map[string][]map[string]string {
	out := map[string][]map[string]string{}
	for _, o := range objects {
		out[o.key()] = append(out[o.key()], o.leaves())
	}
	for _, leaves := range out {
		slices.SortFunc(leaves, func(a, b map[string]string) int { return strings.Compare(written(a), written(b)) })
	}
	return out
}

func written(leaves map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(leaves)) {
		b.WriteString(k + "=" + leaves[k] + "\n")
	}
	return b.String()
}

func compareLeaves(key string, want, got map[string]string) (differences []difference) {
	paths := maps.Clone(want)
	maps.Copy(paths, got)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		w, inCluster := want[p]
		g, inSpace := got[p]
		if !inCluster {
			w = absent
		}
		if !inSpace {
			g = absent
		}
		if w != g {
			differences = append(differences, difference{object: key, path: p, cluster: w, space: g})
		}
	}
	return differences
}
