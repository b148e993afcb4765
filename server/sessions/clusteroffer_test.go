package sessions

import (
	"io"
	"log/slog"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// A site sends what its cluster offers when that changes; what it sends without it takes nothing
// back.
func TestAnOfferStaysUntilItChanges(t *testing.T) {
	s, log := &session{}, slog.New(slog.NewTextHandler(io.Discard, nil))
	offer := &tunnel.ClusterOffer{
		Versions: []string{"v1"}, Resources: []string{"a.b/v1/c"}, Properties: map[string]string{"tier": "gold"},
	}
	s.updateConditions(tunnel.ChildStatus{Offer: offer}, 0, log)
	s.updateConditions(tunnel.ChildStatus{}, 0, log)
	st := &v1alpha1.SyncTarget{}
	offers(st, s.said.Offer)
	if is := st.Status; is.Properties["tier"] != "gold" || is.APIs == nil || is.APIs.Resources[0] != "a.b/v1/c" {
		t.Errorf("%+v", is)
	}
	offers(st, nil)
	if st.Status.APIs == nil {
		t.Error("a site that has not said anything yet has taken it back")
	}
}
