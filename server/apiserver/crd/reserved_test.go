package crd

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

func TestReservedGroups(t *testing.T) {
	const url, none = "https://github.com/kubernetes-sigs/gateway-api/pull/1", ""
	for _, tc := range []struct {
		group, approval string
		refused         bool
	}{
		{"example.com", none, false}, {"k8s.io.example.com", none, false}, {"multicluster.x-k8s.io", none, false},
		{"gateway.networking.k8s.io", url, false}, {"snapshot.storage.k8s.io", url, false},
		{"gateway.networking.k8s.io", none, true}, {"gateway.networking.k8s.io", "unapproved, experimental", true},
		{"k8s.io", none, true}, {"sigs.kubernetes.io", none, true}, {"sigs.kubernetes.io", url, false},
		{"", url, true}, {"apps", url, true}, {"batch", url, true}, {
			"autoscaling",
			url,
			true,
		}, {"policy", url, true}, {"extensions", url, true},
		{"rbac.authorization.k8s.io", url, true}, {"apiextensions.k8s.io", url, true}, {"apiregistration.k8s.io", url, true},
		{"metrics.k8s.io", url, true}, {
			"custom.metrics.k8s.io",
			url,
			true,
		}, {"certificates.k8s.io", url, true}, {"resource.k8s.io", url, true},
	} {
		crd := &apiextensions.CustomResourceDefinition{}
		crd.Spec.Group = tc.group
		if tc.approval != "" {
			crd.Annotations = map[string]string{"api-approved.kubernetes.io": tc.approval}
		}
		if err := checkGroup(crd, nil); (err != nil) != tc.refused {
			t.Errorf("%q approved by %q: %v", tc.group, tc.approval, err)
		}
		if err := checkGroup(crd, crd); err != nil {
			t.Errorf("%q approved by %q, which is there: %v", tc.group, tc.approval, err)
		}
	}
}
