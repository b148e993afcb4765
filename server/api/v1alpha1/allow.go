package v1alpha1

// PodSecurityLevel is a level of the Pod Security Standards.
//
// +kubebuilder:validation:Enum=privileged;baseline;restricted
type PodSecurityLevel string

// SyncTargetAllow takes away of what a site allows. A list that is given names all that is left of
// what the site allows; one that is absent takes nothing away. '*' stands for any part of a name.
type SyncTargetAllow struct {
	// Namespaces that exist on the cluster and may be used: NAMESPACE or SPACE/NAMESPACE.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=127
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
	// Kinds that may be applied, RESOURCE or RESOURCE.GROUP; those that every site allows are no
	// exception.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Kinds []string `json:"kinds,omitempty"`
	// DenyKinds are kinds that may not be applied.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	DenyKinds []string `json:"denyKinds,omitempty"`
	// ServiceAccounts of the cluster that workloads may name: NAMESPACE/NAME.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// LoadBalancerClasses that Services may name.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	LoadBalancerClasses []string `json:"loadBalancerClasses,omitempty"`
	// Controllers are the spaces whose Roles and RoleBindings may travel there.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Controllers []string `json:"controllers,omitempty"`
	// ClusterControllers are the spaces whose ClusterRoles and ClusterRoleBindings may travel there.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	ClusterControllers []string `json:"clusterControllers,omitempty"`
	// Webhooks are the spaces whose webhooks for what is born there may be mirrored there.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Webhooks []string `json:"webhooks,omitempty"`
	// Upsync are the spaces that may bring objects which were born there into the space.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Upsync []string `json:"upsync,omitempty"`
	// PodSecurity is the weakest level that is left to any space.
	// +optional
	PodSecurity PodSecurityLevel `json:"podSecurity,omitempty"`
	// TakeOver, ExternalIPs, ExternalBackends, VolumeNames and Tokens are taken away when they are
	// false.
	// +optional
	TakeOver *bool `json:"takeOver,omitempty"`
	// +optional
	ExternalIPs *bool `json:"externalIPs,omitempty"`
	// +optional
	ExternalBackends *bool `json:"externalBackends,omitempty"`
	// +optional
	VolumeNames *bool `json:"volumeNames,omitempty"`
	// +optional
	Tokens *bool `json:"tokens,omitempty"`
	// Logs, Exec, PortForward, View and PodWrites are taken away when they are false. Exec is attach
	// and debugging, too. View is to read what is in the space's own namespaces, but Secrets.
	// PodWrites is to delete, evict and label Pods, and what else was born at the target. Services is that
	// Services of spaces answer Pods of their space at other targets.
	// +optional
	Logs *bool `json:"logs,omitempty"`
	// +optional
	Exec *bool `json:"exec,omitempty"`
	// +optional
	PortForward *bool `json:"portForward,omitempty"`
	// +optional
	View *bool `json:"view,omitempty"`
	// +optional
	PodWrites *bool `json:"podWrites,omitempty"`
	// +optional
	Services *bool `json:"services,omitempty"`
}

// SyncTargetPolicy is what spaces may do on a target's cluster beyond the default.
type SyncTargetPolicy struct {
	// Namespaces that exist on the cluster and may be used.
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
	// Kinds beyond the default.
	// +optional
	Kinds []string `json:"kinds,omitempty"`
	// DenyKinds are refused.
	// +optional
	DenyKinds []string `json:"denyKinds,omitempty"`
	// ServiceAccounts of the cluster that workloads may name.
	// +optional
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// LoadBalancerClasses that Services may name.
	// +optional
	LoadBalancerClasses []string `json:"loadBalancerClasses,omitempty"`
	// Controllers are the spaces whose Roles and RoleBindings are applied there, and
	// ClusterControllers those whose ClusterRoles and ClusterRoleBindings are.
	// +optional
	Controllers []string `json:"controllers,omitempty"`
	// +optional
	ClusterControllers []string `json:"clusterControllers,omitempty"`
	// Webhooks are the spaces whose webhooks for what is born there are mirrored there.
	// +optional
	Webhooks []string `json:"webhooks,omitempty"`
	// Upsync are the spaces that bring objects which were born there into the space.
	// +optional
	Upsync []string `json:"upsync,omitempty"`
	// PodSecurity has the level of all spaces, and SPACE=LEVEL where one has another.
	// +optional
	PodSecurity []string `json:"podSecurity,omitempty"`
	// TakeOver lets objects that exist be taken over, Secrets excepted.
	TakeOver bool `json:"takeOver,omitempty"`
	// Hosts are SPACE=HOST for hosts of Ingresses, Gateways and routes, and Definitions SPACE=GROUP for
	// API groups of definitions, which are kept for the spaces that are named with them.
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// +optional
	Definitions []string `json:"definitions,omitempty"`
	// ExternalBackends lets Ingresses and routes lead to Services of type ExternalName.
	ExternalBackends bool `json:"externalBackends,omitempty"`
	// ExternalIPs lets Services have externalIPs.
	ExternalIPs bool `json:"externalIPs,omitempty"`
	// VolumeNames lets claims name their volume.
	VolumeNames bool `json:"volumeNames,omitempty"`
	// Tokens lets Pods and Secrets ask for tokens for the cluster's own API.
	Tokens bool `json:"tokens,omitempty"`
	// Logs, Exec and PortForward say where a space may not reach into its own Pods in this way, View
	// where it may not read what is in its own namespaces, PodWrites where it may not delete, evict and
	// label its Pods, Services where its Services do not answer other targets: false for all spaces,
	// SPACE=false for one, SPACE=true for one of few.
	// +optional
	Logs []string `json:"logs,omitempty"`
	// +optional
	Exec []string `json:"exec,omitempty"`
	// +optional
	PortForward []string `json:"portForward,omitempty"`
	// +optional
	View []string `json:"view,omitempty"`
	// +optional
	PodWrites []string `json:"podWrites,omitempty"`
	// +optional
	Services []string `json:"services,omitempty"`
}
