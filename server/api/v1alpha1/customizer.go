package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Customizer says in what the objects of a space differ from target to target. A target gets its
// variant of an object; the object in the space stays as it is. Texts may have values of the target
// in them: {{ .name }}, {{ .labels.region }}, {{ .properties.registry }}, with the functions
// default, lower, upper, quote, int and bool: {{ .labels.replicas | default "3" | int }}.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry,shortName=cz
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Matched",type=integer,JSONPath=`.status.matched`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failures`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Customizer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CustomizerSpec   `json:"spec"`
	Status CustomizerStatus `json:"status,omitempty"`
}

// CustomizerSpec is what is changed where.
type CustomizerSpec struct {
	// Priority orders the Customizers that change one object: that with the highest comes last, and
	// has the last word. Of equals it is the last by name.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Objects selects what is changed: an object is selected when any clause matches. Definitions,
	// Namespaces, ServiceAccounts, webhooks, and what gives rights are the same at every target.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Objects []ObjectClause `json:"objects"`
	// Rules are applied in their order, each at the targets that it selects.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Rules []CustomizerRule `json:"rules,omitempty"`
	// Remove are JSON pointers to fields that no target gets, after all rules. A field that an
	// object does not have is passed over.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Remove []string `json:"remove,omitempty"`
}

// CustomizerRule is what is changed at some targets: first images, then hosts, env, merge, patches
// and remove.
type CustomizerRule struct {
	// Targets selects them; null is all.
	// +optional
	Targets *CustomizerTargets `json:"targets,omitempty"`
	// Images swaps registry, repository or tag of images.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Images []ImageSwap `json:"images,omitempty"`
	// Hosts swaps the hosts of Ingresses, of OpenShift's Routes, and of Gateways and their routes.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Hosts []HostSwap `json:"hosts,omitempty"`
	// Env sets environment variables of containers.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Env []EnvSwap `json:"env,omitempty"`
	// Merge is a strategic merge patch: fields are set, null removes one. Containers, their
	// variables, ports and mounts, volumes and the like are merged by their names; the element
	// {name: x, $patch: delete} removes one. Every other list is replaced, and so are all lists of
	// custom resources.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Merge *apiextensionsv1.JSON `json:"merge,omitempty"`
	// Patches is a JSON patch (RFC 6902). Texts in values may have values of the target in them.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Patches []PatchOperation `json:"patches,omitempty"`
	// Remove is as that of the spec, at these targets alone.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Remove []string `json:"remove,omitempty"`
}

// CustomizerTargets selects targets: those that match the labels, and are named where names are
// given.
type CustomizerTargets struct {
	// MatchLabels and MatchExpressions over the labels of SyncTargets. Empty matches all.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// +optional
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
	// Names of SyncTargets. Behind a relay it is the name that the relay knows the target by.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
}

// ImageSwap swaps parts of images.
type ImageSwap struct {
	// From is the name of an image without tag, or what it begins with up to a slash:
	// "docker.io/shop" is that of docker.io/shop/app:v1. Empty is every image.
	// +optional
	From string `json:"from,omitempty"`
	// Registry, Repository and Tag are what comes in place of that part; empty leaves it. A tag
	// takes the place of a digest, too.
	// +optional
	Registry string `json:"registry,omitempty"`
	// +optional
	Repository string `json:"repository,omitempty"`
	// +optional
	Tag string `json:"tag,omitempty"`
	// Containers by name; empty is all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Containers []string `json:"containers,omitempty"`
	// Paths are JSON pointers to images elsewhere, as in custom resources. Given alone, containers
	// stay as they are. A path that an object does not have is passed over.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Paths []string `json:"paths,omitempty"`
}

// HostSwap swaps hosts.
type HostSwap struct {
	// From is a host, or an ending that begins with a dot. Empty is every host.
	// +optional
	From string `json:"from,omitempty"`
	// To comes in its place.
	To string `json:"to"`
}

// EnvSwap sets an environment variable.
type EnvSwap struct {
	// Name of the variable. It is set in each container that has it.
	Name string `json:"name"`
	// Value that it gets.
	Value string `json:"value"`
	// Containers by name; the variable is added to one that does not have it. Empty is every
	// container that has it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Containers []string `json:"containers,omitempty"`
}

// PatchOperation is one operation of a JSON patch.
type PatchOperation struct {
	// +kubebuilder:validation:Enum=add;remove;replace;move;copy;test
	Op string `json:"op"`
	// Path is a JSON pointer: /spec/template/spec/containers/0/image.
	Path string `json:"path"`
	// From of move and copy.
	// +optional
	From string `json:"from,omitempty"`
	// Value of add, replace and test.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}

// CustomizerStatus is what became of a Customizer at its targets.
type CustomizerStatus struct {
	// ObservedGeneration is the generation that all targets have.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Matched counts the objects that it changes, at each target.
	// +optional
	Matched int32 `json:"matched"`
	// Targets counts those where it changes an object.
	// +optional
	Targets int32 `json:"targets"`
	// Failures counts objects for which it fails, at each target. They stay as they were there.
	// +optional
	Failures int32 `json:"failures"`
	// Failed are the first of them, at most 20.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Failed []CustomizerFailure `json:"failed,omitempty"`
	// Conditions: Valid, Applied.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CustomizerFailure is one object for which a Customizer fails at a target.
type CustomizerFailure struct {
	// Target is the name of the SyncTarget, behind those of the relays above it.
	Target string `json:"target"`
	// Object is group/resource/namespace/name.
	Object string `json:"object"`
	// Reason: MissingValue, CustomizerFailed.
	Reason string `json:"reason"`
	// Message names the field of the Customizer and what is missing.
	Message string `json:"message"`
}

// CustomizerList is a list of Customizers.
//
// +kubebuilder:object:root=true
type CustomizerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Customizer `json:"items"`
}
