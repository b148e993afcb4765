package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// A claim without a class takes any volume without one where the cluster has no default class.
func TestClaimWithoutAClassNeedsTheDefaultOne(t *testing.T) {
	inBubble(t, claimWithoutAClassNeedsTheDefaultOne)
}

func claimWithoutAClassNeedsTheDefaultOne(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.api.Put("storage.k8s.io/v1", "StorageClass", "", "slow", nil)
	claim := live("", "persistentvolumeclaims", "v1", "PersistentVolumeClaim", "app", "data",
		map[string]any{"spec": map[string]any{}})
	named := live("", "persistentvolumeclaims", "v1", "PersistentVolumeClaim", "app", "named",
		map[string]any{"spec": map[string]any{"storageClassName": "slow"}})
	s.desire(spaceNamespace("shop", "u1", "app"), claim, named)
	if m := s.reported(claim, "FieldNotAllowed"); !strings.Contains(m, "has no default one") ||
		!strings.Contains(m, "volumeNames: true") {
		t.Errorf("message %q", m)
	}
	eventually(t, "that with a class is made", func() bool { return s.exists(named) })
	s.api.Put("storage.k8s.io/v1", "StorageClass", "", "fast", map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"storageclass.kubernetes.io/is-default-class": "true"}}})
	s.applier.Recheck()
	eventually(t, "it is made where there is one", func() bool { return s.exists(claim) })
}
