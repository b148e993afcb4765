package inventory

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Manager is the name of the cluster manager in every profile, and of the scheduler in every slice.
const Manager = "skerry.dev"

// labelManager tells the profiles of several cluster managers apart.
const labelManager = "x-k8s.io/cluster-manager"

// accessProvider is the name of the way to a cluster that a profile has: the live view of the space.
const accessProvider = "skerry.dev/view"

// profile is a SyncTarget as spaces see it. It is never changed.
type profile struct {
	name, uid, created string
	labels             map[string]string
	revision           int64 // of the last change that readers see
	status             map[string]any
}

// readProfile makes a profile of a write of its SyncTarget: nil when it is gone, and the one before
// when nothing has changed that readers see.
func readProfile(before *profile, w store.Write) *profile {
	if w.Object == nil {
		return nil
	}
	o := w.Object
	now := &profile{
		name:     w.Key.Name,
		uid:      fields.String(o, "metadata", "uid"),
		revision: w.Revision,
		created: fields.String(
			o,
			"metadata",
			"creationTimestamp",
		),
		labels: texts(fields.Map(o, "metadata", "labels")),
		status: profileStatus(o),
	}
	if before != nil && before.uid == now.uid && maps.Equal(before.labels, now.labels) &&
		reflect.DeepEqual(before.status, now.status) {
		return before
	}
	return now
}

// profileStatus is what a profile says of the cluster. What is the admin's alone (links, policy,
// identity) does not show.
func profileStatus(o map[string]any) map[string]any {
	status := map[string]any{"conditions": []any{healthy(o), joined(o)}}
	if version := fields.String(o, "status", "kubernetesVersion"); version != "" {
		status["version"] = map[string]any{"kubernetes": version}
	}
	if list := properties(o); len(list) > 0 {
		status["properties"] = list
	}
	return status
}

// healthy is the condition ControlPlaneHealthy: unknown while nothing is heard of the site.
func healthy(o map[string]any) map[string]any {
	connected, reachable := conditionOf(
		o,
		v1alpha1.ConditionConnected,
	), conditionOf(
		o,
		v1alpha1.ConditionTargetReachable,
	)
	switch {
	case fields.String(connected, "status") != "True":
		return condition(
			"ControlPlaneHealthy",
			"Unknown",
			"NotConnected",
			"the site has no session with the center",
			fields.String(connected, "lastTransitionTime"),
			o,
		)
	case fields.String(reachable, "status") == "False":
		return condition(
			"ControlPlaneHealthy",
			"False",
			"Unreachable",
			"the site's agent does not reach its cluster",
			fields.String(reachable, "lastTransitionTime"),
			o,
		)
	}
	return condition(
		"ControlPlaneHealthy",
		"True",
		"Connected",
		"",
		fields.String(connected, "lastTransitionTime"),
		o,
	)
}

// joined is the condition Joined: the site has joined, or is being removed.
func joined(o map[string]any) map[string]any {
	if at := fields.String(o, "metadata", "deletionTimestamp"); at != "" {
		return condition("Joined", "False", "Detaching", "the site is being removed", at, o)
	}
	return condition("Joined", "True", "Joined", "", "", o)
}

func condition(kind, status, reason, message, since string, o map[string]any) map[string]any {
	if since == "" {
		since = fields.String(o, "metadata", "creationTimestamp")
	}
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": since}
}

func conditionOf(o map[string]any, kind string) map[string]any {
	for c := range fields.Maps(fields.Map(o, "status"), "conditions") {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

// properties are characteristics of the cluster, by name.
func properties(o map[string]any) (list []any) {
	values := map[string]string{}
	add := func(name string, v any) {
		if text := fmt.Sprint(v); v != nil && text != "" && len(text) <= maxValue {
			values[name] = text
		}
	}
	add("cluster.clusterset.k8s.io", fields.Map(o, "status")["clusterUID"])
	cluster := fields.Map(o, "status", "cluster")
	add("skerry.dev/nodes", cluster["nodes"])
	add("skerry.dev/nodes-ready", cluster["ready"])
	add("skerry.dev/operating-system", cluster["operatingSystem"])
	add("skerry.dev/architecture", cluster["architecture"])
	for _, sums := range []string{"capacity", "allocatable"} {
		for resource, v := range fields.Map(cluster, sums) {
			add("skerry.dev/"+sums+"."+resource, v)
		}
	}
	add("skerry.dev/unschedulable", fields.Map(o, "spec")["unschedulable"])
	add("skerry.dev/relay", fields.Map(o, "status")["relay"])
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, map[string]any{"name": name, "value": values[name]})
	}
	return list
}

// maxValue is how long the value of a property may be, by its definition.
const maxValue = 1024

// in returns the profile as a space shows it.
func (p *profile) in(space string, c Center) map[string]any {
	labels := map[string]any{labelManager: Manager}
	for name, v := range p.labels {
		if name != labelManager {
			labels[name] = v
		}
	}
	status := maps.Clone(p.status)
	if space != request.RootSpace {
		cluster := map[string]any{"server": request.URL(c.URL, space) + request.ViewPrefix + p.name}
		if ca := c.authorities(); ca != "" {
			cluster["certificate-authority-data"] = ca
		}
		status["accessProviders"] = []any{
			map[string]any{"name": accessProvider, "cluster": cluster},
		}
	}
	return object(
		"ClusterProfile",
		space,
		p.name,
		p.uid,
		p.created,
		p.revision,
		labels,
		map[string]any{
			"spec": map[string]any{
				"displayName":    p.name,
				"clusterManager": map[string]any{"name": Manager},
			}, "status": status},
	)
}

// object is an object of a space. Its UID is of this space alone.
func object(
	kind, space, name, of, created string,
	revision int64,
	labels, content map[string]any,
) map[string]any {
	o := map[string]any{
		"apiVersion": Group + "/" + Version,
		"kind":       kind,
		"metadata": map[string]any{
			"name": name, "namespace": Namespace, "labels": labels, "generation": int64(1),
			"uid": uuid.NewSHA1(uuid.NameSpaceURL, []byte(space+"/"+kind+"/"+name+"/"+of)).
				String(),
			"resourceVersion": strconv.FormatInt(revision, 10), "creationTimestamp": created,
		},
	}
	maps.Copy(o, content)
	return o
}

func texts(m map[string]any) map[string]string {
	out := make(map[string]string, len(m))
	for name, v := range m {
		out[name], _ = v.(string)
	}
	return out
}
