package targettest

import (
	"encoding/json"
	"net/http"
	"time"
)

func (s *Server) deleteLocked(w http.ResponseWriter, r *http.Request, at ref, body []byte) {
	var options struct {
		Preconditions struct {
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"preconditions"`
		PropagationPolicy string `json:"propagationPolicy"`
	}
	if err := json.Unmarshal(body, &options); err != nil {
		refusal(w, http.StatusBadRequest, "BadRequest", err.Error(), nil)
		return
	}
	o := s.objects[at]
	if want := options.Preconditions.UID; want != "" && want != meta(o)["uid"] {
		refusal(w, http.StatusConflict, "Conflict", "Precondition failed: UID in precondition: "+want, nil)
		return
	}
	if want := options.Preconditions.ResourceVersion; want != "" && want != meta(o)["resourceVersion"] {
		refusal(w, http.StatusConflict, "Conflict", "Precondition failed: ResourceVersion in precondition: "+want, nil)
		return
	}
	s.writes = append(
		s.writes,
		Write{
			Method:  r.Method,
			Path:    r.URL.Path,
			Changed: meta(o)["deletionTimestamp"] == nil,
			Policy:  options.PropagationPolicy,
			User:    r.Header.Get("Impersonate-User"),
		},
	)
	if finalizers, _ := meta(o)["finalizers"].([]any); len(finalizers) > 0 {
		next := clone(o)
		meta(next)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		s.storeLocked(at, next)
		answer(w, http.StatusOK, next)
		return
	}
	s.cascadeLocked(meta(o)["uid"], options.PropagationPolicy == "Orphan")
	if options.PropagationPolicy == "Foreground" && s.ownsLocked(meta(o)["uid"]) {
		next := clone(o)
		meta(next)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		meta(next)["finalizers"] = []any{foreground}
		s.storeLocked(at, next)
		answer(w, http.StatusOK, next)
		return
	}
	s.removeLocked(at)
	answer(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

// foreground is the finalizer of what goes when what it owns has gone.
const foreground = "foregroundDeletion"

// ownerOf is the UID of the first owner of an object, nil for none.
func ownerOf(o map[string]any) any {
	owners, _ := meta(o)["ownerReferences"].([]any)
	if len(owners) == 0 {
		return nil
	}
	return owners[0].(map[string]any)["uid"]
}

func (s *Server) ownsLocked(uid any) bool {
	for _, o := range s.objects {
		if ownerOf(o) == uid {
			return true
		}
	}
	return false
}

// endForegroundLocked removes an object that has waited for the last of what it owns.
func (s *Server) endForegroundLocked(uid any) {
	if uid == nil || s.ownsLocked(uid) {
		return
	}
	for at, o := range s.objects {
		finalizers, _ := meta(o)["finalizers"].([]any)
		if meta(o)["uid"] == uid && len(finalizers) == 1 && finalizers[0] == foreground {
			s.removeLocked(at)
		}
	}
}

// cascadeLocked does with what an object owns as the target's garbage collector would. What has a finalizer
// is still ending.
func (s *Server) cascadeLocked(uid any, orphan bool) {
	for at, o := range s.objects {
		if ownerOf(o) != uid {
			continue
		}
		if finalizers, _ := meta(o)["finalizers"].([]any); len(finalizers) > 0 && !orphan {
			next := clone(o)
			meta(next)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
			s.storeLocked(at, next)
			continue
		}
		if !orphan {
			s.removeLocked(at)
			continue
		}
		next := clone(o)
		delete(meta(next), "ownerReferences")
		s.storeLocked(at, next)
	}
}
