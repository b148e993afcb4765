package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Space is one logical cluster in a center: it has namespaces, CustomResourceDefinitions, RBAC and
// tokens of its own and is served under /clusters/<name>.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Prefix",type=string,priority=1,JSONPath=`.spec.namespaceMapping.prefix`
// +kubebuilder:printcolumn:name="Set",type=string,priority=1,JSONPath=`.spec.clusterSet`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a space must be a DNS label: lower-case letters, digits and '-', at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'root'",message="'root' is the admin's own space and always exists; choose another name"
type Space struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
	Spec   SpaceSpec   `json:"spec,omitempty"`
	Status SpaceStatus `json:"status,omitempty"`
}

// SpaceSpec is what the admin wants of a space.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaceMapping) == has(oldSelf.namespaceMapping) && (!has(self.namespaceMapping) || self.namespaceMapping == oldSelf.namespaceMapping)",message="namespaceMapping is given when the space is created and stays as it is: what runs at the sites would be made anew under other names"
type SpaceSpec struct {
	// Quota limits what the space may hold and how much it may ask. Empty means no limits but those
	// that protect the center: 1000 open watches, and half of the requests that are answered side
	// by side.
	// +optional
	Quota *SpaceQuota `json:"quota,omitempty"`
	// LocationSelector limits the sites that this space may use: only SyncTargets with these labels
	// are offered to it, whatever its Placements, labels and defaultTargets say. Empty means all
	// sites of the center, also those that join later; a selector that no site fits means none.
	// +optional
	LocationSelector *metav1.LabelSelector `json:"locationSelector,omitempty"`
	// DefaultTargets says where a namespace goes that no Placement and no label names. Null means
	// nowhere.
	// +optional
	DefaultTargets *DefaultTargets `json:"defaultTargets,omitempty"`
	// NamespaceMapping gives the space's namespaces other names at sites, so that several spaces
	// can have a namespace of the same name at one site. In the space nothing differs. It is given
	// when the space is created, and stays.
	// +optional
	NamespaceMapping *NamespaceMapping `json:"namespaceMapping,omitempty"`
	// APIs are groups of custom resources that are served here with the definitions of another
	// space, and with objects of this space's own. That space has to agree: all its definitions of
	// the group carry the annotation skerry.dev/shared=true. A group is given back when the space
	// holds no objects of it.
	// +listType=map
	// +listMapKey=group
	// +kubebuilder:validation:MaxItems=20
	// +optional
	APIs []SharedAPI `json:"apis,omitempty"`
	// Services says where the names of the space's Services answer.
	// +optional
	Services *SpaceServices `json:"services,omitempty"`
	// ClusterSet joins the space with all others that name the same set: what one of them exports
	// (ServiceExport of multicluster.x-k8s.io), each has as a ServiceImport where it has the Namespace.
	// Services of a member reach their space unless services.reach says Target. Empty joins none.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	ClusterSet string `json:"clusterSet,omitempty"`
	// Hosts are the host names that Ingresses of the class skerry may claim: app.example.com, or *.example.com for all
	// names with one label in place of the star. The center serves these Ingresses itself, where it has --ingress-listen.
	// Of two spaces that claim one host, the one whose Ingress is older has it; a name goes before a star.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// DeletionPolicy says what becomes of the space's objects when the Space is deleted. Retain
	// refuses to delete a space that still holds objects of its users; Delete removes them, and
	// with them what runs on the targets. Delete waits for no finalizer: what a controller would have
	// cleaned up outside of the space stays there, and an Event about the Space names what has one.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// SpaceServices are the Services of a space which say nothing themselves, and whose Namespaces say nothing.
type SpaceServices struct {
	// Reach is Space or Target. Target is the default.
	// +optional
	Reach Reach `json:"reach,omitempty"`
	// KeepEntry is how long a Service with a node port or a load balancer, an Ingress or a route stays at a target
	// after what it leads to has moved: callers who know its address there are led to where that is now. It holds for
	// Services that reach the space, and not at targets that are drained. The default is 1h; 0s lets it go at once.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	KeepEntry *metav1.Duration `json:"keepEntry,omitempty"`
}

// Reach is where the name of a Service answers.
//
// +kubebuilder:validation:Enum=Space;Target
type Reach string

const (
	// ReachSpace is each target where the space runs Pods: where none of the Service's own Pods is ready,
	// connections go to a target that has one.
	ReachSpace Reach = "Space"
	// ReachTarget is where the Service is.
	ReachTarget Reach = "Target"
)

// NamespaceMapping is what a space's namespaces are called at sites. A relay calls those of its
// space of this name as its parent does, when it makes that space itself; otherwise its own Space
// says so.
type NamespaceMapping struct {
	// Prefix stands before the name of each namespace: with "shop-" the namespace web is shop-web
	// at sites. It ends with "-". A namespace whose name is longer than 63 characters with it is
	// refused by the sites. Names of Services that cross namespaces, NAME.NAMESPACE.svc, have it
	// too.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?-$')",message="a prefix has lower-case letters, digits and '-', and ends with '-', as in 'shop-'"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('kube-') && !self.startsWith('skerry-')",message="namespaces named kube-* and skerry-* are the cluster's own, and the agent's: choose another prefix"
	Prefix string `json:"prefix"`
}

// SharedAPI is a group of custom resources whose definitions are in another space.
type SharedAPI struct {
	// FromSpace is the space that has the definitions. What it changes in them counts for all; a
	// conversion webhook of its sees the objects of all.
	// +kubebuilder:validation:MinLength=1
	FromSpace string `json:"fromSpace"`
	// Group is the API group: stable.example.com.
	// +kubebuilder:validation:MinLength=1
	Group string `json:"group"`
}

// SpaceQuota limits a space. What is not given is not limited, but for watches. What the center
// itself writes (mirrored Pods, Events) counts, and is never refused.
type SpaceQuota struct {
	// Objects of all kinds that are stored.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Objects int64 `json:"objects,omitempty"`
	// Bytes that are stored of them. When they are used up, nothing more can be made and no object
	// can grow.
	// +optional
	Bytes *resource.Quantity `json:"bytes,omitempty"`
	// CRDs that are defined.
	// +kubebuilder:validation:Minimum=1
	// +optional
	CRDs int64 `json:"crds,omitempty"`
	// RequestsPerSecond from outside, watches counted when they begin. Twice as many may come at
	// once.
	// +kubebuilder:validation:Minimum=1
	// +optional
	RequestsPerSecond int64 `json:"requestsPerSecond,omitempty"`
	// Watches that may be open at once; 1000 where this is not given, also without a quota.
	// Whatever it is, the events that they have not sent may take 64 MiB, and a watch whose reader
	// takes nothing for 15 s is ended.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Watches int64 `json:"watches,omitempty"`
}

// SpaceUsage is what a space holds.
type SpaceUsage struct {
	// Objects of all kinds.
	Objects int64 `json:"objects"`
	// Bytes of them.
	Bytes resource.Quantity `json:"bytes"`
	// CRDs that are defined.
	CRDs int64 `json:"crds"`
}

// DeletionPolicy says what becomes of a space's objects.
type DeletionPolicy string

// The deletion policies.
const (
	DeletionRetain DeletionPolicy = "Retain"
	DeletionDelete DeletionPolicy = "Delete"
)

// DefaultTargets selects targets for namespaces that nothing else places.
type DefaultTargets struct {
	// Count is how many targets; at least 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	Count int32 `json:"count,omitempty"`
	// Selector limits them by label. Empty means all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// SpaceStatus is what the center observed.
type SpaceStatus struct {
	// URL of the space's kube API.
	URL string `json:"url,omitempty"`
	// HostURL is the same API at a host of its own, for clients that cannot carry a path; it is
	// there when the center has --spaces-domain.
	// +optional
	HostURL string `json:"hostURL,omitempty"`
	// Usage of a space that has a quota, some seconds old.
	// +optional
	Usage *SpaceUsage `json:"usage,omitempty"`
	// Conditions: Ready, WithinQuota, Deleting.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SpaceList is a list of Spaces.
//
// +kubebuilder:object:root=true
type SpaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Space `json:"items"`
}
