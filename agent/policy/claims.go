package policy

import (
	stdjson "encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// claim is a PersistentVolumeClaim, or a template of some.
type claim struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
		Finalizers  []string          `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		VolumeName       string             `json:"volumeName"`
		StorageClassName *string            `json:"storageClassName"`
		Selector         stdjson.RawMessage `json:"selector"`
	} `json:"spec"`
}

// claimsOf are the claims that an object is or makes: by itself, by the templates of a StatefulSet,
// by the ephemeral volumes of its Pods.
func claimsOf(kind string, body []byte) (out []claim) {
	var one claim
	if kind == "persistentvolumeclaims" && json.Unmarshal(body, &one) == nil {
		out = append(out, one)
	}
	var set struct {
		Spec struct {
			VolumeClaimTemplates []claim `json:"volumeClaimTemplates"`
		} `json:"spec"`
	}
	if kind == "statefulsets.apps" && json.Unmarshal(body, &set) == nil {
		out = append(out, set.Spec.VolumeClaimTemplates...)
	}
	for _, at := range templates[kind] {
		var pod struct {
			Spec struct {
				Volumes []struct {
					Ephemeral struct {
						VolumeClaimTemplate *claim `json:"volumeClaimTemplate"`
					} `json:"ephemeral"`
				} `json:"volumes"`
			} `json:"spec"`
		}
		if below := field(body, at); below == nil || json.Unmarshal(below, &pod) != nil {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if t := v.Ephemeral.VolumeClaimTemplate; t != nil {
				out = append(out, *t)
			}
		}
	}
	return out
}

// class is the StorageClass that a claim names, as Kubernetes reads it, nil where it names none.
func (c *claim) class() *string {
	if class, old := c.Metadata.Annotations[corev1.BetaStorageClassAnnotation]; old {
		return &class
	}
	return c.Spec.StorageClassName
}

// claims refuses to choose a volume that is there: it may hold somebody else's data. A class is how
// a site offers volumes.
func (p *Policy) claims(kind string, body []byte) error {
	if p.volumeNames() {
		return nil
	}
	for _, c := range claimsOf(kind, body) {
		class := c.class()
		switch {
		case c.Spec.VolumeName != "":
			return refuse(ReasonField, "volumeNames", "true",
				"spec.volumeName %q of a claim names a volume of the site", c.Spec.VolumeName)
		case len(c.Spec.Selector) > 0 && string(c.Spec.Selector) != "null":
			return refuse(ReasonField, "volumeNames", "true",
				"spec.selector of a claim chooses among the volumes that the site has; leave it out, and name a StorageClass")
		case class != nil && *class == "":
			return refuse(ReasonField, "volumeNames", "true",
				"storageClassName \"\" of a claim takes any volume of the site that has no class; name a StorageClass")
		}
	}
	return nil
}

func (p *Policy) volumeNames() bool { return both(p.site.VolumeNames, p.parent.VolumeNames) }

// NeedsDefaultClass reports whether an object has a claim that takes any volume without a class
// where the cluster has no default StorageClass.
func (p *Policy) NeedsDefaultClass(kind string, body []byte) bool {
	if p.volumeNames() {
		return false
	}
	for _, c := range claimsOf(kind, body) {
		if c.class() == nil {
			return true
		}
	}
	return false
}

// NoDefaultClass refuses such an object at a cluster that has none. unread says that this could not
// be seen.
func NoDefaultClass(unread bool) *Refusal {
	if unread {
		return refuse(ReasonField, "volumeNames", "true", "a claim names no StorageClass, and the agent may not see "+
			"whether the site has a default one: name a StorageClass, or apply what skerry agent rbac prints again")
	}
	return refuse(ReasonField, "volumeNames", "true", "a claim names no StorageClass, and the site has no default one, "+
		"so that it would take any volume of the site that has no class; name a StorageClass")
}
