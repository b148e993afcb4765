package placement

import (
	"fmt"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Misplaced is the reason of a label or an annotation of Skerry that means nothing where it stands, or as it is
// written.
const Misplaced = "Misplaced"

// annotationsOfUsers are the annotations that users write on objects that are placed, and may take for labels.
var annotationsOfUsers = []string{v1alpha1.AnnotationReach, v1alpha1.AnnotationVolumes,
	v1alpha1.AnnotationReplication, v1alpha1.AnnotationEvict, v1alpha1.AnnotationReplicas, v1alpha1.AnnotationPodAPI,
	v1alpha1.AnnotationPlacement, v1alpha1.AnnotationShared}

// misplaced says which labels and annotations of an object mean nothing, and what to write instead; "" where all
// mean something.
func misplaced(k store.Key, obj map[string]any) string {
	labels, notes := fields.Map(obj, "metadata", "labels"), fields.Map(obj, "metadata", "annotations")
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	yes := func(kind, name string, word any) {
		if word != nil && word != "true" && word != "false" {
			add("%s %s: %.80q means nothing; write \"true\", or leave it out", kind, name, fmt.Sprint(word))
		}
	}
	if notes[v1alpha1.LabelTarget] != nil {
		add("annotation %s means nothing: it is a label; write it with kubectl label", v1alpha1.LabelTarget)
	}
	if labels[v1alpha1.AnnotationTargets] != nil {
		add("label %s means nothing: to choose a target set the label %s, which names one, or use a Placement",
			v1alpha1.AnnotationTargets, v1alpha1.LabelTarget)
	}
	for _, name := range annotationsOfUsers {
		if labels[name] != nil {
			add("label %s means nothing: it is an annotation; write it with kubectl annotate", name)
		}
	}
	if r := notes[v1alpha1.AnnotationReplicas]; r != nil && r != string(v1alpha1.ReplicasDuplicated) {
		add("annotation %s: %.80q means nothing; write %s, or leave it out", v1alpha1.AnnotationReplicas, fmt.Sprint(r),
			v1alpha1.ReplicasDuplicated)
	}
	if mayBeInert(k.Group, k.Resource) {
		yes("label", v1alpha1.LabelInert, labels[v1alpha1.LabelInert])
	}
	yes("annotation", v1alpha1.AnnotationShared, notes[v1alpha1.AnnotationShared])
	if notes[v1alpha1.AnnotationEvict] != nil && labels[v1alpha1.LabelTarget] == nil &&
		k.Class() != store.ClassNamespace && k.Group != v1alpha1.GroupVersion.Group {
		add("annotation %s means nothing here: write it on the Namespace or the Placement that decides",
			v1alpha1.AnnotationEvict)
	}
	word := notes[v1alpha1.AnnotationVolumes]
	switch {
	case word == nil:
	case k.Class() != store.ClassNamespace:
		add("annotation %s means nothing here: write it on the Namespace, or spec.move.volumes in the "+
			"Placement that decides", v1alpha1.AnnotationVolumes)
	case word != string(v1alpha1.VolumesMove) && word != string(v1alpha1.VolumesStay) &&
		word != string(v1alpha1.VolumesReplicate):
		add("annotation %s: %.80q means nothing; write %s for volumes that are copied when the app moves, "+
			"%s for those that have a standby, too, %s for those that stay, or leave it out", v1alpha1.AnnotationVolumes,
			fmt.Sprint(word), v1alpha1.VolumesMove, v1alpha1.VolumesReplicate, v1alpha1.VolumesStay)
	}
	if text := misplacedReplication(k.Class() == store.ClassNamespace, notes); text != "" {
		add("%s", text)
	}
	return strings.Join(wrong, "; ")
}
