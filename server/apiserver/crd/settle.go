package crd

import (
	"context"
	"net/http"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// AwaitDiscovery waits until discovery shows what the established definitions of the space of a
// request define, at most as long as a request for a custom resource waits. The server of upstream
// says that a definition is established a moment before its discovery knows. AwaitDiscovery waits
// for the definitions that are stored when the request comes, and only in spaces whose definitions
// were written within holdTime.
func (s *Servers) AwaitDiscovery(r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), holdTime)
	defer cancel()
	awaited := map[string]map[string]int64{}
	space := request.Space(ctx)
	definers := []string{space}
	for lender := range s.borrows.Of(space) {
		definers = append(definers, lender)
	}
	for _, definer := range definers {
		if definer != request.AllSpaces && definer != request.OwnSpace && s.fresh(definer) {
			awaited[definer] = s.revisions(ctx, definer)
		}
	}
	for len(awaited) > 0 {
		changed := s.config.changes.wait()
		for definer, revisions := range awaited {
			if s.shows(ctx, definer, revisions) {
				delete(awaited, definer)
			}
		}
		if len(awaited) == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// fresh reports whether a definition of a space was written a moment ago.
func (s *Servers) fresh(space string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.wrote[space]) < holdTime
}

// revisions are the revisions of the definitions of a space by their names, from the store, past
// all caches.
func (s *Servers) revisions(ctx context.Context, space string) map[string]int64 {
	_, all, err := follow.List(ctx, s.client, registrykey.CRDPrefix+space+"/", clientv3.WithKeysOnly())
	if err != nil {
		return nil
	}
	out := make(map[string]int64, len(all))
	for _, kv := range all {
		_, name := crdOf(kv)
		out[name] = kv.ModRevision
	}
	return out
}

// shows reports whether the server of a space knows the definitions at the revisions that are
// awaited, or later ones, and its discovery has all that they say they have established. It removes
// those that it need not look at again.
func (s *Servers) shows(ctx context.Context, space string, awaited map[string]int64) bool {
	if len(awaited) == 0 {
		return true
	}
	server := s.ForSpace(space)
	if server == nil {
		return true // it does not start: nothing comes
	}
	for name, revision := range awaited {
		crd, known := server.definition(name)
		if crd == nil {
			if stored, _ := s.stored(ctx, space, name); stored == nil {
				delete(awaited, name)
			}
			continue
		}
		if known >= revision && server.discovery.shows(crd) {
			delete(awaited, name)
		}
	}
	return len(awaited) == 0
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

// defines reports whether a space whose definitions have just been written has one of the group that
// answers for the request's space.
func (s *Servers) defines(r *http.Request, group string) bool {
	definer := s.definer(r, group)
	if definer == request.AllSpaces || definer == request.OwnSpace || !s.fresh(definer) {
		return false
	}
	for name := range s.revisions(r.Context(), definer) {
		if _, of, _ := strings.Cut(name, "."); of == group {
			return true
		}
	}
	return false
}
