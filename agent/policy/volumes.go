package policy

import (
	"reflect"
	"slices"
	"strings"

	psa "k8s.io/pod-security-admission/api"
)

// ownVolumes are the kinds of volumes that have what their namespace has, or what a claim or a driver
// of the site gives them. All others name storage: their nodes mount it with the rights of the site.
var ownVolumes = []string{
	"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
	"hostPath", // which the Pod Security level judges
}

// checkVolumes refuses volumes that name storage themselves, past claims: it may hold somebody else's
// data.
func (p *Policy) checkVolumes(space string, spec *podSpec) error {
	if p.volumeNames() || p.Level(space) == psa.LevelPrivileged {
		return nil
	}
	for i := range spec.Volumes {
		if kind := volumeKind(reflect.ValueOf(spec.Volumes[i].VolumeSource)); kind != "" {
			return refuse(ReasonField, "volumeNames", "true", "volume %q of the Pods is of the kind %s: it names storage, "+
				"which nodes of the site would mount with their own rights; use a claim", spec.Volumes[i].Name, kind)
		}
	}
	return nil
}

// volumeKind is the first kind that a volume says it is and that is not one of ownVolumes.
func volumeKind(source reflect.Value) string {
	for i := range source.NumField() {
		if source.Field(i).IsNil() {
			continue
		}
		if kind, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ","); !slices.Contains(ownVolumes, kind) {
			return kind
		}
	}
	return ""
}
