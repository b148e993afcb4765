package agent

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/agent/target"
)

// amounts are quantities by resource.
type amounts map[string]resource.Quantity

// maxExtended is how many resources are told beside those that every cluster has.
const maxExtended = 16

// standard are the resources that every cluster has.
var standard = []string{"cpu", "memory", "pods", "ephemeral-storage"}

// add adds quantities that are written as text. What is no quantity is left out.
func (a amounts) add(of map[string]string) { a.sum(amountsOf(of)) }

func (a amounts) sum(of amounts) {
	for name, q := range of {
		have := a[name]
		have.Add(q)
		a[name] = have
	}
}

// most raises a to what of has more.
func (a amounts) most(of amounts) {
	for name, q := range of {
		if have := a[name]; q.Cmp(have) > 0 {
			a[name] = q
		}
	}
}

func amountsOf(of map[string]string) amounts {
	out := amounts{}
	for name, text := range of {
		if q, err := resource.ParseQuantity(text); err == nil {
			out[name] = q
		}
	}
	return out
}

// texts are the quantities as text: the standard ones and the first maxExtended others by name.
func (a amounts) texts() map[string]string {
	if len(a) == 0 {
		return nil
	}
	out, others := map[string]string{}, 0
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(standard, name) {
			if others++; others > maxExtended {
				continue
			}
		}
		q := a[name]
		out[name] = q.String()
	}
	return out
}

func union(a, b amounts) map[string]bool {
	out := map[string]bool{}
	for name := range a {
		out[name] = true
	}
	for name := range b {
		out[name] = true
	}
	return out
}

// podRequests are what a Pod requests, as the scheduler counts it: its containers and those that run
// beside them, or one of its init containers where that is more; what the Pod says as a whole counts
// instead.
func podRequests(p *target.Pod) amounts {
	running, most := amounts{}, amounts{}
	for _, c := range p.Spec.InitContainers {
		asks := amountsOf(c.Resources.Requests)
		if c.RestartPolicy == "Always" {
			running.sum(asks)
			most.most(running)
			continue
		}
		asks.sum(running)
		most.most(asks)
	}
	for _, c := range p.Spec.Containers {
		running.add(c.Resources.Requests)
	}
	running.most(most)
	for name, q := range amountsOf(p.Spec.Resources.Requests) {
		running[name] = q
	}
	running.add(p.Spec.Overhead)
	running["pods"] = *resource.NewQuantity(1, resource.DecimalSI)
	return running
}

// requested are the requests of a ResourceQuota by resource. "cpu" means the same as "requests.cpu".
func requested(of map[string]string) map[string]string {
	out := map[string]string{}
	for name, q := range of {
		if slices.Contains(standard, name) {
			out[name] = q
		}
	}
	for name, q := range of {
		if short, ok := strings.CutPrefix(name, "requests."); ok && short != "storage" {
			out[short] = q
		}
	}
	return out
}
