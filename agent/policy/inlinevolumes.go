package policy

import (
	"k8s.io/apimachinery/pkg/util/json"
	psa "k8s.io/pod-security-admission/api"
)

// InlineProfile is the label by which the admin of a cluster says of a CSIDriver which Pods may name its
// volumes themselves: those of a Pod Security level.
const InlineProfile = "security.kubernetes.io/csi-ephemeral-volume-profile"

// InlineDrivers are the CSI drivers whose volumes the Pods of an object name themselves, past claims.
func InlineDrivers(kind string, body []byte) (out []string) {
	for _, at := range templates[kind] {
		var pod struct {
			Spec podSpec `json:"spec"`
		}
		if below := field(body, at); below == nil || json.Unmarshal(below, &pod) != nil {
			continue
		}
		for i := range pod.Spec.Volumes {
			if csi := pod.Spec.Volumes[i].CSI; csi != nil {
				out = append(out, csi.Driver)
			}
		}
	}
	return out
}

// InlineDriver refuses a volume that a driver mounts as the Pod says: where it takes the address of a
// server, nodes of the site would mount whatever is there. profile is the InlineProfile of the
// driver, empty where it has none.
func (p *Policy) InlineDriver(space, driver, profile string) error {
	level := p.Level(space)
	if p.volumeNames() || level == psa.LevelPrivileged {
		return nil
	}
	if safe, err := psa.ParseLevel(profile); profile != "" && err == nil && psa.CompareLevels(level, safe) <= 0 {
		return nil
	}
	return refuse(ReasonField, "volumeNames", "true", "the Pods have a volume of the CSI driver %q, which mounts what "+
		"they name, and its CSIDriver at the site has no label %s for the level %q; use a claim",
		driver, InlineProfile, level)
}
