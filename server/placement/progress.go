package placement

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"skerry.dev/skerry/store"
)

// Progress is what a target last said of one object, reduced to what a move needs.
type Progress struct {
	// UID of the source object that the report is about.
	UID string
	// Applied is the desired hash that stands on the target, zero when none does.
	Applied store.Hash
	// Refused is why the object is not as desired there, nil when it is.
	Refused *store.ReportError
	// Varied: Customizers have changed the object there, its replicas perhaps.
	Varied bool
	// Ready: by its status the object is available in full, for kinds that tell; true for those
	// that do not.
	Ready bool
	// Available is how many replicas serve, for kinds that have replicas.
	Available int64
	// HasVolume: a claim is bound there, or a StatefulSet has replicas there.
	HasVolume bool
	// Addressed: a Service or an Ingress has an address for those outside of the cluster.
	Addressed bool `json:",omitempty"`
	// Begun: what Ends has begun there, or Jobs of a CronJob have and run. An end counts when the space shows it.
	Begun bool
}

// Demand is what an object needs before it counts as arrived on a target.
type Demand struct {
	UID  string
	Hash store.Hash
	// Replicas that spec asks for.
	Replicas int64
	// Broken: it need not be available in full, see From.
	Broken bool
}

// From is the demand on a target that comes in place of one which has the object: what is not available
// there need not be available after it. Of what is partly available some is needed.
func (d Demand) From(had Progress) Demand {
	if had.UID != d.UID {
		return d
	}
	d.Broken = !had.Ready
	if d.Replicas = min(d.Replicas, had.Available); d.Broken && had.Available > 0 {
		d.Replicas = max(d.Replicas, 1)
	}
	return d
}

// Arrived returns an empty text when the object is applied and available as demanded, else what is
// missing.
func (p Progress) Arrived(d Demand) string {
	switch {
	case p.UID != d.UID:
		return "not reported yet"
	case p.Refused != nil:
		return p.Refused.Reason + ": " + p.Refused.Message
	case p.Applied != d.Hash:
		return "not applied yet"
	case !p.Ready && !d.Broken && d.Replicas == 0:
		return "not available yet"
	case !p.Ready && !d.Broken && p.Available >= d.Replicas:
		return fmt.Sprintf("its update is not available yet; what it had before is (%d of %d)", p.Available, d.Replicas)
	case !p.Ready && !d.Broken || p.Available < d.Replicas && !p.Varied:
		return fmt.Sprintf("not available yet (%d of %d)", p.Available, d.Replicas)
	}
	return ""
}

// brief is the union of the status fields that tell availability.
type brief struct {
	ObservedGeneration     int64  `json:"observedGeneration"`
	Replicas               int64  `json:"replicas"`
	UpdatedReplicas        int64  `json:"updatedReplicas"`
	AvailableReplicas      int64  `json:"availableReplicas"`
	UnavailableReplicas    int64  `json:"unavailableReplicas"`
	NumberUnavailable      int64  `json:"numberUnavailable"`
	NumberAvailable        int64  `json:"numberAvailable"`
	DesiredNumberScheduled int64  `json:"desiredNumberScheduled"`
	UpdatedNumberScheduled int64  `json:"updatedNumberScheduled"`
	Ready                  int64  `json:"ready"`
	Phase                  string `json:"phase"`
	StartTime              string `json:"startTime"`
	// Active is a number of a Job, and a list of a CronJob.
	Active     json.RawMessage `json:"active"`
	Conditions []struct{ Type, Status string }
}

// running is how many Pods or Jobs run.
func (b *brief) running() (n int) {
	if json.Unmarshal(b.Active, &n) != nil {
		var list []json.RawMessage
		_ = json.Unmarshal(b.Active, &list) // what is neither is none
		n = len(list)
	}
	return n
}

func (b *brief) is(types ...string) bool {
	for _, c := range b.Conditions {
		for _, t := range types {
			if c.Type == t && c.Status == "True" {
				return true
			}
		}
	}
	return false
}

func (b *brief) has(t string) bool {
	for _, c := range b.Conditions {
		if c.Type == t {
			return true
		}
	}
	return false
}

// Judge reads a report. A status that cannot be understood counts as not ready.
func Judge(k store.Key, r store.Report) Progress {
	p := Progress{UID: r.OriginUID, Refused: r.Error, Varied: r.Varied}
	if b, err := hex.DecodeString(r.Applied); err == nil && len(b) == len(p.Applied) {
		copy(p.Applied[:], b)
	}
	var b brief
	if HasAddress(k.Group, k.Resource) {
		p.Addressed = addressed(r.Status)
	}
	if !availabilityTold(k) || (BuiltIn(k.Group) && len(r.Status) == 0 && k.Resource == "persistentvolumeclaims") {
		p.Ready = true
		if k.Group == "batch" && k.Resource == "cronjobs" && json.Unmarshal(r.Status, &b) == nil {
			p.Begun = begun(k, &b)
		}
		return p
	}
	if len(r.Status) > 0 && json.Unmarshal(r.Status, &b) != nil && BuiltIn(k.Group) {
		return p
	}
	p.judge(k, &b, len(r.Status) > 0, r.Generation)
	return p
}

// HasAddress reports whether objects of a kind may have an address for those outside of the cluster.
func HasAddress(group, resource string) bool {
	return group == "" && resource == "services" || group == "networking.k8s.io" && resource == "ingresses"
}

func addressed(status []byte) bool {
	var s struct {
		LoadBalancer struct {
			Ingress []struct{ IP, Hostname string }
		}
	}
	_ = json.Unmarshal(status, &s) // what cannot be read has none
	return slices.ContainsFunc(s.LoadBalancer.Ingress, func(at struct{ IP, Hostname string }) bool {
		return at.IP != "" || at.Hostname != ""
	})
}

func availabilityTold(k store.Key) bool {
	switch k.Group + "/" + k.Resource {
	case "apps/deployments", "apps/statefulsets", "apps/replicasets", "apps/daemonsets", "batch/jobs", "/pods",
		"/replicationcontrollers", "/persistentvolumeclaims":
		return true
	}
	return !BuiltIn(k.Group)
}

func (p *Progress) judge(k store.Key, b *brief, told bool, generation int64) {
	observed := told && b.ObservedGeneration >= generation
	p.Available, p.Begun = b.AvailableReplicas, begun(k, b)
	switch k.Group + "/" + k.Resource {
	case "apps/deployments":
		p.Ready = observed && b.UnavailableReplicas == 0 && b.UpdatedReplicas == b.Replicas &&
			b.AvailableReplicas == b.Replicas
	case "apps/statefulsets":
		p.Ready = observed && b.AvailableReplicas == b.Replicas
		p.HasVolume = b.Replicas > 0
	case "apps/replicasets", "/replicationcontrollers":
		p.Ready = observed && b.AvailableReplicas == b.Replicas
	case "apps/daemonsets":
		p.Available = b.NumberAvailable
		p.Ready = observed && b.NumberUnavailable == 0 && b.UpdatedNumberScheduled == b.DesiredNumberScheduled
	case "batch/jobs":
		p.Ready = b.is("Complete", "Failed", "SuccessCriteriaMet", "Suspended") ||
			(b.running() > 0 && b.Ready == int64(b.running()))
	case "/pods":
		p.Ready = b.Phase == "Succeeded" || b.Phase == "Failed" || b.is("Ready")
	case "/persistentvolumeclaims":
		p.Ready, p.HasVolume = true, b.Phase == "Bound"
	default:
		p.Ready = (!b.has("Ready") || b.is("Ready")) && (!b.has("Available") || b.is("Available"))
	}
}
