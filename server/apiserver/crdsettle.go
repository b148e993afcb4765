package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"skerry.dev/skerry/server/apiserver/discovery"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// settle waits until discovery tells of what the definitions of a request's space define that say they are established, at most as long as a request for a
// custom resource waits. Upstream's server says so a moment before its discovery knows. Only a space whose definitions have just been written is looked at.
func (s *crdServers) settle(r *http.Request) {
	ctx, until := r.Context(), time.Now().Add(holdTime)
	for !s.settled(r) && time.Now().Before(until) {
		step := time.NewTimer(holdStep)
		select {
		case <-step.C:
		case <-ctx.Done():
			step.Stop()
			return
		}
	}
}

func (s *crdServers) settled(r *http.Request) bool {
	space := request.Space(r.Context())
	definers := []string{space}
	for lender := range s.borrows.Of(space) {
		definers = append(definers, lender)
	}
	for _, definer := range definers {
		if definer != request.AllSpaces && definer != request.OwnSpace && s.fresh(definer) && !s.tells(r, definer) {
			return false
		}
	}
	return true
}

// fresh tells whether a definition of a space was written a moment ago.
func (s *crdServers) fresh(space string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.wrote[space]) < holdTime
}

// tells tells whether the discovery of a space has all that its definitions, as they are stored, say they have established.
func (s *crdServers) tells(r *http.Request, space string) bool {
	stored := s.stored(r.Context(), space)
	if len(stored) == 0 {
		return true
	}
	server := s.forSpace(space)
	if server == nil {
		return true // it does not start: nothing comes
	}
	var all apidiscovery.APIGroupDiscoveryList
	if a := response.Ask(server.discovery, r, "/apis", discovery.AggregatedType); json.Unmarshal(a.Body, &all) != nil {
		return true
	}
	has := map[string]bool{}
	for _, g := range all.Items {
		for _, v := range g.Versions {
			for _, one := range v.Resources {
				has[g.Name+"/"+v.Version+"/"+one.Resource] = true
			}
		}
	}
	for _, crd := range stored {
		if !isEstablished(&crd) || crd.DeletionTimestamp != nil {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Served && !has[crd.Spec.Group+"/"+v.Name+"/"+crd.Status.AcceptedNames.Plural] {
				return false
			}
		}
	}
	return true
}

// stored are the definitions of a space, past all caches.
func (s *crdServers) stored(ctx context.Context, space string) []apiextensionsv1.CustomResourceDefinition {
	_, all, err := follow.List(ctx, s.client, registrykey.CRDPrefix+space+"/")
	if err != nil {
		return nil
	}
	out := make([]apiextensionsv1.CustomResourceDefinition, 0, len(all))
	for _, kv := range all {
		var crd apiextensionsv1.CustomResourceDefinition
		if json.Unmarshal(kv.Value, &crd) == nil {
			out = append(out, crd)
		}
	}
	return out
}

// discovered is the group that a path asks for the discovery of: /apis/<group> or /apis/<group>/<version>.
func discovered(path string) (group string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "apis" {
		return "", false
	}
	return parts[1], true
}

// defines tells whether a definition of the group has just been written that answers for the request's space.
func (s *crdServers) defines(r *http.Request, group string) bool {
	definer := s.definer(r, group)
	if definer == request.AllSpaces || definer == request.OwnSpace || !s.fresh(definer) {
		return false
	}
	for _, crd := range s.stored(r.Context(), definer) {
		if crd.Spec.Group == group && isEstablished(&crd) && crd.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}
