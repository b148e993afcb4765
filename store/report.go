package store

import "encoding/json"

// Report is the body (as JSON) of an entry in a reported feed. Its key is that of the desired
// entry, or of an associated object: a Pod that a placed object owns. The entry's Hash is taken
// with At left out, so that time alone is no change.
type Report struct {
	// OriginUID is the UID of the source object in the parent's space: for an associated object, of
	// the placed object that owns it.
	OriginUID string `json:"uid,omitempty"`
	// Generation is the source's generation that is applied on the target.
	Generation int64 `json:"gen,omitempty"`
	// Applied is the desired Hash, in hex, that is applied on the target. Empty until something is.
	Applied string `json:"applied,omitempty"`
	// Varied is true for an object that Customizers have changed for the target.
	Varied bool `json:"varied,omitempty"`
	// Status is the object's status. observedGeneration is in terms of the source's generation.
	// Absent where the kind has none.
	Status json.RawMessage `json:"status,omitempty"`
	// Filled is what the target's controllers wrote into the placed object beside its status. Nil
	// where there is nothing of the kind.
	Filled *Filled `json:"filled,omitempty"`
	// Of, when not empty, names the replicasetdiff.Source that Object has to be completed from: the
	// desired version of the placed object, of which Object leaves out what it has from there.
	Of string `json:"of,omitempty"`
	// Object is an associated object without its status: metadata and spec. The first owner reference
	// names the placed object, by its name and OriginUID. A second one names what controls the object
	// where that is another: it is reported, too.
	Object json.RawMessage `json:"object,omitempty"`
	// Event is what the target says about a placed object or what belongs to it; the key is that of
	// an Event then. At is when it was last said.
	Event *ReportEvent `json:"event,omitempty"`
	// Altered says, in words, which fields of the object the target took off or changed when it was
	// applied. The object is as desired otherwise.
	Altered string `json:"altered,omitempty"`
	// Error says why the object is not as desired on the target. Nil when it is.
	Error *ReportError `json:"error,omitempty"`
	// At is when this was observed at the target, Unix time in milliseconds.
	At int64 `json:"at,omitempty"`
}

// Filled are the fields beside the status that only a cluster's controllers write and that tools
// read. It names them one by one: what a target says can change nothing else of an object in the
// parent's space.
type Filled struct {
	// Revision of a Deployment's template, which Kubernetes keeps in the annotation
	// DeploymentRevision.
	Revision int64 `json:"rev,omitempty"`
	// Replicas that the HorizontalPodAutoscaler Autoscaler, which the space has, has given a workload;
	// 0 says nothing.
	Replicas   int64  `json:"replicas,omitempty"`
	Autoscaler string `json:"scaler,omitempty"`
	// ClusterIP of a Service, the first where it has two.
	ClusterIP string `json:"ip,omitempty"`
	// NodePorts of a Service, in the order of its ports.
	NodePorts []NodePort `json:"ports,omitempty"`
	// HealthCheckNodePort of a Service.
	HealthCheckNodePort int64 `json:"health,omitempty"`
	// IPFamilies and IPFamilyPolicy of a Service.
	IPFamilies     []string `json:"families,omitempty"`
	IPFamilyPolicy string   `json:"policy,omitempty"`
	// VolumeName of a claim that is bound, and the StorageClass of any.
	VolumeName   string `json:"volume,omitempty"`
	StorageClass string `json:"class,omitempty"`
	// Controller is the placed object that has taken over a Pod which was itself placed.
	Controller *Controller `json:"controller,omitempty"`
	// Ended says that the controller which had taken a Pod over has deleted it. It is not made again.
	Ended bool `json:"ended,omitempty"`
}

// Controller is a placed object that controls a Pod by its selector. UID is that of its source.
type Controller struct {
	APIVersion string `json:"api"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// DeploymentRevision is the annotation in which a Deployment's controller says which revision of
// its template is the present one; kubectl rollout status and describe read it.
const DeploymentRevision = "deployment.kubernetes.io/revision"

// SlicesTruncated is the annotation of a reported EndpointSlice that says, in words, what of the
// addresses behind its Service is not reported.
const SlicesTruncated = "skerry.dev/endpoints-truncated"

// NodePort is the port of every node at which one port of a Service is reached.
type NodePort struct {
	Port     int64  `json:"port"`
	Protocol string `json:"protocol,omitempty"`
	NodePort int64  `json:"node"`
}

// ReportError is a refusal or failure at the target.
type ReportError struct {
	// Reason is a CamelCase word: AlreadyExists, Forbidden, Invalid, QuotaExceeded, NotServed,
	// Unavailable ...
	Reason string `json:"reason"`
	// Message is for people: what the target said.
	Message string `json:"message"`
}

// The forms of reports that a parent may read. A child uses the newest that its parent has said it
// reads.
const (
	// ReportsWhole is how every parent reads them: associated objects are whole.
	ReportsWhole = 0
	// ReportsShort leaves out of associated objects what they have from the placed object, see
	// Report.Of.
	ReportsShort = 1
)
