package tunnel

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// ClusterFacts is what a child's cluster is made of, for people and tools that look for nodes and
// classes in a space, and for decisions about where there is room.
type ClusterFacts struct {
	// Nodes is how many nodes the cluster has, Ready how many of them are ready.
	Nodes int `json:"nodes"`
	Ready int `json:"ready"`
	// OperatingSystem and Architecture of all nodes, empty where they differ: linux, arm64.
	OperatingSystem string `json:"os,omitempty"`
	Architecture    string `json:"arch,omitempty"`
	// Capacity is the sum of the nodes, Allocatable that of the ready and schedulable ones, as
	// Kubernetes' quantities by resource.
	Capacity    map[string]string `json:"capacity,omitempty"`
	Allocatable map[string]string `json:"allocatable,omitempty"`
	// Allocated is what pods that have not ended request, Placed the part of those that belong to
	// objects of the parent.
	Allocated map[string]string `json:"allocated,omitempty"`
	Placed    map[string]string `json:"placed,omitempty"`
	// Unread is what the child may not read: UnreadNodes, UnreadPods. Quota says that Capacity and
	// Allocatable are those of ResourceQuotas then.
	Unread []string `json:"unread,omitempty"`
	Quota  bool     `json:"quota,omitempty"`
	// Classes are those that objects may name, ordered by kind and name.
	Classes []ClusterClass `json:"classes,omitempty"`
}

// ClusterClass is a class of a cluster. Fields that its kind lacks are empty.
type ClusterClass struct {
	// Kind is StorageClass, IngressClass, RuntimeClass or PriorityClass.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Default says that the cluster takes it for what names none.
	Default bool `json:"default,omitempty"`
	// By is the provisioner, the controller or the handler.
	By string `json:"by,omitempty"`
	// Reclaim, Binding and Expand are reclaimPolicy, volumeBindingMode and allowVolumeExpansion of a
	// StorageClass.
	Reclaim string `json:"reclaim,omitempty"`
	Binding string `json:"binding,omitempty"`
	Expand  bool   `json:"expand,omitempty"`
	// Value and Preemption are value and preemptionPolicy of a PriorityClass.
	Value      int32  `json:"value,omitempty"`
	Preemption string `json:"preemption,omitempty"`
}

// What a child may not be able to read.
const (
	UnreadNodes = "nodes"
	UnreadPods  = "pods"
)

// What a parent takes of one ClusterFacts; the rest is dropped.
const (
	maxResources = 20
	MaxClasses   = 100
	maxFact      = 253
)

// classKinds are the kinds of classes that a parent takes.
var classKinds = []string{"IngressClass", "PriorityClass", "RuntimeClass", "StorageClass"}

// ClassKinds returns the kinds of classes that a child reports.
func ClassKinds() []string { return slices.Clone(classKinds) }

var (
	factForm     = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9._/:+]*[A-Za-z0-9])?$`)
	nameForm     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	quantityForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(n|u|m|k|[KMGTPE]i?|[eE][0-9]+)?$`)
)

// Equal reports whether f and o are the same.
func (f *ClusterFacts) Equal(o *ClusterFacts) bool { return reflect.DeepEqual(f, o) }

// bounded returns what a parent accepts of f.
func (f *ClusterFacts) bounded() *ClusterFacts {
	if f == nil {
		return nil
	}
	out := &ClusterFacts{
		Nodes: max(0, min(f.Nodes, 1<<20)), Ready: max(0, min(f.Ready, f.Nodes, 1<<20)),
		OperatingSystem: fact(f.OperatingSystem), Architecture: fact(f.Architecture),
		Capacity: quantities(f.Capacity), Allocatable: quantities(f.Allocatable),
		Allocated: quantities(f.Allocated), Placed: quantities(f.Placed), Quota: f.Quota,
	}
	for _, kind := range []string{UnreadNodes, UnreadPods} {
		if slices.Contains(f.Unread, kind) {
			out.Unread = append(out.Unread, kind)
		}
	}
	for _, c := range f.Classes[:min(len(f.Classes), MaxClasses)] {
		if !slices.Contains(classKinds, c.Kind) || len(c.Name) > maxFact || !nameForm.MatchString(c.Name) {
			continue
		}
		c.By, c.Reclaim, c.Binding, c.Preemption = fact(c.By), fact(c.Reclaim), fact(c.Binding), fact(c.Preemption)
		out.Classes = append(out.Classes, c)
	}
	slices.SortStableFunc(out.Classes, func(a, b ClusterClass) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	out.Classes = slices.CompactFunc(out.Classes, func(a, b ClusterClass) bool {
		return a.Kind == b.Kind && a.Name == b.Name
	})
	return out
}

func fact(text string) string {
	if len(text) > maxFact || !factForm.MatchString(text) {
		return ""
	}
	return text
}

func quantities(of map[string]string) map[string]string {
	if len(of) > maxResources {
		return nil
	}
	out := map[string]string{}
	for name, q := range of {
		if fact(name) != "" && len(q) <= 32 && quantityForm.MatchString(q) {
			out[name] = q
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// ReportCluster records what the child's cluster is made of.
func (c *Conditions) ReportCluster(f *ClusterFacts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cluster.Equal(f) {
		c.cluster = f
		c.changeLocked(c.list)
	}
}
