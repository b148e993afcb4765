package offers

import (
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/quantity"
	"skerry.dev/skerry/store"
)

// heartbeatEvery is how often a Node changes for its heartbeat alone, as that of a kubelet does.
const heartbeatEvery = 5 * time.Minute

// readTarget makes a target of a write of its SyncTarget: nil when it is gone, and the one before
// when nothing has changed that spaces see.
func readTarget(before *target, w store.Write) *target {
	if w.Object == nil {
		return nil
	}
	now := &target{name: w.Key.Name, labels: labels.Set{}, node: nodeOf(w)}
	now.relay, _ = fields.Map(w.Object, "status")["relay"].(bool)
	for name, v := range fields.Map(w.Object, "metadata", "labels") {
		now.labels[name], _ = v.(string)
	}
	for c := range fields.Maps(w.Object, "status", "cluster", "classes") {
		var class v1alpha1.SyncTargetClass
		if runtime.DefaultUnstructuredConverter.FromUnstructured(c, &class) == nil {
			now.classes = append(now.classes, class)
		}
	}
	if before != nil && before.relay == now.relay && reflect.DeepEqual(before.classes, now.classes) &&
		sameNode(before.node, now.node) {
		return before
	}
	return now
}

// sameNode reports whether a Node is what readers have seen already.
func sameNode(before, now *api.Node) bool {
	a, b := *before, *now
	if heartbeat(&b).Sub(heartbeat(&a)) >= heartbeatEvery {
		return false
	}
	a.ResourceVersion, b.ResourceVersion = "", ""
	a.Status.Conditions, b.Status.Conditions = steady(a.Status.Conditions), steady(b.Status.Conditions)
	return equality.Semantic.DeepEqual(a, b)
}

func heartbeat(n *api.Node) time.Time { return n.Status.Conditions[0].LastHeartbeatTime.Time }

func steady(of []api.NodeCondition) []api.NodeCondition {
	c := of[0]
	c.LastHeartbeatTime = metav1.Time{}
	return []api.NodeCondition{c}
}

// nodeOf makes a Node of a SyncTarget. Its labels are those of the SyncTarget and of a Node; what is
// the admin's alone (annotations, links, policy) does not show.
func nodeOf(w store.Write) *api.Node {
	o := w.Object
	n := &api.Node{ObjectMeta: metav1.ObjectMeta{
		Name: w.Key.Name, Labels: map[string]string{}, UID: types.UID(fields.String(o, "metadata", "uid")),
		ResourceVersion: strconv.FormatInt(w.Revision, 10), CreationTimestamp: timeAt(o, "metadata", "creationTimestamp"),
	}}
	for name, v := range fields.Map(o, "metadata", "labels") {
		n.Labels[name], _ = v.(string)
	}
	cluster := fields.Map(o, "status", "cluster")
	info := &n.Status.NodeInfo
	info.OperatingSystem, info.Architecture = fields.String(cluster, "operatingSystem"),
		fields.String(cluster, "architecture")
	info.KubeletVersion = fields.String(o, "status", "kubernetesVersion")
	n.Labels["kubernetes.io/hostname"] = w.Key.Name
	platform := map[string]string{
		"kubernetes.io/os":   info.OperatingSystem,
		"kubernetes.io/arch": info.Architecture,
	}
	for label, v := range platform {
		if v != "" {
			n.Labels[label] = v
		}
	}
	n.Spec.Unschedulable, _ = fields.Map(o, "spec")["unschedulable"].(bool)
	n.Status.Capacity, n.Status.Allocatable = resources(o, "capacity"), resources(o, "allocatable")
	n.Status.Addresses = []api.NodeAddress{{Type: api.NodeHostName, Address: w.Key.Name}}
	n.Status.Conditions = []api.NodeCondition{ready(o)}
	return n
}

// ready is the condition Ready of a Node: whether the target is heard, and its cluster answers it.
func ready(o map[string]any) api.NodeCondition {
	c := api.NodeCondition{
		Type: api.NodeReady, Status: api.ConditionUnknown, Reason: "NeverConnected",
		Message: "the site has not connected yet", LastHeartbeatTime: timeAt(o, "status", "lastSeen"),
	}
	for is := range fields.Maps(o, "status", "conditions") {
		since := timeAt(is, "lastTransitionTime")
		switch {
		case is["type"] == v1alpha1.ConditionConnected && (is["status"] != "True" || is["reason"] == v1alpha1.ReasonSilent):
			c.Status, c.Reason, c.LastTransitionTime = api.ConditionUnknown, "NodeStatusUnknown", since
			c.Message = "the site is not heard; what runs there goes on"
		case is["type"] == v1alpha1.ConditionConnected && c.Status != api.ConditionFalse:
			c.Status, c.Reason, c.LastTransitionTime = api.ConditionTrue, "SiteConnected", since
			c.Message = "the site is connected"
		}
	}
	for is := range fields.Maps(o, "status", "conditions") {
		if is["type"] == v1alpha1.ConditionTargetReachable && is["status"] == "False" && c.Status == api.ConditionTrue {
			c.Status, c.Reason = api.ConditionFalse, "ClusterUnreachable"
			c.Message, c.LastTransitionTime = "the site is connected, and its cluster does not answer",
				timeAt(is, "lastTransitionTime")
		}
	}
	if c.Status == api.ConditionTrue {
		belowRelay(&c, o)
	}
	return c
}

// belowRelay makes a relay that is connected not ready where nothing can run below it: it has no sites, or
// none of them is heard. A relay of a version that does not say that is as ready as a site.
func belowRelay(c *api.NodeCondition, o map[string]any) {
	below := fields.Map(o, "status", "below")
	if targets, known := fields.Number(below["targets"]); known && targets == 0 {
		c.Status, c.Reason = api.ConditionFalse, "NoSites"
		c.Message = "this relay is connected, and no site has joined it yet"
	} else if connected, known := fields.Number(below["connected"]); known && connected == 0 {
		c.Status, c.Reason = api.ConditionUnknown, "NodeStatusUnknown"
		c.Message = "this relay is connected, and hears none of its sites; what runs there goes on"
	} else {
		return
	}
	for is := range fields.Maps(o, "status", "conditions") {
		if is["type"] == v1alpha1.ConditionSubtreeHealthy && is["status"] == "False" {
			c.LastTransitionTime = timeAt(is, "lastTransitionTime")
		}
	}
}

func resources(o map[string]any, field string) api.ResourceList {
	var out api.ResourceList
	for name, v := range fields.Map(o, "status", field) {
		text, _ := v.(string)
		q, err := quantity.Parse(text)
		if err != nil {
			continue
		}
		if out == nil {
			out = api.ResourceList{}
		}
		out[api.ResourceName(name)] = q
	}
	return out
}

func timeAt(o map[string]any, path ...string) metav1.Time {
	t, err := time.Parse(time.RFC3339, fields.String(o, path...))
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(t)
}
