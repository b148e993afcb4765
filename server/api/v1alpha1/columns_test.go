package v1alpha1

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// A Placement that selects nothing is available on all that it chose: its READY alone says that all is well.
func TestAPlacementsListShowsTheReasonOfItsDecision(t *testing.T) {
	text, err := CRDs.ReadFile("crds/skerry.dev_placements.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	for _, c := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		if c.Name == "Reason" && c.Priority == 0 && c.JSONPath == `.status.conditions[?(@.type=="Scheduled")].reason` {
			return
		}
	}
	t.Error("kubectl get placements does not say why")
}
