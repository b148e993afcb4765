package crd

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// reservedGroup returns why the group of a definition belongs to Kubernetes, or nil if it does not.
// A definition in a group that clusters serve themselves breaks a cluster when it is placed there,
// and can hardly be deleted again.
func reservedGroup(crd *apiextensions.CustomResourceDefinition) error {
	switch group := crd.Spec.Group; {
	case servedByClusters(group):
		return fmt.Errorf(
			"spec.group: clusters serve %s themselves, so nobody may define kinds in it; use a domain of your own",
			group,
		)
	case apihelpers.IsProtectedCommunityGroup(group):
		if state, _ := apihelpers.GetAPIApprovalState(crd.Annotations); state != apihelpers.APIApproved {
			return fmt.Errorf(
				"spec.group: *.k8s.io and *.kubernetes.io belong to Kubernetes; use a domain of your own, or, "+
					"for an approved API, give the URL of its approval in the annotation %s",
				apiextensionsv1.KubeAPIApprovedAnnotation,
			)
		}
	}
	return nil
}

// servedByClusters reports whether a Kubernetes cluster serves a group itself, or by an APIService
// of the metrics that its autoscalers read.
func servedByClusters(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) ||
		slices.Contains([]string{apiextensions.GroupName, "apiregistration.k8s.io",
			"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"}, group)
}

// checkGroup refuses definitions in reserved groups. What is there already may be changed and
// deleted.
func checkGroup(crd, old *apiextensions.CustomResourceDefinition) error {
	if old != nil && reservedGroup(old) != nil {
		return nil
	}
	return reservedGroup(crd)
}
