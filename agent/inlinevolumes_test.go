package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// The site's admin opens a CSI driver to the Pods of spaces by the label that Kubernetes has for it.
func TestInlineVolumesNeedTheDriversLabel(t *testing.T) {
	inBubble(t, inlineVolumesNeedTheDriversLabel)
}

func inlineVolumesNeedTheDriversLabel(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	for name, profile := range map[string]string{"nfs.example.com": "privileged", "secrets.example.com": "restricted"} {
		s.api.Put("storage.k8s.io/v1", "CSIDriver", "", name, map[string]any{"metadata": map[string]any{
			"labels": map[string]any{"security.kubernetes.io/csi-ephemeral-volume-profile": profile}}})
	}
	pod := func(name, driver string) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": name}},
			"volumes": []any{map[string]any{"name": "v", "csi": map[string]any{"driver": driver}}}}}
	}
	bad := live("", "pods", "v1", "Pod", "app", "bad", pod("bad", "nfs.example.com"))
	none := live("", "pods", "v1", "Pod", "app", "none", pod("none", "none.example.com"))
	good := live("", "pods", "v1", "Pod", "app", "good", pod("good", "secrets.example.com"))
	s.desire(spaceNamespace("shop", "u1", "app"), bad, none, good)
	for _, e := range []string{"bad", "none"} {
		is := bad
		if e == "none" {
			is = none
		}
		if m := s.reported(is, "FieldNotAllowed"); !strings.Contains(m, "csi-ephemeral-volume-profile") {
			t.Errorf("%s: message %q", e, m)
		}
	}
	eventually(t, "a driver that is safe for its level is used", func() bool { return s.exists(good) })
}
