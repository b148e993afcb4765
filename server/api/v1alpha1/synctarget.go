package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SyncTarget is one attached workload cluster, or one relay. It is created when its agent joins.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry,shortName=st
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Connected",type=string,JSONPath=`.status.conditions[?(@.type=="Connected")].status`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.conditions[?(@.type=="Connected")].lastTransitionTime`
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="Synced")].status`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.objects`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.applied`
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refused`
// +kubebuilder:printcolumn:name="Below",type=integer,JSONPath=`.status.below.targets`
// +kubebuilder:printcolumn:name="Reached",type=integer,JSONPath=`.status.below.connected`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Agent",type=string,priority=1,JSONPath=`.status.agentVersion`
// +kubebuilder:printcolumn:name="Relay",type=boolean,priority=1,JSONPath=`.status.relay`
// +kubebuilder:printcolumn:name="Unschedulable",type=boolean,priority=1,JSONPath=`.spec.unschedulable`
// +kubebuilder:printcolumn:name="Link",type=string,priority=1,JSONPath=`.spec.link.class`
// +kubebuilder:printcolumn:name="CPU",type=string,priority=1,JSONPath=`.status.allocatable.cpu`
// +kubebuilder:printcolumn:name="CPU-Allocated",type=string,priority=1,JSONPath=`.status.allocated.cpu`
// +kubebuilder:printcolumn:name="Memory",type=string,priority=1,JSONPath=`.status.allocatable.memory`
// +kubebuilder:printcolumn:name="Memory-Allocated",type=string,priority=1,JSONPath=`.status.allocated.memory`
// +kubebuilder:printcolumn:name="Last-Seen",type=date,priority=1,JSONPath=`.status.lastSeen`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a SyncTarget must be a DNS label: lower-case letters, digits and '-', at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'root'",message="root is the space of the center's admin, so no site may have that name; choose another one"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'none'",message="the label skerry.dev/target=none is the wish to be nowhere, so no site may have that name; choose another one"
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['api', 'apis', 'openapi', 'version'])",message="api, apis, openapi and version begin paths of Kubernetes' API, which follow the names of sites in a URL, so no site may have such a name; choose another one"
type SyncTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
	Spec   SyncTargetSpec   `json:"spec,omitempty"`
	Status SyncTargetStatus `json:"status,omitempty"`
}

// SyncTargetSpec is what the admin wants of a target.
//
// +kubebuilder:validation:XValidation:rule="!has(self.lease) || !has(self.link) || !has(self.link.class) || self.link.class != 'metered' || duration(self.lease.duration) >= duration('5m')",fieldPath=".lease.duration",message="over a metered link the lease must last at least 5m: such a link is silent for up to 25s, and renewing a shorter lease would cost more than 300 kB a day"
type SyncTargetSpec struct {
	// Unschedulable keeps new decisions away from this target; what is there stays.
	// +optional
	Unschedulable bool `json:"unschedulable,omitempty"`
	// Taints keep away what does not tolerate them, as those of nodes do, see
	// Placement.spec.targets.tolerations. What is there leaves a target with an effect NoExecute,
	// once its replacement is up; where nothing else fits, it stays. TolerationSeconds count from
	// timeAdded; where that is absent, from when the center first saw the taint. `skerry target
	// drain` sets the taint skerry.dev/drain:NoExecute.
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.effect in ['NoSchedule', 'NoExecute'])",message="the effect of a taint is NoSchedule or NoExecute"
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// EvictAfter is how long the target may be without a session before its workloads move away,
	// as if it was drained. Null: they never do. What is on a target that is away goes on running
	// there until the target is back. Nothing moves while more than half of all targets are away.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="evictAfter must be at least 1m: a session that breaks is replaced within seconds"
	// +optional
	EvictAfter *metav1.Duration `json:"evictAfter,omitempty"`
	// Drain says how the target is left while it is drained, or removed with detachPolicy Clean.
	// +optional
	Drain *DrainPolicy `json:"drain,omitempty"`
	// Lease lets what must not run twice run elsewhere when the target is not heard: the site stops it
	// at the end of the lease. Null: it stays on a target that is away.
	Lease *Lease `json:"lease,omitempty"`
	// Bounds limit what is placed on the target, by what the pod templates request, times replicas.
	// +optional
	Bounds *Bounds `json:"bounds,omitempty"`
	// Elastic says whether the target's cluster gets more nodes when Pods wait for room. With false nothing
	// new is placed there beyond what its nodes have: what it requests, together with all that is placed
	// there and with what Pods of others request, must be within status.allocatable, as far as that is known.
	// What is there stays, also when it grows. Absent it counts as true: allocatable keeps nothing away.
	// +optional
	Elastic *bool `json:"elastic,omitempty"`
	// DetachPolicy is what happens on the target when the SyncTarget is deleted. Keep leaves there
	// what runs there. Clean moves away what fits elsewhere, and then removes all that was placed
	// there: the SyncTarget stays, with the condition Detaching, until the target has reported that
	// it is gone. What nothing can replace keeps it, too. Discard removes also that, with its data.
	// +kubebuilder:default=Keep
	// +optional
	DetachPolicy DetachPolicy `json:"detachPolicy,omitempty"`
	// Allow takes away of what the site allows spaces to do on its cluster. It never gives more:
	// what the site allows stands in the agent's own configuration, and what results in
	// status.policy. Of a relay, controllers, clusterControllers and webhooks have an effect, and logs,
	// exec, portForward, view, podWrites and services, which close all that is below it. All else is
	// said there of the relay's own SyncTargets.
	// +optional
	Allow *SyncTargetAllow `json:"allow,omitempty"`
	// Link says what kind of link leads to the target and how much it may carry.
	// +optional
	Link *Link `json:"link,omitempty"`
	// AgentVersion is the version that the target's agent is to have. The agent passes it on to its machine, whose
	// owner says whether that is installed, and from where: see `skerry target upgrade`. It has no effect on a relay.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z][0-9A-Za-z.+~-]*$`
	// +optional
	AgentVersion string `json:"agentVersion,omitempty"`
}

// DetachPolicy is what becomes of what was placed on a target that is removed.
//
// +kubebuilder:validation:Enum=Keep;Clean;Discard
type DetachPolicy string

// The policies.
const (
	DetachKeep    DetachPolicy = "Keep"
	DetachClean   DetachPolicy = "Clean"
	DetachDiscard DetachPolicy = "Discard"
)

// Empties reports whether the target is emptied before its SyncTarget goes.
func (p DetachPolicy) Empties() bool { return p == DetachClean || p == DetachDiscard }

// LinkClass is a kind of link.
//
// +kubebuilder:validation:Enum=lan;wan;metered
type LinkClass string

// The classes of links.
const (
	LinkLAN     LinkClass = "lan"
	LinkWAN     LinkClass = "wan"
	LinkMetered LinkClass = "metered"
)

// Link is the link between a target and this center.
//
// +kubebuilder:validation:XValidation:rule="!has(self.quietHours) || has(self.bytesPerDay)",message="quietHours are when goes what bytesPerDay held back: give bytesPerDay, too"
// +kubebuilder:validation:XValidation:rule="!has(self.bytesPerDay) || !quantity(string(self.bytesPerDay)).isLessThan(quantity('1Mi'))",message="bytesPerDay must be at least 1Mi: keeping an idle link open takes up to three quarters of that"
// +kubebuilder:validation:XValidation:rule="!has(self.quietHours) || self.quietHours.substring(0, 5) != self.quietHours.substring(6, 11)",message="quietHours must not end when they begin"
type Link struct {
	// Class is lan (reports are gathered for 50 ms to 1 s), wan (0.2 to 5 s) or metered (5 to 30
	// s). Errors, changed conditions and objects that are gone wait for 1 s at most. What users
	// change goes down at once, further changes are gathered for up to 1 s (wan) or 10 s (metered).
	// +kubebuilder:default=lan
	// +optional
	Class LinkClass `json:"class,omitempty"`
	// BytesPerDay is how much may cross in a UTC day, both directions together, before reports
	// other than errors, changed conditions and objects that are gone wait for the quiet hours or
	// the next day. What users change is sent all the same. At least 1Mi.
	// +optional
	BytesPerDay *resource.Quantity `json:"bytesPerDay,omitempty"`
	// QuietHours, "02:00-04:00", are when everything may go; what crosses then does not count
	// against bytesPerDay. They are in UTC, or at an offset that is given behind them:
	// "22:00-04:00+05:30".
	// +kubebuilder:validation:MaxLength=17
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9](Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])?$`
	// +optional
	QuietHours string `json:"quietHours,omitempty"`
}

// BytesToday is what crossed the link to a target since midnight UTC: payload of UDP datagrams, or
// of the TCP connection.
type BytesToday struct {
	// Date is the day, YYYY-MM-DD.
	Date string `json:"date,omitempty"`
	// Down is from here to the target, Up the other way.
	Down int64 `json:"down"`
	Up   int64 `json:"up"`
	// Budgeted is the part of both that counts against spec.link.bytesPerDay: what crossed outside
	// the quiet hours.
	Budgeted int64 `json:"budgeted"`
	// ByPurpose is both by what they were for.
	// +optional
	ByPurpose *BytesByPurpose `json:"byPurpose,omitempty"`
}

// BytesByPurpose is what crossed a link, both directions together. The names are those of the label
// of the metric skerry_link_bytes_total; none is left out: 0 is told, too.
type BytesByPurpose struct {
	// Control is what agent and center say about the session: hello, conditions, orders,
	// certificates.
	Control int64 `json:"control"`
	// Positions are acknowledgements and comparisons.
	Positions int64 `json:"positions"`
	// Desired are objects on their way to the target.
	Desired int64 `json:"desired"`
	// Errors, Status, Associated (Pods and what else belongs to placed objects) and Events are
	// reports.
	Errors     int64 `json:"errors"`
	Status     int64 `json:"status"`
	Associated int64 `json:"associated"`
	Events     int64 `json:"events"`
	// Streams are logs, terminals and forwarded ports.
	Streams int64 `json:"streams"`
	// Transport is what the transport adds: handshakes, packet heads, its acknowledgements, what
	// was sent again.
	Transport int64 `json:"transport"`
}

// SyncTargetStatus is what the center knows of a target.
type SyncTargetStatus struct {
	// Relay is true when the target is a center with targets of its own.
	Relay bool `json:"relay,omitempty"`
	// LastSeen is when the target's agent was last heard of, to the minute.
	// +optional
	LastSeen *metav1.Time `json:"lastSeen,omitempty"`
	// AgentVersion and KubernetesVersion are what the agent said of itself and of its cluster.
	AgentVersion      string `json:"agentVersion,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// ClusterUID is the UID of the Namespace kube-system of the target's cluster. No two targets
	// have one cluster, unless the agent of the second was started with --force.
	ClusterUID string `json:"clusterUID,omitempty"`
	// Transport of the current session: quic or tcp.
	Transport string `json:"transport,omitempty"`
	// AppliedRevision is the newest revision of the center's data that the target had durably stored
	// when this status was written: with lastSeen at the latest.
	AppliedRevision int64 `json:"appliedRevision,omitempty"`
	// Objects is how many objects are placed on the target.
	// +optional
	Objects int32 `json:"objects"`
	// Applied is how many of them the target reports to have as they are desired, and Refused how
	// many it reports that it cannot, or may not, have so. Of the others it has not said anything
	// yet.
	// +optional
	Applied int32 `json:"applied"`
	// +optional
	Refused int32 `json:"refused"`
	// Refusals are the first of what is refused, at most 10.
	// +optional
	Refusals []Refusal `json:"refusals,omitempty"`
	// Moves are those that lead to or from the target and are under way or stuck, the longest of
	// them first, at most 10.
	// +optional
	Moves []MoveUnderWay `json:"moves,omitempty"`
	// MovesTotal is how many there are of them, named or not.
	// +optional
	MovesTotal int32 `json:"movesTotal,omitempty"`
	// Drain is what is left on a target that workloads have to leave, absent for others.
	// +optional
	Drain *SyncTargetDrain `json:"drain,omitempty"`
	// BytesToday is what crossed the link today, to the minute.
	// +optional
	BytesToday *BytesToday `json:"bytesToday,omitempty"`
	// PendingBytes is about how much waits to cross, in both directions.
	PendingBytes int64 `json:"pendingBytes,omitempty"`
	// Held is what the target does not do before an admin has accepted it; see `skerry target
	// accept`.
	// +optional
	Held *SyncTargetHeld `json:"held,omitempty"`
	// Below is what a relay says of the sites below it, through any number of relays; the condition
	// SubtreeHealthy says what to do.
	// +optional
	Below *SyncTargetBelow `json:"below,omitempty"`
	// Policy is what spaces may do on the target's cluster, beyond the default: what its agent's
	// configuration allows, less what spec.allow takes away.
	// +optional
	Policy *SyncTargetPolicy `json:"policy,omitempty"`
	// Capacity is the sum of the cluster's nodes, and Allocatable that of its ready, schedulable
	// nodes: cpu, memory, pods, ephemeral-storage and at most 16 others. Where the agent may not read
	// nodes they are the sums of ResourceQuotas, see the condition CapacityKnown. Of a relay they are
	// the sums of its targets.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Allocated is what pods that have not ended request, and AllocatedPlaced the part of it that
	// belongs to objects placed from here. They are at most 6 minutes old while the target is
	// connected.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
	// +optional
	AllocatedPlaced corev1.ResourceList `json:"allocatedPlaced,omitempty"`
	// Requested is what the objects placed on the target request: what spec.bounds limits. It is
	// absent while the target has neither bounds nor spec.elastic false.
	// +optional
	Requested *Bounds `json:"requested,omitempty"`
	// Cluster is what the target's cluster is made of. It is shown in spaces as a Node, and as the
	// classes that objects may name.
	// +optional
	Cluster *SyncTargetCluster `json:"cluster,omitempty"`
	// Properties are the ClusterProperties of about.k8s.io that the target's cluster has: at most 64
	// by name, those with a value of at most 256 bytes.
	// +optional
	Properties map[string]string `json:"properties,omitempty"`
	// APIs is what the target's cluster serves.
	// +optional
	APIs *ServedAPIs `json:"apis,omitempty"`
	// Lease is what may have been promised to the agent.
	Lease *SyncTargetLease `json:"lease,omitempty"`
	// Identity is what the target proves itself with and whom it trusts.
	// +optional
	Identity *SyncTargetIdentity `json:"identity,omitempty"`
	// Conditions: Connected, Synced, of a relay SubtreeHealthy, where the link has a budget
	// WithinBudget, where it has bounds WithinBounds, while it is drained Drained, while it does not
	// say what it has CapacityKnown, while it keeps its releases TakesReleases and, while it reports too
	// much, ReportsKept are the center's; CenterTrusted, ClockInSync, CertificateValid,
	// TargetReachable and VersionAsWished are what the target's agent last said of itself.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Refusal is an object that a target refuses.
type Refusal struct {
	// Object is space/resource.group/namespace/name.
	Object string `json:"object"`
	// Reason and Message are the target's words.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// MoveUnderWay is something that is not where it should be yet.
type MoveUnderWay struct {
	// Object is what decides about what moves, a Namespace, a Placement or an object:
	// space/resource.group/namespace/name.
	Object string `json:"object"`
	// From is where it is, To where it should be.
	From []string `json:"from,omitempty"`
	To   []string `json:"to,omitempty"`
	// Since is when the move began, absent while its time does not run.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Phase is the reason of the condition skerry.dev/Moving, and Message what is waited for.
	Phase   string `json:"phase"`
	Message string `json:"message,omitempty"`
}

// SyncTargetDrain is what is left on a target that workloads have to leave. None of its numbers is
// left out.
type SyncTargetDrain struct {
	// Units is how many units are still decided to be there: the objects of a Placement, those of a
	// namespace, or one object.
	Units int32 `json:"units"`
	// Stuck is how many of them do not leave by themselves; status.moves names them.
	Stuck int32 `json:"stuck"`
	// Reported is how many objects and pods the target still reports.
	Reported int32 `json:"reported"`
	// Ended is how many objects stay there because they have run to their end.
	Ended int32 `json:"ended"`
	// BlockedBy are the reasons why units have stayed since the drain began, also those that are over.
	// One Event of the SyncTarget, DrainBlocked, tells of each.
	// +optional
	BlockedBy []string `json:"blockedBy,omitempty"`
}

// SyncTargetHeld is what a target does not do before an admin has accepted it. Nothing is lost
// while it waits.
type SyncTargetHeld struct {
	// Reason is CenterRegressed when the center's data is not what the target's data came from (a
	// restored backup, another center): then the target does nothing that the center wants. It is
	// DeletionsHeld when more is to be deleted than the target does unasked: then it does
	// everything else.
	Reason string `json:"reason"`
	// Message says what was seen.
	// +optional
	Message string `json:"message,omitempty"`
	// Objects is how many objects the target has from here. Deletions, Changes and Additions count
	// what accepting would do to them.
	Objects   int32 `json:"objects"`
	Deletions int32 `json:"deletions"`
	Changes   int32 `json:"changes,omitempty"`
	Additions int32 `json:"additions,omitempty"`
	// First are the first of the objects that would be deleted, at most 10:
	// space/resource.group/namespace/name.
	// +optional
	First []string `json:"first,omitempty"`
	// Accept is the value of the annotation skerry.dev/accept that lets exactly this happen.
	Accept string `json:"accept"`
}

// SyncTargetIdentity is what a target said of its credentials when it was last connected.
type SyncTargetIdentity struct {
	// CertificateUntil is when its certificate ends. It renews it at two thirds of its life.
	CertificateUntil metav1.Time `json:"certificateUntil"`
	// Authority names the center's authority that signed the certificate.
	Authority string `json:"authority"`
	// Bundle names the center's authorities that the target trusts.
	Bundle string `json:"bundle"`
}

// SyncTargetList is a list of SyncTargets.
//
// +kubebuilder:object:root=true
type SyncTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SyncTarget `json:"items"`
}
