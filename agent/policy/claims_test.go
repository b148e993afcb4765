package policy

import (
	"testing"

	"skerry.dev/skerry/tunnel"
)

// A claim without a class depends on the cluster's default one, wherever the claim is.
func TestNeedsDefaultClass(t *testing.T) {
	closed, open := compile(t, tunnel.Allow{}, nil), compile(t, tunnel.Allow{VolumeNames: true}, nil)
	for _, c := range []struct {
		kind, body string
		want       bool
	}{
		{"persistentvolumeclaims", `{"spec":{}}`, true},
		{"persistentvolumeclaims", `{"spec":{"storageClassName":"fast"}}`, false},
		{"persistentvolumeclaims",
			`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"fast"}},"spec":{}}`, false},
		{"statefulsets.apps", `{"spec":{"volumeClaimTemplates":[{"spec":{"storageClassName":"a"}},{"spec":{}}]}}`, true},
		{"statefulsets.apps", `{"spec":{}}`, false},
		{"pods", `{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{}}}}]}}`, true},
		{"pods", `{"spec":{"volumes":[{"name":"v","ephemeral":{}},{"name":"w","emptyDir":{}}]}}`, false},
		{"configmaps", `{"spec":{}}`, false},
	} {
		if got := closed.NeedsDefaultClass(c.kind, []byte(c.body)); got != c.want {
			t.Errorf("%s %s: %v", c.kind, c.body, got)
		}
		if open.NeedsDefaultClass(c.kind, []byte(c.body)) {
			t.Errorf("%s %s: where volumes are lent", c.kind, c.body)
		}
	}
}
