package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Placement says which objects of a space go to which targets. In a space it speaks for the objects
// of that space. In root, with spaceSelector, it is a policy of the platform: it speaks for the
// objects of many spaces. Of an object decides the first of these that says anything:
//
//  1. a Placement of root with precedence Override,
//  2. the label skerry.dev/target of the object,
//  3. a Placement of the space,
//  4. the label skerry.dev/target of the object's Namespace,
//  5. a Placement of root with precedence Default,
//  6. spec.defaultTargets of the Space.
//
// None of them leads beyond the sites that spec.locationSelector of the Space offers.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry,shortName=pl
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Stale",type=integer,JSONPath=`.status.targets.stale`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.targets.failed`
// +kubebuilder:printcolumn:name="Worst",type=string,JSONPath=`.status.worst[0].reason`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].reason`
// +kubebuilder:printcolumn:name="First",type=string,priority=1,JSONPath=`.status.decision[0]`
// +kubebuilder:printcolumn:name="Scheduled",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`
// +kubebuilder:printcolumn:name="Synced",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Synced")].status`
// +kubebuilder:printcolumn:name="Pending",type=integer,priority=1,JSONPath=`.status.targets.pendingOffline`
// +kubebuilder:printcolumn:name="Spaces",type=integer,priority=1,JSONPath=`.status.spaces.selected`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PlacementSpec   `json:"spec"`
	Status PlacementStatus `json:"status,omitempty"`
}

// PlacementSpec is the rule.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.move) && has(self.move.type) && self.move.type == 'BreakBeforeMake' && has(self.sync) && has(self.sync.whenPlacementDeleted) && self.sync.whenPlacementDeleted == 'Orphan')",message="move.type BreakBeforeMake needs sync.whenPlacementDeleted Clean: with Orphan the old copy would go on running beside the new one"
// +kubebuilder:validation:XValidation:rule="!(has(self.targets.replicas) && self.targets.replicas == 'Divided' && has(self.sync) && has(self.sync.retainFields) && '/spec/replicas' in self.sync.retainFields)",message="targets.replicas Divided sets how many replicas each target has: remove /spec/replicas from sync.retainFields, or duplicate the replicas"
// +kubebuilder:validation:XValidation:rule="!(has(self.spaceSelector) && has(self.rollout) && (has(self.rollout.approved) || has(self.rollout.undo) || (has(self.rollout.approval) && self.rollout.approval == 'Groups')))",message="a Placement of root has releases of its own in each space: remove rollout.approval, approved and undo, and use paused, or a Placement of the space"
// +kubebuilder:validation:XValidation:rule="!(has(self.failover) && has(self.failover.failbackAfter)) || (has(self.targets.count) && self.targets.count > 0 && (has(self.targets.preferences) ? self.targets.preferences.all(p, has(p.selector)) : has(self.targets.groups)))",message="failover.failbackAfter needs targets.count, and targets.groups or targets.preferences by selector alone: what is free changes too often to move for it"
type PlacementSpec struct {
	// Priority decides when several Placements select one object: the higher wins; of equals the
	// older wins and the other has the condition Conflict.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Objects selects what is placed: an object is selected when any clause matches.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Objects []ObjectClause `json:"objects"`
	// SpaceSelector selects, over the labels of Spaces, for whose objects a Placement of root
	// speaks; {} selects all spaces. It is needed in root, and refused in every other space. Each
	// selected space has the Placement under the name root.NAME, where its users read what is
	// decided and cannot change it. Priority and age order it among those of the same precedence.
	// +optional
	SpaceSelector *metav1.LabelSelector `json:"spaceSelector,omitempty"`
	// Precedence says how a Placement of root stands to what the selected spaces say themselves.
	// Default counts where neither a label skerry.dev/target nor a Placement of the space says where
	// to, and before the defaultTargets of the Space. Override counts before all of them: labels and
	// Placements of the space have no effect on what it selects. To limit which sites a space may
	// choose from, set spec.locationSelector of the Space. Refused outside root.
	// +optional
	Precedence Precedence `json:"precedence,omitempty"`
	// IncludeDependencies has what the selected objects name go with them: ConfigMaps, Secrets,
	// ServiceAccounts, PersistentVolumeClaims, the PriorityClass and the governing Service of
	// workloads, and the definitions of custom resources; and what selects or names them: Services,
	// PodDisruptionBudgets, NetworkPolicies, Ingresses, routes and HorizontalPodAutoscalers. With
	// false only what is selected goes, so these must be at the targets already, or be placed
	// otherwise. The Namespace goes in any case.
	// +kubebuilder:default=true
	// +optional
	IncludeDependencies *bool `json:"includeDependencies,omitempty"`
	// Targets selects where to.
	Targets TargetClause `json:"targets"`
	// Sync says how the objects meet what a target already has.
	// +optional
	Sync SyncPolicy `json:"sync,omitzero"`
	// Move says how the objects change their place.
	// +optional
	Move MovePolicy `json:"move,omitzero"`
	// Rollout says how a change of the objects reaches the targets.
	// +optional
	Rollout RolloutPolicy `json:"rollout,omitzero"`
	// Failover says what becomes of the objects when a target is away.
	// +optional
	Failover FailoverPolicy `json:"failover,omitzero"`
	// Disruption says how many targets must keep the objects while targets are drained.
	// +optional
	Disruption *DisruptionPolicy `json:"disruption,omitempty"`
	// Status says what is folded of the reports of its objects.
	// +optional
	Status StatusPolicy `json:"status,omitzero"`
	// Upsync brings objects that are born at the targets, such as a Secret that an operator makes
	// there, into the space: an object comes when any clause matches. It is read-only in the space, is
	// placed nowhere, and goes when it goes at its target. ConfigMaps, Secrets and custom resources in
	// namespaces that were made for the space can come. Each site must allow it (allow.upsync).
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Upsync []UpsyncClause `json:"upsync,omitempty"`
	// Suspend holds the decision as it is: nothing moves, comes or goes on its behalf, and a move
	// that has begun waits where it is. The objects themselves are still kept up to date on the
	// targets of the decision.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ObjectClause matches objects; every field that is set must match.
type ObjectClause struct {
	// APIGroup of the objects: "" is the core group, null any group.
	// +optional
	APIGroup *string `json:"apiGroup,omitempty"`
	// Resources are lower-case plurals ("deployments"). Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Resources []string `json:"resources,omitempty"`
	// Namespaces by name. Empty means all, and cluster-scoped objects too when NamespaceSelector is
	// null as well.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector over the labels of the object's namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Names of the objects. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
	// LabelSelector over the object's own labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// TargetClause selects targets: those that Names lists and those that any selector matches. Of these
// a target is chosen that passes every filter: kubernetesVersion, properties, requiresAPIs, cel,
// the taints, affinity and antiAffinity.
//
// +kubebuilder:validation:XValidation:rule="has(self.selectors) || has(self.names) || has(self.groups) || (has(self.count) && self.count == 0)",message="one of selectors and names is needed; to select every target write selectors: [{}], to select none count: 0"
// +kubebuilder:validation:XValidation:rule="!has(self.count) || self.count == 0 || !has(self.spread) || self.spread.all(s, !has(s.minGroups) || s.minGroups <= self.count)",message="count targets cannot be in more than count groups: raise count or lower spread.minGroups"
// +kubebuilder:validation:XValidation:rule="!has(self.division) || (has(self.replicas) && self.replicas == 'Divided')",message="division needs replicas: Divided"
type TargetClause struct {
	// Selectors over the labels of SyncTargets; any may match. An empty selector matches all.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Selectors []metav1.LabelSelector `json:"selectors,omitempty"`
	// Names of SyncTargets or Locations.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
	// Groups select targets, too, and say in which order they are taken where count limits them: those of
	// the first group that have a session and room, then those of the next. The first group that matches a
	// target is its own; what names and selectors alone select comes last. What is placed does not move to
	// an earlier group, but by failover.failbackAfter; when count is lowered, what is in the last group goes first.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Groups []TargetGroup `json:"groups,omitempty"`
	// Count limits how many are chosen; null means all. 0 means none: what runs is removed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`
	// KubernetesVersion is a range of versions of the targets' Kubernetes, such as
	// ">=1.30.0 <1.34.0". What a vendor puts behind the version, -gke.100 or +k3s1, does not count.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// RequiresAPIs are resources that a target must serve to get the objects, each
	// group/version/resource, such as gateway.networking.k8s.io/v1/httproutes, or v1/pods.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=400
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9.-]+/)?v[a-z0-9]+/[a-z0-9]+$`
	RequiresAPIs []string `json:"requiresAPIs,omitempty"`
	// Properties are requirements on the properties of targets; all must be fulfilled.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Properties []PropertyRequirement `json:"properties,omitempty"`
	// CEL are conditions in the Common Expression Language; all must be true.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	CEL []TargetExpression `json:"cel,omitempty"`
	// Tolerations of taints of the targets, as those of Pods. TolerationSeconds is for how long a
	// taint with the effect NoExecute is tolerated where the objects are: a target with such a taint
	// gets nothing new meanwhile.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.operator) || t.operator in ['Equal', 'Exists'])",message="the operator of a toleration is Equal or Exists"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.effect) || t.effect in ['NoSchedule', 'NoExecute'])",message="the effect of a toleration is NoSchedule or NoExecute; leave it out for both"
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.key) || (has(t.operator) && t.operator == 'Exists'))",message="without a key the operator must be Exists: that tolerates every taint"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.value) || !has(t.operator) || t.operator != 'Exists')",message="the operator Exists takes no value: leave value out, or use Equal"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.tolerationSeconds) || (has(t.effect) && t.effect == 'NoExecute'))",message="tolerationSeconds needs the effect NoExecute: no other effect makes anything leave"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Affinity keeps the objects near those of other Placements; all terms must be fulfilled. When
	// those move, these follow.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Affinity []PlacementAffinity `json:"affinity,omitempty"`
	// AntiAffinity keeps the objects away from those of other Placements, and those away from
	// these. It counts when a target is chosen: what is there stays.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	AntiAffinity []PlacementAffinity `json:"antiAffinity,omitempty"`
	// Spread shares the chosen targets out over groups.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=by
	Spread []Spread `json:"spread,omitempty"`
	// Preferences say which targets are better than others. What is placed does not move to a
	// better target.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Preferences []TargetPreference `json:"preferences,omitempty"`
	// Replicas says what becomes of spec.replicas where several targets are chosen. Duplicated runs
	// all of them on each target. Divided shares them out: their sum over the targets is
	// spec.replicas; while objects move, what is left and what is joined count both. The minReplicas and the
	// maxReplicas of a HorizontalPodAutoscaler that is selected, too, are shared out alike, at least 1 each, and so
	// are the minAvailable of a PodDisruptionBudget and its maxUnavailable, at least 1 each, where they are numbers.
	// A workload that an autoscaler scales begins with 1 replica at least at each target that has a weight.
	// Without it
	// workloads are duplicated, but for StatefulSets: these stay on one target, the one that the
	// others have been on the longest, and their condition skerry.dev/Scheduled says so. On several
	// targets a StatefulSet has data of its own on each.
	// +optional
	Replicas Replicas `json:"replicas,omitempty"`
	// Division says how many replicas each target gets, where they are Divided. Without it all get
	// as many, but for the remainder, which goes to the targets that have been there the longest.
	// +optional
	Division *Division `json:"division,omitempty"`
}

// PlacementStatus is the decision and how far it is carried out.
type PlacementStatus struct {
	// Decision lists the SyncTargets that the selected objects are on. It is written as a whole: a
	// change of place is one write.
	// +optional
	Decision []string `json:"decision,omitempty"`
	// Spaces is, of a Placement of root, how far it is carried out in the spaces that it selects.
	// +optional
	Spaces *PolicyStatus `json:"spaces,omitempty"`
	// Rollout is how far the releases are, with rollout.type Progressive.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// Ready is how many targets are available, of those that are selected: "398/412". Of a Placement of
	// root these are spaces.
	// +optional
	Ready string `json:"ready,omitempty"`
	// Targets counts how far the decision is carried out.
	Targets TargetCounts `json:"targets,omitempty"`
	// Worst names the targets with the worst problems, the worst first and of equals the oldest.
	// Every target is named once.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Worst []TargetProblem `json:"worst,omitempty"`
	// AsOf is the age of all of this.
	// +optional
	AsOf *StatusAge `json:"asOf,omitempty"`
	// ObservedGeneration is the generation of the spec that the decision was made for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Scheduled, Synced, Available, Moving, Conflict; with releases Progressing; with upsync
	// Upsynced. Of a Placement of root: InForce, and Scheduled, Synced and Available of all its spaces.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PlacementList is a list of Placements.
//
// +kubebuilder:object:root=true
type PlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Placement `json:"items"`
}
