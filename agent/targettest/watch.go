package targettest

import (
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// event is one change of one object.
type event struct {
	revision int64
	kind     string
	at       ref
	object   map[string]any
}

// Expire forgets all history: a watch from before answers 410.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor, s.history = s.revision, nil
}

// Backup returns what Rewind goes back to.
func (s *Server) Backup() Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := Backup{revision: s.revision, objects: map[ref]map[string]any{}, owned: map[ref]ownership{}}
	for r, o := range s.objects {
		b.objects[r], b.owned[r] = clone(o), s.owned[r].clone()
	}
	return b
}

// Backup is the content of a server at one moment.
type Backup struct {
	revision int64
	objects  map[ref]map[string]any
	owned    map[ref]ownership
}

// Rewind makes the server what it was, as a restore of its database does, and cuts all connections.
func (s *Server) Rewind(b Backup) {
	s.mu.Lock()
	s.revision, s.floor, s.objects, s.owned, s.history = b.revision, b.revision, b.objects, b.owned, nil
	s.mu.Unlock()
	s.CutWatches()
}

// CutWatches ends all connections at once.
func (s *Server) CutWatches() { s.http.CloseClientConnections() }

// Pause makes lists and watches wait.
func (s *Server) Pause(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.paused = make(chan struct{})
	} else {
		close(s.paused)
		s.paused = nil
	}
}

func (s *Server) gate(r *http.Request) {
	s.mu.Lock()
	paused := s.paused
	var pass chan struct{}
	if paused != nil {
		pass = s.passLocked(r.URL.Path)
		s.waited[r.URL.Path]++
	}
	s.mu.Unlock()
	if paused == nil {
		return
	}
	select {
	case <-paused:
	case <-pass:
	case <-r.Context().Done():
	}
}

// Pass lets one list or watch of a path go on that waits because of Pause.
func (s *Server) Pass(path string) {
	s.mu.Lock()
	pass := s.passLocked(path)
	s.mu.Unlock()
	pass <- struct{}{}
}

func (s *Server) passLocked(path string) chan struct{} {
	if s.pass[path] == nil {
		s.pass[path] = make(chan struct{})
	}
	return s.pass[path]
}

// Waited is how many lists and watches of a path had to wait because of Pause.
func (s *Server) Waited(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waited[path]
}

// Listed is how often a path was listed. With a field selector it is another one, "/api/v1/pods?spec.nodeName=n".
func (s *Server) Listed(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed[path]
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, kind Kind, namespace string) {
	s.gate(r)
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata;") {
		refusal(w, http.StatusNotAcceptable, "NotAcceptable", "a list is no PartialObjectMetadata", nil)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	query, path := r.URL.Query(), r.URL.Path
	if fields := query.Get("fieldSelector"); fields != "" {
		path += "?" + fields
	}
	s.listed[path]++
	limit, _ := strconv.Atoi(query.Get("limit"))
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		refusal(w, http.StatusBadRequest, "BadRequest", err.Error(), nil)
		return
	}
	field, value, _ := strings.Cut(query.Get("fieldSelector"), "=")
	var names []string
	items := map[string]map[string]any{}
	for at, o := range s.objects {
		name := at.namespace + "/" + at.name
		if at.group == kind.Group && at.plural == kind.Plural &&
			(namespace == "" || at.namespace == namespace) && name > query.Get("continue") &&
			selector.Matches(labelsOf(o)) &&
			(field != "metadata.name" || value == at.name) && (field != "status.podIP" || value == podIP(o)) {
			names = append(names, name)
			items[name] = o
		}
	}
	sort.Strings(names)
	metadata := map[string]any{"resourceVersion": strconv.FormatInt(s.revision, 10)}
	if limit > 0 && len(names) > limit {
		names = names[:limit]
		metadata["continue"] = names[limit-1]
	}
	page := []any{}
	for _, n := range names {
		page = append(page, shape(r, items[n]))
	}
	answer(w, http.StatusOK, map[string]any{"kind": kind.Kind + "List", "metadata": metadata, "items": page})
}

func podIP(o map[string]any) string {
	status, _ := o["status"].(map[string]any)
	ip, _ := status["podIP"].(string)
	return ip
}

func labelsOf(o map[string]any) labels.Set {
	out := labels.Set{}
	m, _ := meta(o)["labels"].(map[string]any)
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}

// shape leaves spec and status out when only metadata was asked for.
func shape(r *http.Request, o map[string]any) map[string]any {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return o
	}
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, kind Kind, namespace string) {
	s.gate(r)
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		refusal(w, http.StatusNotAcceptable, "NotAcceptable", "an event is no PartialObjectMetadataList", nil)
		return
	}
	from, err := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil {
		refusal(w, http.StatusBadRequest, "BadRequest", "resourceVersion", nil)
		return
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refusal(w, http.StatusBadRequest, "BadRequest", err.Error(), nil)
		return
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		seconds = 60
	}
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	encoder := json.NewEncoder(w)
	w.Header().Set("Content-Type", "application/json")
	for {
		s.mu.Lock()
		changed, expired := s.changed, from < s.floor
		start := sort.Search(len(s.history), func(i int) bool { return s.history[i].revision > from })
		events := append([]event(nil), s.history[start:]...)
		s.mu.Unlock()
		if expired {
			encoder.Encode(
				map[string]any{"type": "ERROR", "object": map[string]any{ //nolint:errcheck // the client may be gone
					"kind": "Status", "apiVersion": "v1", "code": http.StatusGone, "reason": "Expired",
					"message": "too old resource version",
				}},
			)
			return
		}
		for _, e := range events {
			from = e.revision
			if e.at.group != kind.Group || e.at.plural != kind.Plural ||
				namespace != "" && e.at.namespace != namespace {
				continue
			}
			what := e.kind
			if !selector.Matches(labelsOf(e.object)) {
				what = "DELETED"
			}
			if encoder.Encode(map[string]any{"type": what, "object": shape(r, e.object)}) != nil {
				return
			}
		}
		bookmark := map[string]any{
			"kind":     kind.Kind,
			"metadata": map[string]any{"resourceVersion": strconv.FormatInt(from, 10)},
		}
		if encoder.Encode(map[string]any{"type": "BOOKMARK", "object": bookmark}) != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		case <-end.C:
			return
		}
	}
}
