package observe

import (
	"encoding/json"
	"strconv"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// filledIn is what the target's controllers wrote into an object beside its status, nil when that is nothing that tools read.
func filledIn(k store.Key, live *target.Object) *store.Filled {
	switch k.Group + "/" + k.Resource {
	case "apps/deployments":
		if n, err := strconv.ParseInt(live.Metadata.Annotations[store.DeploymentRevision], 10, 64); err == nil && n > 0 {
			return &store.Filled{Revision: n}
		}
	case "/services":
		return allocated(live.Spec)
	}
	return nil
}

// allocated is what of a Service's spec the target chose. What the user chose is among it; the parent knows that.
func allocated(spec json.RawMessage) *store.Filled {
	var s struct {
		ClusterIP string
		Ports     []struct {
			Port, NodePort int64
			Protocol       string
		}
	}
	if json.Unmarshal(spec, &s) != nil {
		return nil
	}
	f := &store.Filled{}
	if s.ClusterIP != "None" { // a wish
		f.ClusterIP = s.ClusterIP
	}
	for _, p := range s.Ports {
		if p.NodePort != 0 {
			f.NodePorts = append(f.NodePorts, store.NodePort{Port: p.Port, Protocol: p.Protocol, NodePort: p.NodePort})
		}
	}
	if f.ClusterIP == "" && f.NodePorts == nil {
		return nil
	}
	return f
}
