package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// The cluster is asked every describeEvery what it is made of, and has describeTime to answer. The
// parent is told what has changed. What failed is asked again after describeRetry.
const (
	describeEvery = time.Minute
	describeTime  = 30 * time.Second
	describeRetry = 5 * time.Second
)

// describe tells the parent what the cluster is made of until ctx ends.
func (a *agent) describe(ctx context.Context) {
	for {
		again := describeEvery
		if facts, err := a.clusterFacts(ctx); err != nil {
			a.Log.Debug("the target does not say what it is made of", "err", err)
			again = describeRetry
		} else {
			a.conditions.ReportCluster(facts)
		}
		if !ondemand.Pause(ctx, again) {
			return
		}
	}
}

func (a *agent) clusterFacts(ctx context.Context) (*tunnel.ClusterFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	client, err := a.clients.For(target.RootSpace)
	if err != nil {
		return nil, err
	}
	sum := newNodeSum()
	if err := client.Nodes(ctx, sum.add); err != nil {
		return nil, err
	}
	facts := sum.facts()
	for _, kind := range tunnel.ClassKinds() {
		err := client.Classes(ctx, kind, func(o *target.ClassObject) {
			if kind != "PriorityClass" || !strings.HasPrefix(o.Metadata.Name, "system-") {
				facts.Classes = append(facts.Classes, classFact(kind, o))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(facts.Classes, func(a, b tunnel.ClusterClass) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return facts, nil
}

// defaultClasses are the annotations by which classes are a cluster's default.
var defaultClasses = map[string]string{
	"StorageClass": target.DefaultStorageClass,
	"IngressClass": "ingressclass.kubernetes.io/is-default-class",
}

func classFact(kind string, o *target.ClassObject) tunnel.ClusterClass {
	by := o.Provisioner + o.Spec.Controller + o.Handler // a kind has one of them
	return tunnel.ClusterClass{
		Kind: kind, Name: o.Metadata.Name, By: by,
		Default: o.GlobalDefault || o.Metadata.Annotations[defaultClasses[kind]] == "true",
		Reclaim: o.ReclaimPolicy, Binding: o.VolumeBindingMode, Expand: o.AllowVolumeExpansion,
		Value: o.Value, Preemption: o.PreemptionPolicy,
	}
}

// nodeSum adds up the nodes of a cluster.
type nodeSum struct {
	nodes, ready          int
	systems, architecture map[string]bool
	capacity, allocatable map[string]resource.Quantity
}

func newNodeSum() *nodeSum {
	return &nodeSum{
		systems: map[string]bool{}, architecture: map[string]bool{},
		capacity: map[string]resource.Quantity{}, allocatable: map[string]resource.Quantity{},
	}
}

func (s *nodeSum) add(n *target.Node) {
	s.nodes++
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			s.ready++
		}
	}
	s.systems[n.Status.NodeInfo.OperatingSystem] = true
	s.architecture[n.Status.NodeInfo.Architecture] = true
	addTo(s.capacity, n.Status.Capacity)
	addTo(s.allocatable, n.Status.Allocatable)
}

func addTo(sum map[string]resource.Quantity, of map[string]string) {
	for name, text := range of {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			continue
		}
		have := sum[name]
		have.Add(q)
		sum[name] = have
	}
}

func (s *nodeSum) facts() *tunnel.ClusterFacts {
	return &tunnel.ClusterFacts{
		Nodes: s.nodes, Ready: s.ready, OperatingSystem: only(s.systems), Architecture: only(s.architecture),
		Capacity: texts(s.capacity), Allocatable: texts(s.allocatable),
	}
}

// only returns the one member of a set, empty where there are others.
func only(set map[string]bool) string {
	for member := range set {
		if len(set) == 1 {
			return member
		}
	}
	return ""
}

func texts(of map[string]resource.Quantity) map[string]string {
	if len(of) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, q := range of {
		out[name] = q.String()
	}
	return out
}
