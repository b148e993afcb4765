package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Nodes are what the nodes of a target have for what is placed there: what is allocatable, without what Pods of
// others request. Of a resource that is not among them nothing is known.
type Nodes map[corev1.ResourceName]int64

// NodesOf returns that by what a target reports: allocatable, what all Pods request, and the part of it that was
// placed from here. Of numbers that cannot be nothing is believed.
func NodesOf(allocatable, allocated, placed corev1.ResourceList) *Nodes {
	out := Nodes{}
	for _, name := range counted {
		all, known := allocatable[name]
		total, told := allocated[name]
		ours := placed[name]
		others := amountOf(name, total) - amountOf(name, ours)
		if known && told && all.Sign() > 0 && ours.Sign() >= 0 && others >= 0 {
			out[name] = amountOf(name, all) - others
		}
	}
	return &out
}

// Less reports whether others have more of something. Either may be nil.
func (n *Nodes) Less(o *Nodes) bool {
	if n == nil || o == nil {
		return false
	}
	for _, name := range counted {
		has, known := (*o)[name]
		if was, told := (*n)[name]; known != told || has > was {
			return true
		}
	}
	return false
}

// counted are the resources that requests are counted of, in the order in which they are told.
var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}

// amountOf is a quantity in the parts in which Requests count it.
func amountOf(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return scaled(q, 1000)
	}
	return scaled(q, 1)
}

// of is how much of a resource is requested.
func (r Requests) of(name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourceCPU:
		return r.CPU
	case corev1.ResourceMemory:
		return r.Memory
	}
	return r.Pods
}

// Shortage is why a target has no room for a unit that comes. The zero value is none.
type Shortage struct {
	// Reason is OverBounds, or Insufficient and a resource.
	Reason string
	// What says for people what there is, and what is needed.
	What string
}

// Short returns why a target that has so many objects has no room for more.
func (r Room) Short(objects int, more Load) Shortage {
	if over := r.Over(objects, more); over != "" {
		return Shortage{OverBounds, over}
	}
	if r.Nodes == nil {
		return Shortage{}
	}
	for _, name := range counted {
		has, known := (*r.Nodes)[name]
		free, needs := has-r.Requested.of(name), more.of(name)
		if known && needs > 0 && needs > free {
			return Shortage{insufficient[name], fmt.Sprintf("%s free, needs %s", told(name, free), told(name, needs))}
		}
	}
	return Shortage{}
}

// insufficient are the reasons of a Shortage of what nodes have.
var insufficient = map[corev1.ResourceName]string{corev1.ResourceCPU: "InsufficientCPU",
	corev1.ResourceMemory: "InsufficientMemory", corev1.ResourcePods: "InsufficientPods"}

func told(name corev1.ResourceName, n int64) string {
	n = max(n, 0)
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case corev1.ResourceMemory:
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return fmt.Sprint(n)
}

// closed says why a target takes nothing new.
func (s Shortage) closed() string {
	if s.Reason == OverBounds {
		return "it has no room within its bounds (" + s.What + ")"
	}
	return s.Reason + ": its nodes have " + s.What
}

// at says of a choice that found too little what there is no room of, and wayOut what to do.
func (s Shortage) at(target string) string {
	if s.Reason == OverBounds {
		return fmt.Sprintf("no room within spec.bounds of %s (%s)", target, s.What)
	}
	return fmt.Sprintf("no room on the nodes of %s (%s: %s)", target, s.Reason, s.What)
}

func (s Shortage) wayOut() string {
	if s.Reason == OverBounds {
		return ": raise the bounds, or ask for less"
	}
	return ": add nodes, remove something, or ask for less"
}
