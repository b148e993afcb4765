package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SyncTarget is one attached workload cluster, or one relay. It is created when its agent joins.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry,shortName=st
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Connected",type=string,JSONPath=`.status.conditions[?(@.type=="Connected")].status`
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="Synced")].status`
// +kubebuilder:printcolumn:name="Relay",type=boolean,JSONPath=`.status.relay`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Last-Seen",type=date,JSONPath=`.status.lastSeen`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a SyncTarget must be a DNS label: lower-case letters, digits and '-', at most 63"
type SyncTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
	Spec   SyncTargetSpec   `json:"spec,omitempty"`
	Status SyncTargetStatus `json:"status,omitempty"`
}

// SyncTargetSpec is what the admin wants of a target.
type SyncTargetSpec struct {
	// Unschedulable keeps new decisions away from this target; what is there stays.
	// +optional
	Unschedulable bool `json:"unschedulable,omitempty"`
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
	// Transport of the current session: quic or tcp.
	Transport string `json:"transport,omitempty"`
	// AppliedRevision is the newest revision of the center's data that the target has durably stored.
	AppliedRevision int64 `json:"appliedRevision,omitempty"`
	// Objects is how many objects are placed on the target.
	Objects int32 `json:"objects,omitempty"`
	// Held is what the target does not do before an admin has accepted it; see `skerry target accept`.
	// +optional
	Held *SyncTargetHeld `json:"held,omitempty"`
	// Identity is what the target proves itself with and whom it trusts.
	// +optional
	Identity *SyncTargetIdentity `json:"identity,omitempty"`
	// Conditions: Connected and Synced are the center's; CenterTrusted, ClockInSync, CertificateValid and TargetReachable are what the
	// target's agent last said of itself.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SyncTargetHeld is what a target does not do before an admin has accepted it. Nothing is lost while it waits.
type SyncTargetHeld struct {
	// Reason is CenterRegressed when the center's data is not what the target's data came from (a restored backup, another center): then
	// the target does nothing that the center wants. It is DeletionsHeld when more is to be deleted than the target does unasked: then it
	// does everything else.
	Reason string `json:"reason"`
	// Message says what was seen.
	// +optional
	Message string `json:"message,omitempty"`
	// Objects is how many objects the target has from here. Deletions, Changes and Additions count what accepting would do to them.
	Objects   int32 `json:"objects"`
	Deletions int32 `json:"deletions"`
	Changes   int32 `json:"changes,omitempty"`
	Additions int32 `json:"additions,omitempty"`
	// First are the first of the objects that would be deleted, at most 10: space/resource.group/namespace/name.
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
