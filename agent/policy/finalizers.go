package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	psa "k8s.io/pod-security-admission/api"
)

// finalizers refuses templates by which Pods and claims are born with finalizers: whoever drains a node
// of the site, or empties it of the space, would wait for ever.
func (p *Policy) finalizers(space, kind string, body []byte) error {
	if p.Level(space) == psa.LevelPrivileged || !bornWithFinalizers(kind, body) {
		return nil
	}
	return refuse(ReasonField, "podSecurity", "["+space+"=privileged]",
		"metadata.finalizers of a template: nobody at the site could remove what is made of it; leave them out")
}

func bornWithFinalizers(kind string, body []byte) bool {
	if kind != "persistentvolumeclaims" {
		for _, c := range claimsOf(kind, body) {
			if len(c.Metadata.Finalizers) > 0 {
				return true
			}
		}
	}
	for _, at := range templates[kind] {
		var pod struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		below := field(body, at)
		if at != "" && below != nil && json.Unmarshal(below, &pod) == nil && len(pod.Metadata.Finalizers) > 0 {
			return true
		}
	}
	return false
}
