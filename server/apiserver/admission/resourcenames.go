package admission

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/fields"
)

// ResourceNames is the admission plugin that warns of a Placement, a Customizer or a StatusCollector
// that names a kind as kubectl takes it, such as deploy or Deployment. Such an object selects nothing:
// it names resources, which are plurals.
type ResourceNames struct{}

// Handles implements admission.Interface.
func (ResourceNames) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (ResourceNames) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj, ok := a.GetObject().(*unstructured.Unstructured)
	if !ok || a.GetResource().Group != v1alpha1.GroupVersion.Group || a.GetSubresource() != "" || request.FromCenter(ctx) {
		return nil
	}
	spec := fields.Map(obj.Object, "spec")
	switch a.GetResource().Resource {
	case "placements", "customizers":
		for i, o := range fields.List(spec, "objects") {
			selected, _ := o.(map[string]any)
			for j, name := range fields.List(selected, "resources") {
				warnResource(ctx, fmt.Sprintf("spec.objects[%d].resources[%d]", i, j), fmt.Sprint(name))
			}
		}
	case "statuscollectors":
		warnResource(ctx, "spec.scope.resource", fields.String(fields.Map(spec, "scope"), "resource"))
	}
	return nil
}

func warnResource(ctx context.Context, field, name string) {
	plural := plurals[strings.ToLower(name)]
	switch {
	case plural != "":
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: %q selects nothing: resources are plurals, so write %s",
			field, name, plural))
	case name != strings.ToLower(name):
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: %q selects nothing: write the resource, which is a plural in "+
			"lower-case letters; kubectl api-resources lists them", field, name))
	}
}

// plurals are the resources that people mean by kubectl's short names, and by kinds.
var plurals = map[string]string{
	"deploy": "deployments", "deployment": "deployments", "sts": "statefulsets", "statefulset": "statefulsets",
	"ds": "daemonsets", "daemonset": "daemonsets", "rs": "replicasets", "replicaset": "replicasets",
	"po": "pods", "pod": "pods", "svc": "services", "service": "services", "cm": "configmaps", "configmap": "configmaps",
	"secret": "secrets", "sa": "serviceaccounts", "serviceaccount": "serviceaccounts", "job": "jobs",
	"cj": "cronjobs", "cronjob": "cronjobs", "ing": "ingresses", "ingress": "ingresses",
	"netpol": "networkpolicies", "networkpolicy": "networkpolicies", "pvc": "persistentvolumeclaims",
	"persistentvolumeclaim": "persistentvolumeclaims", "hpa": "horizontalpodautoscalers",
	"horizontalpodautoscaler": "horizontalpodautoscalers", "pdb": "poddisruptionbudgets",
	"poddisruptionbudget": "poddisruptionbudgets", "ns": "namespaces", "namespace": "namespaces",
	"crd": "customresourcedefinitions", "customresourcedefinition": "customresourcedefinitions",
	"sc": "storageclasses", "storageclass": "storageclasses", "pc": "priorityclasses", "priorityclass": "priorityclasses",
}
