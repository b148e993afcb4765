package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store"
)

// place implements admission.PlaceFunc. A replica that does not lead leaves it to the leader: what it
// knows may be old.
func (s *Server) place(_ context.Context, space string, key store.Key, obj metav1.Object) (targets, unit string) {
	if s.lead != nil && !s.lead.holds() {
		return "", ""
	}
	a := s.delivery.Admit(space, key, obj)
	return a.Targets, a.Unit
}
