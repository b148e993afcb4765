package placement

import (
	"cmp"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// PodAPI says which API the pods of a workload use by their own: that of their space, that of the
// cluster that runs them, or none.
type PodAPI uint8

// The answers. The zero value is none.
const (
	NoWish PodAPI = iota
	SpaceAPI
	TargetAPI
	NoAPI
)

// String is the value of the annotation skerry.dev/pod-api that asks for it; "" for NoWish.
func (p PodAPI) String() string {
	switch p {
	case SpaceAPI:
		return "Space"
	case TargetAPI:
		return "Target"
	case NoAPI:
		return "None"
	case NoWish:
	}
	return ""
}

// PodAPIOf reads the annotation skerry.dev/pod-api of metadata. What it does not know is no wish.
func PodAPIOf(meta map[string]any) PodAPI {
	return podAPI(fields.String(meta, "annotations", v1alpha1.AnnotationPodAPI))
}

// PodAPIIn is PodAPIOf of annotations.
func PodAPIIn(notes map[string]string) PodAPI { return podAPI(notes[v1alpha1.AnnotationPodAPI]) }

func podAPI(word string) PodAPI {
	switch word {
	case "Space":
		return SpaceAPI
	case "Target":
		return TargetAPI
	case "None":
		return NoAPI
	}
	return NoWish
}

// PodAccount is who the pods of a workload are.
type PodAccount struct {
	// Name is that of their ServiceAccount, "default" where they name none; empty for a kind that
	// runs no pods.
	Name string
	// Wish is what their template says.
	Wish PodAPI
	// Mounts is automountServiceAccountToken, or true where the template brings a token for the API
	// itself; nil where it does not say.
	Mounts *bool
	// Given is true for a workload that came from a parent, which has given its pods the API of
	// their space.
	Given bool
	// Fixed is true for a Job or a Pod, which cannot change: what its pods use was decided when it
	// was made, and Decided says that it is the API of their space.
	Fixed, Decided bool
}

// PodAccountOf reads who the pods of a workload are. It is the zero value for other kinds.
func PodAccountOf(k store.Key, obj map[string]any) PodAccount {
	spec := podSpec(k, fields.Map(obj, "spec"))
	if spec == nil {
		return PodAccount{}
	}
	notes := fields.Map(obj, "metadata", "annotations")
	decided, fromParent := fields.String(notes, v1alpha1.AnnotationSpaceAPI) != "", notes[v1alpha1.AnnotationOrigin] != nil
	a := PodAccount{
		Name: AccountOf(spec), Wish: PodAPIOf(podMeta(k, obj)),
		Given: decided && fromParent, Decided: decided && !fromParent,
		Fixed: k.Resource == "pods" || k.Resource == "jobs",
	}
	if mounts, ok := spec["automountServiceAccountToken"].(bool); ok {
		a.Mounts = &mounts
	}
	for volume := range fields.Maps(spec, "volumes") {
		if brings := WritesToken(volume); brings {
			a.Mounts = &brings
		}
	}
	return a
}

// WritesToken reports whether a volume of a Pod has a token for the API of its cluster by the word of
// the Pod's author.
func WritesToken(volume map[string]any) bool {
	for source := range fields.Maps(volume, "projected", "sources") {
		if IsOwnToken(fields.Map(source, "serviceAccountToken")) {
			return true
		}
	}
	return false
}

// IsOwnToken reports whether a projected token is for the API of the cluster that makes it.
func IsOwnToken(token map[string]any) bool {
	return token != nil && fields.String(token, "audience") == ""
}

// AccountOf is the ServiceAccount that a Pod's spec names, "default" where it names none.
func AccountOf(spec map[string]any) string {
	return cmp.Or(fields.String(spec, "serviceAccountName"), fields.String(spec, "serviceAccount"), DefaultAccount)
}

// podMeta is the metadata of a workload's pods.
func podMeta(k store.Key, obj map[string]any) map[string]any {
	path := podPaths[k.Group+"/"+k.Resource]
	if len(path) == 0 {
		return fields.Map(obj, "metadata")
	}
	at := fields.Map(obj, "spec")
	for _, field := range path[:len(path)-1] {
		at = fields.Map(at, field)
	}
	return fields.Map(at, "metadata")
}

// Bound are the ServiceAccounts that a RoleBinding of a namespace, or a ClusterRoleBinding, gives
// rights to, as NAMESPACE/NAME, or NAMESPACE/* for the group of all that a namespace has. Groups of
// everybody are none: they say nothing of one pod.
func Bound(within string, obj map[string]any) (accounts []string) {
	const group = "system:serviceaccounts:"
	for s := range fields.Maps(obj, "subjects") {
		name, namespace := fields.String(s, "name"), cmp.Or(fields.String(s, "namespace"), within)
		switch kind := fields.String(s, "kind"); {
		case kind == "ServiceAccount" && namespace != "" && name != "":
			accounts = append(accounts, namespace+"/"+name)
		case kind == "Group" && len(name) > len(group) && name[:len(group)] == group:
			accounts = append(accounts, name[len(group):]+"/*")
		}
	}
	return accounts
}
