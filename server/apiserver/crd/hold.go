package crd

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/server/apiserver/storage"
)

const (
	// holdTime is how long a request for a custom resource waits for its definition to be served.
	// Upstream gives its servers as long to learn of a new definition before they call it
	// established.
	holdTime = 5 * time.Second
	// holdStep is how often a held request looks again.
	holdStep = 20 * time.Millisecond
)

// heldKey marks the context of a request that is held; its value is until when.
type heldKey struct{}

// Serve answers a request below /apis that no built-in kind answers.
func (s *Servers) Serve(w http.ResponseWriter, r *http.Request) {
	if server, done := s.use(s.definer(r, storage.GroupIn(r.URL.Path))); server != nil {
		defer done()
		server.handler.ServeHTTP(w, r) // and what it does not know comes to unserved
		return
	}
	s.unserved(w, r)
}

// definer is the space whose definitions answer a request for a group: its own, or a lender's.
func (s *Servers) definer(r *http.Request, group string) string {
	space := request.Space(r.Context())
	if lender := s.borrows.Lender(space, group); lender != "" {
		return lender
	}
	return space
}

// unserved answers a request that no server knows. If the space has a definition of it that will be
// served, the request waits for that: whoever has just written a definition finds its resources
// there.
func (s *Servers) unserved(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	until, held := ctx.Value(heldKey{}).(time.Time)
	if !held {
		until = time.Now().Add(holdTime)
		r = r.WithContext(context.WithValue(ctx, heldKey{}, until))
	}
	if group, ok := discovered(r.URL.Path); ok && !held && s.defines(r, group) {
		s.AwaitDiscovery(r)
		s.Serve(w, r)
		return
	}
	for s.coming(r) && time.Now().Before(until) {
		step := time.NewTimer(holdStep)
		select {
		case <-step.C:
		case <-ctx.Done():
			step.Stop()
			response.Write(w, response.NotFound())
			return
		}
		if crd := s.definition(r); crd != nil && IsEstablished(crd) {
			s.Serve(w, r)
			return
		}
	}
	response.Write(w, response.NotFound())
}

// coming reports whether the request names a resource whose definition is there and on its way to
// being served.
func (s *Servers) coming(r *http.Request) bool {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || info.Subresource != "" {
		return false
	}
	crd := s.definition(r)
	if crd == nil || crd.DeletionTimestamp != nil {
		return false
	}
	across := slices.Contains([]string{"list", "watch", "deletecollection"}, info.Verb)
	if namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped; namespaced != (info.Namespace != "") &&
		!(namespaced && across) {
		return false
	}
	for _, c := range crd.Status.Conditions {
		refused := c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse
		settled := c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue &&
			time.Since(c.LastTransitionTime.Time) > holdTime
		if refused || settled {
			return false
		}
	}
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Served && v.Name == info.APIVersion
	})
}

// definition reads the definition of the resource that a request names, past all caches.
func (s *Servers) definition(r *http.Request) *apiextensionsv1.CustomResourceDefinition {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || info.Resource == "" || strings.Contains(info.Resource+info.APIGroup, "/") {
		return nil
	}
	space := s.definer(r, info.APIGroup)
	if space == request.AllSpaces || space == request.OwnSpace {
		return nil
	}
	got, err := s.client.Get(r.Context(), registrykey.CRDPrefix+space+"/"+info.Resource+"."+info.APIGroup)
	if err != nil || len(got.Kvs) == 0 {
		return nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if json.Unmarshal(got.Kvs[0].Value, &crd) != nil {
		return nil
	}
	return &crd
}
