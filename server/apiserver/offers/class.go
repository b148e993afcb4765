package offers

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubernetes/pkg/apis/core"
	networking "k8s.io/kubernetes/pkg/apis/networking"
	node "k8s.io/kubernetes/pkg/apis/node"
	scheduling "k8s.io/kubernetes/pkg/apis/scheduling"
	storage "k8s.io/kubernetes/pkg/apis/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/wellknown"
)

// offer is a class that some of the targets of a space have.
type offer struct {
	class v1alpha1.SyncTargetClass // as the first of the targets has it
	by    []string
	// differ are those of by that have another class of this name.
	differ []string
	// defaults is how many of them take it for what names none.
	defaults int
}

// offersOf joins the classes of one kind that targets have, by name.
func offersOf(kind string, targets []*target) map[string]*offer {
	out := map[string]*offer{}
	for _, t := range targets {
		for _, c := range t.classes {
			if c.Kind != kind {
				continue
			}
			o := out[c.Name]
			if o == nil {
				o = &offer{class: c}
				out[c.Name] = o
			}
			if c.Default {
				o.defaults++
			}
			o.by = append(o.by, t.name)
			shown := o.class
			if shown.Default = c.Default; shown != c {
				o.differ = append(o.differ, t.name)
			}
		}
	}
	return out
}

// named is how many targets an annotation names.
const named = 8

func names(of []string) string {
	if len(of) > named {
		return fmt.Sprintf("%d targets", len(of))
	}
	return strings.Join(of, ",")
}

// Annotations by which clients find the default class.
const (
	defaultStorage = "storageclass.kubernetes.io/is-default-class"
	defaultIngress = "ingressclass.kubernetes.io/is-default-class"
)

// object is a class as a space shows it. It is the default where each of the space's targets says so.
func (o *offer) object(space string, targets int) wellknown.Object {
	c, everywhere := o.class, o.defaults == targets
	meta := metav1.ObjectMeta{
		Name: c.Name, ResourceVersion: "1", Annotations: map[string]string{v1alpha1.AnnotationOfferedBy: names(o.by)},
		UID: types.UID(uuid.NewSHA1(uuid.NameSpaceURL, []byte(space+"/"+c.Kind+"/"+c.Name)).String()),
	}
	if len(o.differ) > 0 {
		meta.Annotations[v1alpha1.AnnotationOffersDiffer] = names(o.differ)
	}
	switch c.Kind {
	case "StorageClass":
		if everywhere {
			meta.Annotations[defaultStorage] = "true"
		}
		return &storage.StorageClass{
			ObjectMeta: meta, Provisioner: c.Provider, AllowVolumeExpansion: &c.AllowVolumeExpansion,
			ReclaimPolicy:     given(api.PersistentVolumeReclaimPolicy(c.ReclaimPolicy)),
			VolumeBindingMode: given(storage.VolumeBindingMode(c.VolumeBindingMode)),
		}
	case "IngressClass":
		if everywhere {
			meta.Annotations[defaultIngress] = "true"
		}
		return &networking.IngressClass{ObjectMeta: meta, Spec: networking.IngressClassSpec{Controller: c.Provider}}
	case "PriorityClass":
		return &scheduling.PriorityClass{
			ObjectMeta: meta, Value: c.Value, GlobalDefault: everywhere,
			PreemptionPolicy: given(api.PreemptionPolicy(c.PreemptionPolicy)),
		}
	default:
		return &node.RuntimeClass{ObjectMeta: meta, Handler: c.Provider}
	}
}

// given returns nil for an empty text.
func given[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}
