package placement

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Follower is what an object serves, and goes along with: the workloads whose pods it selects, and
// what it names, all of its own namespace.
//
//	a Service, PodDisruptionBudget, NetworkPolicy   the pods that it selects
//	an Ingress, a route of the Gateway API          the Services that it sends to
//	a HorizontalPodAutoscaler                       what it scales
//	the default ServiceAccount                      all pods of its namespace
type Follower struct {
	// Selector selects pods by the labels of their template. It is nil where none are selected.
	Selector labels.Selector
	Names    []ObjectName
	// Only: the object is of no use anywhere else.
	Only bool
}

// ObjectName is an object of the same namespace that a Follower names.
type ObjectName struct{ Group, Kind, Name string }

// podNameLabel is what a StatefulSet's controller puts on each pod. A Service of one pod selects by it.
const podNameLabel = "statefulset.kubernetes.io/pod-name"

// gatewayGroup has the kinds of the Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// GoesAlong reports whether objects of a kind go along with others. What goes along with a Service is
// neither followed by a Service nor by itself, so following ends.
func GoesAlong(group, resource string) bool {
	switch group + "/" + resource {
	case "/services", "policy/poddisruptionbudgets", "networking.k8s.io/networkpolicies",
		"networking.k8s.io/ingresses", "autoscaling/horizontalpodautoscalers":
		return true
	}
	return group == gatewayGroup && strings.HasSuffix(resource, "routes")
}

// FollowerOf returns what an object goes along with, nil for what goes along with nothing.
func FollowerOf(k store.Key, obj map[string]any) *Follower {
	if isAccount(k) && k.Name == DefaultAccount {
		return &Follower{Selector: labels.Everything(), Only: true}
	}
	if k.Namespace == "" || !GoesAlong(k.Group, k.Resource) {
		return nil
	}
	spec, f := fields.Map(obj, "spec"), &Follower{}
	switch k.Resource {
	case "services":
		f.service(spec)
	case "poddisruptionbudgets":
		f.selects(fields.Map(spec, "selector"))
	case "networkpolicies":
		selector := fields.Map(spec, "podSelector")
		if selector == nil {
			selector = map[string]any{}
		}
		f.selects(selector)
	case "ingresses":
		f.ingress(spec)
	case "horizontalpodautoscalers":
		f.Only = true
		f.scales(fields.Map(spec, "scaleTargetRef"))
	default:
		f.route(spec)
	}
	if f.Selector == nil && len(f.Names) == 0 {
		return nil
	}
	return f
}

func (f *Follower) service(spec map[string]any) {
	set := labels.Set{}
	for label, v := range fields.Map(spec, "selector") {
		value, _ := v.(string)
		if i := strings.LastIndexByte(value, '-'); label == podNameLabel && i > 0 {
			f.name("apps", "StatefulSet", value[:i])
			return
		}
		set[strings.Clone(label)] = strings.Clone(value)
	}
	if len(set) > 0 && fields.String(spec, "type") != "ExternalName" {
		f.Selector = labels.SelectorFromSet(set)
	}
}

// selects takes over a LabelSelector. One that nobody can understand selects nothing: the API refuses it.
func (f *Follower) selects(of map[string]any) {
	var selector metav1.LabelSelector
	if of == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(of, &selector) != nil {
		return
	}
	if s, err := metav1.LabelSelectorAsSelector(&selector); err == nil {
		f.Selector = s
	}
}

func (f *Follower) name(group, kind, name string) {
	if name != "" {
		f.Names = append(f.Names, ObjectName{strings.Clone(group), strings.Clone(kind), strings.Clone(name)})
	}
}

func (f *Follower) ingress(spec map[string]any) {
	f.name("", "Service", fields.String(spec, "defaultBackend", "service", "name"))
	for rule := range fields.Maps(spec, "rules") {
		for path := range fields.Maps(rule, "http", "paths") {
			f.name("", "Service", fields.String(path, "backend", "service", "name"))
		}
	}
}

// route takes over the Services of a route, without those of other namespaces: these have users of
// their own.
func (f *Follower) route(spec map[string]any) {
	for rule := range fields.Maps(spec, "rules") {
		for to := range fields.Maps(rule, "backendRefs") {
			kind, named := to["kind"]
			if fields.String(to, "group") == "" && (!named || kind == "Service") && to["namespace"] == nil {
				f.name("", "Service", fields.String(to, "name"))
			}
		}
	}
}

func (f *Follower) scales(to map[string]any) {
	group, _, grouped := strings.Cut(fields.String(to, "apiVersion"), "/")
	if !grouped {
		group = ""
	}
	f.name(group, fields.String(to, "kind"), fields.String(to, "name"))
}

// Equal reports whether two say the same. Nil says nothing.
func (f *Follower) Equal(g *Follower) bool {
	if f == nil || g == nil {
		return f == g
	}
	if f.Only != g.Only || len(f.Names) != len(g.Names) || (f.Selector == nil) != (g.Selector == nil) {
		return false
	}
	for i := range f.Names {
		if f.Names[i] != g.Names[i] {
			return false
		}
	}
	return f.Selector == nil || f.Selector.String() == g.Selector.String()
}

// PodLabels returns the labels of the pods of a workload. It is false for other kinds.
func PodLabels(k store.Key, obj map[string]any) (map[string]any, bool) {
	if !RunsPods(k) {
		return nil, false
	}
	return fields.Map(podMeta(k, obj), "labels"), true
}

// NamesKind reports whether a clause that selects an object lists its resource: it is about the kind then,
// and not about whatever has a label or is in a namespace.
func (r *Rule) NamesKind(s Subject) bool {
	for i := range r.clauses {
		if r.clauses[i].resources != nil && r.clauses[i].matches(s) {
			return true
		}
	}
	return false
}
