package crd

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

// AwaitDiscovery waits until discovery shows what the established definitions of the space of a
// request define, at most as long as a request for a custom resource waits. The server of upstream
// says that a definition is established a moment before its discovery knows. AwaitDiscovery looks
// only at a space whose definitions were just written.
func (s *Servers) AwaitDiscovery(r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), holdTime)
	defer cancel()
	for {
		changed := s.config.changes.wait()
		if s.settled(r) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Servers) settled(r *http.Request) bool {
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

// fresh reports whether a definition of a space was written a moment ago.
func (s *Servers) fresh(space string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.wrote[space]) < holdTime
}

// tells reports whether the discovery of a space has all that its definitions, as they are stored,
// say they have established.
func (s *Servers) tells(r *http.Request, space string) bool {
	stored := s.stored(r.Context(), space)
	if len(stored) == 0 {
		return true
	}
	server := s.ForSpace(space)
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
		if !IsEstablished(&crd) || crd.DeletionTimestamp != nil {
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
func (s *Servers) stored(ctx context.Context, space string) []apiextensionsv1.CustomResourceDefinition {
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

// discovered is the group that a path asks for the discovery of: /apis/<group> or
// /apis/<group>/<version>.
func discovered(path string) (group string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "apis" {
		return "", false
	}
	return parts[1], true
}

// defines reports whether a definition of the group has just been written that answers for the
// request's space.
func (s *Servers) defines(r *http.Request, group string) bool {
	definer := s.definer(r, group)
	if definer == request.AllSpaces || definer == request.OwnSpace || !s.fresh(definer) {
		return false
	}
	for _, crd := range s.stored(r.Context(), definer) {
		if crd.Spec.Group == group && IsEstablished(&crd) && crd.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}
