package sessions

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// setBoundsCondition says what is placed on a target that has bounds, and whether that is within them.
func (srv *Server) setBoundsCondition(st *v1alpha1.SyncTarget) {
	st.Status.Requested = nil
	if st.Spec.Bounds == nil {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionWithinBounds)
	}
	if st.Spec.Bounds == nil && (st.Spec.Elastic == nil || *st.Spec.Elastic) {
		return
	}
	room, objects := srv.cfg.Delivery.Room(st.Name)
	n, pods := int64(objects), room.Requested.Pods
	st.Status.Requested = &v1alpha1.Bounds{
		CPU:    resource.NewMilliQuantity(room.Requested.CPU, resource.DecimalSI),
		Memory: resource.NewQuantity(room.Requested.Memory, resource.BinarySI),
		Pods:   &pods, Objects: &n,
	}
	if room.Bounds = st.Spec.Bounds; room.Bounds == nil {
		return
	}
	if over := room.Over(objects, placement.Load{}); over != "" {
		set(st, v1alpha1.ConditionWithinBounds, metav1.ConditionFalse, placement.OverBounds, "what is placed here is over "+
			"spec.bounds: "+over+". It stays where no other site has room for it: raise the bounds, or add a site")
		return
	}
	set(st, v1alpha1.ConditionWithinBounds, metav1.ConditionTrue, "Room", "what is placed here is within spec.bounds")
}
