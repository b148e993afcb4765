package placement

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/quantity"
	"skerry.dev/skerry/store"
)

// Requests are what pods request: CPU in thousandths, Memory in bytes, and their number.
type Requests struct {
	CPU, Memory, Pods int64
}

// Plus returns the sum of r and o.
func (r Requests) Plus(o Requests) Requests {
	return Requests{add(r.CPU, o.CPU), add(r.Memory, o.Memory), add(r.Pods, o.Pods)}
}

// Minus returns r without o.
func (r Requests) Minus(o Requests) Requests {
	return Requests{r.CPU - o.CPU, r.Memory - o.Memory, r.Pods - o.Pods}
}

// Of returns what that many of the Pods request.
func (r Requests) Of(pods int64) Requests {
	if r.Pods <= 0 || pods >= r.Pods {
		return r
	}
	pods = max(pods, 0)
	// What each Pod requests is a whole number of both units.
	return Requests{r.CPU / r.Pods * pods, r.Memory / r.Pods * pods, pods}
}

// most bounds what one object can ask for, so that sums of many do not overflow.
const most = int64(1) << 52

func add(a, b int64) int64 { return min(a+b, 1<<62) }

// RequestsOf returns what a workload's pods request, times its replicas: the zero value for other
// kinds. A DaemonSet counts as one pod, a CronJob as one run.
func RequestsOf(k store.Key, obj map[string]any) Requests {
	spec := fields.Map(obj, "spec")
	pod := podSpec(k, spec)
	if pod == nil {
		return Requests{}
	}
	n := replicasOf(k, spec)
	if n <= 0 {
		return Requests{}
	}
	one := podRequestsOf(pod)
	return Requests{times(one.CPU, n), times(one.Memory, n), min(n, most)}
}

func times(amount, n int64) int64 {
	if amount > most/n {
		return most
	}
	return amount * n
}

// HasReplicas reports whether the workloads of a resource have replicas that can be divided.
func HasReplicas(group, resource string) bool {
	switch group + "/" + resource {
	case "apps/deployments", "apps/statefulsets", "apps/replicasets", "/replicationcontrollers":
		return true
	}
	return false
}

// Autoscales reports whether objects of a resource say between which replicas a workload is scaled.
func Autoscales(group, resource string) bool {
	return group == "autoscaling" && resource == "horizontalpodautoscalers"
}

// Budgets reports whether objects of a resource say how many of a workload's Pods must be available.
func Budgets(group, resource string) bool {
	return group == "policy" && resource == "poddisruptionbudgets"
}

// Divides reports whether objects of a resource count Pods that a Placement may divide among its targets.
func Divides(group, resource string) bool {
	return HasReplicas(group, resource) || Autoscales(group, resource) || Budgets(group, resource)
}

func replicasOf(k store.Key, spec map[string]any) int64 {
	switch {
	case HasReplicas(k.Group, k.Resource):
		return number(spec, "replicas", 1)
	case k.Group != "batch":
		return 1
	}
	switch k.Resource {
	case "jobs":
		return jobPods(spec)
	case "cronjobs":
		return jobPods(fields.Map(spec, "jobTemplate", "spec"))
	}
	return 1
}

func jobPods(spec map[string]any) int64 {
	if suspended, _ := spec["suspend"].(bool); suspended {
		return 0
	}
	n := number(spec, "parallelism", 1)
	return min(n, number(spec, "completions", n))
}

func number(spec map[string]any, field string, absent int64) int64 {
	if n, ok := fields.Number(spec[field]); ok {
		return n
	}
	return absent
}

// podRequestsOf is what one pod requests, as the scheduler counts it.
func podRequestsOf(pod map[string]any) Requests {
	var running, peak Requests
	for c := range fields.Maps(pod, "initContainers") {
		asks := requestsIn(c)
		if fields.String(c, "restartPolicy") == "Always" {
			running = running.Plus(asks)
			peak = larger(peak, running)
			continue
		}
		peak = larger(peak, running.Plus(asks))
	}
	for c := range fields.Maps(pod, "containers") {
		running = running.Plus(requestsIn(c))
	}
	running = larger(running, peak)
	if whole := fields.Map(pod, "resources", "requests"); len(whole) > 0 {
		said := read(whole)
		if _, ok := whole["cpu"]; ok {
			running.CPU = said.CPU
		}
		if _, ok := whole["memory"]; ok {
			running.Memory = said.Memory
		}
	}
	return running.Plus(read(fields.Map(pod, "overhead")))
}

func larger(a, b Requests) Requests {
	return Requests{max(a.CPU, b.CPU), max(a.Memory, b.Memory), max(a.Pods, b.Pods)}
}

// requestsIn are a container's requests. A limit without a request is a request.
func requestsIn(container map[string]any) Requests {
	requests, limits := fields.Map(container, "resources", "requests"), fields.Map(container, "resources", "limits")
	r, l := read(requests), read(limits)
	if _, said := requests["cpu"]; !said {
		r.CPU = l.CPU
	}
	if _, said := requests["memory"]; !said {
		r.Memory = l.Memory
	}
	return r
}

func read(of map[string]any) (r Requests) {
	if q, ok := amount(of, "cpu"); ok {
		r.CPU = scaled(q, 1000)
	}
	if q, ok := amount(of, "memory"); ok {
		r.Memory = scaled(q, 1)
	}
	return r
}

// scaled is a quantity in parts of one, within 0 and most.
func scaled(q resource.Quantity, parts int64) int64 {
	switch f := q.AsApproximateFloat64() * float64(parts); {
	case f <= 0:
		return 0
	case f >= float64(most):
		return most
	case parts == 1:
		return q.Value()
	}
	return q.MilliValue()
}

func amount(of map[string]any, name string) (q resource.Quantity, ok bool) {
	switch v := of[name].(type) {
	case string:
		q, err := quantity.Parse(v)
		return q, err == nil
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), true
	case float64:
		return *resource.NewMilliQuantity(int64(v*1000), resource.DecimalSI), true
	}
	return q, false
}

// Load is what a unit asks of a target.
type Load struct {
	Requests
	Objects int
}

// Room is what a target may have, and has, by spec.bounds. The zero value has no bounds.
type Room struct {
	Bounds *v1alpha1.Bounds
	// Nodes are what its nodes have for what is placed there, nil where that keeps nothing away.
	Nodes *Nodes
	// Requested is what is placed there.
	Requested Requests
}

// Over says which bounds a target is over with more than it has, empty if none. Objects is how many
// it has.
func (r Room) Over(objects int, more Load) string {
	b := r.Bounds
	if b == nil {
		return ""
	}
	sum := r.Requested.Plus(more.Requests)
	var over []string
	if b.CPU != nil && sum.CPU > b.CPU.MilliValue() {
		over = append(over, fmt.Sprintf("cpu %s of %s", resource.NewMilliQuantity(sum.CPU, resource.DecimalSI), b.CPU))
	}
	if b.Memory != nil && sum.Memory > b.Memory.Value() {
		over = append(over, fmt.Sprintf("memory %s of %s", resource.NewQuantity(sum.Memory, resource.BinarySI), b.Memory))
	}
	if b.Pods != nil && sum.Pods > *b.Pods {
		over = append(over, fmt.Sprintf("pods %d of %d", sum.Pods, *b.Pods))
	}
	if n := int64(objects + more.Objects); b.Objects != nil && n > *b.Objects {
		over = append(over, fmt.Sprintf("objects %d of %d", n, *b.Objects))
	}
	return strings.Join(over, ", ")
}
