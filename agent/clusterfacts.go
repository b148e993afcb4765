package agent

import (
	"context"
	"slices"
	"strings"
	"time"

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

// The parent is told at once of what else has changed; of what pods request, when that has changed by
// more than allocatedStep of what is allocatable, or when it was last told allocatedAfter ago.
const (
	allocatedStep  = 0.05
	allocatedAfter = 5 * time.Minute
)

// describeShare is how many times as long as reading took nothing is read: where there are thousands
// of pods that is more than describeEvery.
const describeShare = 50

// describe tells the parent what the cluster is made of until ctx ends.
func (a *agent) describe(ctx context.Context) {
	var told *tunnel.ClusterFacts
	var at time.Time
	for {
		began := time.Now()
		facts, err := a.clusterFacts(ctx)
		again := max(describeEvery, describeShare*time.Since(began))
		switch {
		case err != nil:
			a.Log.Debug("the target does not say what it is made of", "err", err)
			again = describeRetry
		case worthTelling(told, facts, time.Since(at)):
			a.conditions.ReportCluster(facts)
			told, at = facts, time.Now()
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
	err = client.Nodes(ctx, sum.add)
	if err != nil && !target.NotReadable(err) {
		return nil, err
	}
	facts := sum.facts()
	if err != nil {
		facts.Unread = append(facts.Unread, tunnel.UnreadNodes)
	}
	if err := a.allocation(ctx, client, facts); err != nil {
		return nil, err
	}
	for _, kind := range tunnel.ClassKinds() {
		err := client.Classes(ctx, kind, func(o *target.ClassObject) {
			_, spaces := o.Metadata.Annotations[target.AnnotationOrigin] // which is no offer to others
			if !spaces && (kind != "PriorityClass" || !strings.HasPrefix(o.Metadata.Name, "system-")) {
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
	capacity, allocatable amounts
}

func newNodeSum() *nodeSum {
	return &nodeSum{
		systems: map[string]bool{}, architecture: map[string]bool{}, capacity: amounts{}, allocatable: amounts{},
	}
}

func (s *nodeSum) add(n *target.Node) {
	s.nodes++
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			s.ready++
			if !n.Spec.Unschedulable {
				s.allocatable.add(n.Status.Allocatable)
			}
		}
	}
	s.systems[n.Status.NodeInfo.OperatingSystem] = true
	s.architecture[n.Status.NodeInfo.Architecture] = true
	s.capacity.add(n.Status.Capacity)
}

func (s *nodeSum) facts() *tunnel.ClusterFacts {
	return &tunnel.ClusterFacts{
		Nodes: s.nodes, Ready: s.ready, OperatingSystem: only(s.systems), Architecture: only(s.architecture),
		Capacity: s.capacity.texts(), Allocatable: s.allocatable.texts(),
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
