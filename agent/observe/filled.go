package observe

import (
	"encoding/json"
	"strconv"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// filledIn returns what the target's controllers wrote into an object beside its status, nil if
// tools read none of it.
func filledIn(k store.Key, live *target.Object) *store.Filled {
	switch k.Group + "/" + k.Resource {
	case "apps/deployments":
		if n, err := strconv.ParseInt(live.Metadata.Annotations[store.DeploymentRevision], 10, 64); err == nil &&
			n > 0 {
			return &store.Filled{Revision: n}
		}
	case "/services":
		return allocated(live.Spec)
	case "/persistentvolumeclaims":
		return bound(live)
	}
	return nil
}

// replicasIn returns how many replicas a workload has on the target, in the field that an autoscaler
// would set; 0 for other kinds.
func replicasIn(k store.Key, live *target.Object, field string) int64 {
	switch k.Group + "/" + k.Resource {
	case "apps/deployments", "apps/statefulsets", "apps/replicasets", "/replicationcontrollers":
		field = ""
	default:
		if tunnel.BuiltInGroup(k.Group) {
			return 0
		}
	}
	if field == "" {
		field = "/spec/replicas"
	}
	n, _ := target.NumberAt(live.Spec, field)
	return n
}

// allFilled returns what the target's controllers wrote into an object, and the replicas that an
// autoscaler of the space gave it. None are no wish of an autoscaler: who has authority over the
// object has stopped it.
func (rec *record) allFilled() *store.Filled {
	if rec.autoscaler == "" || rec.replicas <= 0 {
		return rec.filled
	}
	f := store.Filled{Replicas: rec.replicas, Autoscaler: rec.autoscaler}
	if rec.filled != nil {
		f.Revision = rec.filled.Revision
	}
	return &f
}

// bound returns the class and the volume of a claim. The volume is left out until the status names
// it: both are written one right after the other, and make one report.
func bound(live *target.Object) *store.Filled {
	var claim struct{ VolumeName, StorageClassName, Phase string }
	if json.Unmarshal(live.Spec, &claim) != nil || len(live.Status) > 0 && json.Unmarshal(live.Status, &claim) != nil {
		return nil
	}
	f := &store.Filled{StorageClass: claim.StorageClassName}
	if claim.Phase != "" && claim.Phase != "Pending" {
		f.VolumeName = claim.VolumeName
	}
	if f.VolumeName == "" && f.StorageClass == "" {
		return nil
	}
	return f
}

// allocated returns the fields of a Service's spec that the target chose. The user's own choice is
// among them; the parent knows that.
func allocated(spec json.RawMessage) *store.Filled {
	var s struct {
		ClusterIP           string
		IPFamilies          []string
		IPFamilyPolicy      string
		HealthCheckNodePort int64
		Ports               []struct {
			Port, NodePort int64
			Protocol       string
		}
	}
	if json.Unmarshal(spec, &s) != nil {
		return nil
	}
	f := &store.Filled{
		HealthCheckNodePort: s.HealthCheckNodePort,
		IPFamilies:          s.IPFamilies,
		IPFamilyPolicy:      s.IPFamilyPolicy,
	}
	if s.ClusterIP != "None" { // a wish
		f.ClusterIP = s.ClusterIP
	}
	for _, p := range s.Ports {
		if p.NodePort != 0 {
			f.NodePorts = append(f.NodePorts, store.NodePort{Port: p.Port, Protocol: p.Protocol, NodePort: p.NodePort})
		}
	}
	if f.ClusterIP == "" && f.NodePorts == nil && f.HealthCheckNodePort == 0 && f.IPFamilies == nil &&
		f.IPFamilyPolicy == "" {
		return nil
	}
	return f
}
