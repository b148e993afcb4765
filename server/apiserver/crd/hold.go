package crd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/server/apiserver/storage"
)

// holdTime is how long a request for a custom resource waits for its definition to be served.
// Upstream gives its servers as long to learn of a new definition before they call it established.
const holdTime = 5 * time.Second

// hold is the wait of one request for its definition.
type hold struct {
	until   time.Time
	changed <-chan struct{} // of changes, from before the last look; nil before the first
	// revision is that of the definition as the request found it stored. What a server knows of an
	// older one does not count.
	revision int64
}

// heldKey marks the context of a request that waits; its value is a *hold.
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

// unserved answers a request that no server knows. If the space has a definition of the resource
// that is about to be served, the request waits until the server of the space serves it. So a
// client that has just written a definition finds its resources.
func (s *Servers) unserved(w http.ResponseWriter, r *http.Request) {
	h, again := r.Context().Value(heldKey{}).(*hold)
	if !again {
		h = &hold{until: time.Now().Add(holdTime)}
		r = r.WithContext(context.WithValue(r.Context(), heldKey{}, h))
	}
	if group, ok := discovered(r.URL.Path); ok && !again && s.defines(r, group) {
		s.AwaitDiscovery(r)
		s.Serve(w, r)
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), h.until)
	defer cancel()
	for {
		if h.changed != nil {
			select {
			case <-h.changed:
			case <-ctx.Done():
				response.Write(w, response.NotFound())
				return
			}
		}
		h.changed = s.config.changes.wait()
		crd, served := s.definition(r, h)
		switch {
		case crd == nil || !named(r, crd):
			response.Write(w, response.NotFound())
			return
		case served:
			s.Serve(w, r) // and if its server knows nothing of it, the request waits for the next change
			return
		case !coming(crd):
			response.Write(w, response.NotFound())
			return
		}
	}
}

// named reports whether a request is for the objects of a definition: its scope is that of the
// definition, and the version is served.
func named(r *http.Request, crd *apiextensionsv1.CustomResourceDefinition) bool {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok {
		return false
	}
	across := slices.Contains([]string{"list", "watch", "deletecollection"}, info.Verb)
	if namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped; namespaced != (info.Namespace != "") &&
		!(namespaced && across) {
		return false
	}
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Served && v.Name == info.APIVersion
	})
}

// coming reports whether a definition is about to be served: it is new, and nothing speaks against
// it.
func coming(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.DeletionTimestamp == nil &&
		!slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			refused := c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse
			settled := c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue &&
				time.Since(c.LastTransitionTime.Time) > holdTime
			return refused || settled
		})
}

// definition returns the definition of the resource that a request names, and whether the server of
// its space serves it. What that server knows is used if it is not older than what the request
// found stored before; else definition reads the store. It is nil if there is none.
func (s *Servers) definition(r *http.Request, h *hold) (crd *apiextensionsv1.CustomResourceDefinition, served bool) {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || info.Subresource != "" || strings.Contains(info.Resource+info.APIGroup, "/") {
		return nil, false
	}
	space, name := s.definer(r, info.APIGroup), info.Resource+"."+info.APIGroup
	if space == request.AllSpaces || space == request.OwnSpace {
		return nil, false
	}
	if h.revision == 0 {
		if crd, h.revision = s.stored(r.Context(), space, name); crd == nil {
			return nil, false
		}
	}
	if server := s.ForSpace(space); server != nil {
		if known, revision := server.definition(name); revision >= h.revision {
			return known, isServed(known)
		}
	}
	if crd == nil {
		crd, h.revision = s.stored(r.Context(), space, name)
	}
	return crd, false
}

// stored reads the definition of a name in a space from the store, past all caches, and the
// revision of its last write. It leaves out schemas and all else that does not decide whether the
// definition is served. It is nil if there is none.
func (s *Servers) stored(ctx context.Context, space, name string) (*apiextensionsv1.CustomResourceDefinition, int64) {
	got, err := s.client.Get(ctx, registrykey.CRDPrefix+space+"/"+name)
	if err != nil || len(got.Kvs) == 0 {
		return nil, 0
	}
	crd, err := outline(got.Kvs[0].Value)
	if err != nil {
		return nil, 0
	}
	return crd, got.Kvs[0].ModRevision
}

// outline decodes what of a stored definition decides whether it is served. Its schemas, most of
// what it has, are skipped.
func outline(stored []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	var in struct {
		Metadata struct {
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Spec struct {
			Scope    apiextensionsv1.ResourceScope `json:"scope"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
		Status struct {
			Conditions []apiextensionsv1.CustomResourceDefinitionCondition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(stored, &in); err != nil {
		return nil, fmt.Errorf("read a definition: %w", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.DeletionTimestamp, crd.Spec.Scope = in.Metadata.DeletionTimestamp, in.Spec.Scope
	crd.Status.Conditions = in.Status.Conditions
	for _, v := range in.Spec.Versions {
		crd.Spec.Versions = append(
			crd.Spec.Versions,
			apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served},
		)
	}
	return crd, nil
}
