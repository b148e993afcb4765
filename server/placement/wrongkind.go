package placement

import (
	"fmt"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// wordOn is an annotation that means something on some kinds alone.
type wordOn struct {
	name string
	// on reports whether it means something on a kind.
	on func(store.Key) bool
	// where says on what it does, and what else does the same.
	where string
}

var wordsOn = []wordOn{
	{v1alpha1.AnnotationReach, func(k store.Key) bool { return k.IsService() || k.Class() == store.ClassNamespace },
		"the Service, or its Namespace"},
	{v1alpha1.AnnotationPodAPI, hasPodAPI,
		"the template of the Pods (spec.template.metadata.annotations), their ServiceAccount, or their Namespace"},
	{v1alpha1.AnnotationReplicas, func(k store.Key) bool { return k.Group == "apps" && k.Resource == "statefulsets" },
		"the StatefulSet, or spec.targets.replicas in the Placement that decides"},
	{v1alpha1.AnnotationPlacement, isDefinition, "the CustomResourceDefinition"},
	{v1alpha1.AnnotationShared, isDefinition, "the CustomResourceDefinition"},
	{v1alpha1.AnnotationConditions, isDefinition, "the CustomResourceDefinition"},
	{v1alpha1.AnnotationHoldReleases, func(k store.Key) bool {
		return k.Group == v1alpha1.GroupVersion.Group && k.Resource == "synctargets"
	}, "the SyncTarget, in the space root"},
}

func isDefinition(k store.Key) bool { return k.Class() == store.ClassCRD }

func hasPodAPI(k store.Key) bool {
	if k.Group != "" {
		return false
	}
	return k.Resource == "namespaces" || k.Resource == "serviceaccounts" || k.Resource == "pods" ||
		k.Resource == "podtemplates"
}

// wrongKind says which labels and annotations of an object mean nothing on its kind, and on what they do. Custom
// resources may have any of these annotations: operators put them on what they make.
func wrongKind(k store.Key, obj map[string]any) (wrong []string) {
	labels, notes := fields.Map(obj, "metadata", "labels"), fields.Map(obj, "metadata", "annotations")
	kind := k.Resource
	if k.Group != "" {
		kind += "." + k.Group
	}
	if notes[v1alpha1.LabelInert] != nil {
		wrong = append(wrong,
			fmt.Sprintf("annotation %s means nothing: it is a label; write it with kubectl label", v1alpha1.LabelInert))
	}
	if w := labels[v1alpha1.LabelInert]; w != nil && w != "false" && !mayBeInert(k.Group, k.Resource) {
		wrong = append(wrong,
			fmt.Sprintf("the label %s means nothing on %s: leave it out; it keeps Roles and their bindings, ResourceQuotas, "+
				"LimitRanges, webhooks and admission policies from acting in the space", v1alpha1.LabelInert, kind))
	}
	if !BuiltIn(k.Group) && k.Group != v1alpha1.GroupVersion.Group {
		return wrong
	}
	for _, word := range wordsOn {
		if notes[word.name] != nil && !word.on(k) {
			wrong = append(wrong,
				fmt.Sprintf("annotation %s means nothing on %s: write it on %s", word.name, kind, word.where))
		}
	}
	return wrong
}
