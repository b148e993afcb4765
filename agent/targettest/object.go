package targettest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Somebody is the field manager of Put.
const Somebody = "somebody"

// Put stores an object as somebody else would, and returns its UID. More is merged over the minimal
// object, or the one that is there. It may give a new object its UID.
func (s *Server) Put(apiVersion, kind, namespace, name string, more map[string]any) string {
	return s.PutAs(Somebody, "", apiVersion, kind, namespace, name, more)
}

// PutAs is Put by one field manager, through a subresource when that is not empty.
func (s *Server) PutAs(by, subresource, apiVersion, kind, namespace, name string, more map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.byKind(apiVersion, kind)
	r := ref{k.Group, k.Plural, namespace, name}
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}
	if namespace != "" {
		meta(o)["namespace"] = namespace
	}
	if old := s.objects[r]; old != nil {
		o = clone(old)
	}
	merge(o, clone(more))
	s.owned[r] = updated(s.owned[r], manager{by, "Update", subresource}, s.objects[r], o)
	s.storeLocked(r, o)
	return meta(s.objects[r])["uid"].(string)
}

// Edit merges fields into an object as somebody else would, if it is there.
func (s *Server) Edit(by, group, plural, namespace, name string, more map[string]any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := ref{group, plural, namespace, name}
	if s.objects[r] == nil {
		return false
	}
	o := clone(s.objects[r])
	merge(o, clone(more))
	s.owned[r] = updated(s.owned[r], manager{by, "Update", ""}, s.objects[r], o)
	s.storeLocked(r, o)
	return true
}

// Replace is Put with fields at the top replaced instead of merged.
func (s *Server) Replace(apiVersion, kind, namespace, name string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.byKind(apiVersion, kind)
	r := ref{k.Group, k.Plural, namespace, name}
	o := clone(s.objects[r])
	maps.Copy(o, clone(fields))
	s.owned[r] = updated(s.owned[r], manager{Somebody, "Update", ""}, s.objects[r], o)
	s.storeLocked(r, o)
}

// SetStatus replaces an object's status, as its controller would.
func (s *Server) SetStatus(group, plural, namespace, name string, status map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := ref{group, plural, namespace, name}
	o := clone(s.objects[r])
	o["status"] = clone(status)
	s.storeLocked(r, o)
}

// Remove deletes an object as somebody else would.
func (s *Server) Remove(group, plural, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(ref{group, plural, namespace, name})
}

// Object returns a copy of a stored object, nil when there is none.
func (s *Server) Object(group, plural, namespace, name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[ref{group, plural, namespace, name}]; o != nil {
		return clone(o)
	}
	return nil
}

// Objects returns copies of the stored objects of a kind in a namespace, by name.
func (s *Server) Objects(group, plural, namespace string) (out []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, o := range s.objects {
		if r == (ref{group, plural, namespace, r.name}) {
			out = append(out, clone(o))
		}
	}
	slices.SortFunc(out, func(a, b map[string]any) int {
		return strings.Compare(meta(a)["name"].(string), meta(b)["name"].(string))
	})
	return out
}

func (s *Server) byKind(apiVersion, kind string) Kind {
	for _, k := range s.kinds {
		if strings.Trim(k.Group+"/"+k.Version, "/") == apiVersion && k.Kind == kind {
			return k
		}
	}
	panic(fmt.Sprintf("targettest: %s %s is not served", apiVersion, kind))
}

// storeLocked writes an object with the next revision.
func (s *Server) storeLocked(r ref, o map[string]any) {
	s.revision++
	m := meta(o)
	old, kind := s.objects[r], "MODIFIED"
	if old == nil {
		kind = "ADDED"
		s.nextUID++
		if m["uid"] == nil {
			m["uid"] = fmt.Sprintf("uid-%d", s.nextUID)
		}
		m["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	} else {
		m["uid"], m["creationTimestamp"] = meta(old)["uid"], meta(old)["creationTimestamp"]
	}
	if o["spec"] != nil { // kinds without a spec have no generation
		m["generation"] = float64(1)
		if old != nil && old["spec"] != nil {
			m["generation"] = meta(old)["generation"]
			if !reflect.DeepEqual(old["spec"], o["spec"]) {
				m["generation"] = meta(old)["generation"].(float64) + 1
			}
		}
	}
	m["resourceVersion"] = strconv.FormatInt(s.revision, 10)
	m["managedFields"] = s.owned[r].render()
	s.objects[r] = o
	s.recordLocked(event{s.revision, kind, r, clone(o)})
	if r.plural == "customresourcedefinitions" && o["status"] == nil {
		go s.establish(r)
	}
}

// establish makes the kind of a CustomResourceDefinition served, a little after it was written as
// an API server does.
func (s *Server) establish(r ref) {
	select {
	case <-time.After(60 * time.Millisecond):
	case <-s.closing:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[r] == nil {
		return
	}
	o := clone(s.objects[r])
	spec := o["spec"].(map[string]any)
	names := spec["names"].(map[string]any)
	version := spec["versions"].([]any)[0].(map[string]any)["name"].(string)
	s.kinds = append(
		s.kinds,
		Kind{
			spec["group"].(string),
			version,
			names["plural"].(string),
			names["kind"].(string),
			spec["scope"] == "Namespaced",
		},
	)
	o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	s.storeLocked(r, o)
}

// removeLocked deletes an object.
func (s *Server) removeLocked(r ref) {
	o := s.objects[r]
	if o == nil {
		return
	}
	s.revision++
	delete(s.objects, r)
	delete(s.owned, r)
	gone := clone(o)
	meta(gone)["resourceVersion"] = strconv.FormatInt(s.revision, 10)
	s.recordLocked(event{s.revision, "DELETED", r, gone})
	s.endForegroundLocked(ownerOf(o))
	if r.plural == "customresourcedefinitions" {
		s.undefineLocked(o)
	}
	if r.plural == "namespaces" {
		for other := range s.objects {
			if other.namespace == r.name {
				s.removeLocked(other)
			}
		}
	}
}

// undefineLocked ends serving the kind of a definition that goes, and its objects.
func (s *Server) undefineLocked(definition map[string]any) {
	spec, _ := definition["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	for r := range s.objects {
		if r.group == spec["group"] && r.plural == names["plural"] {
			s.removeLocked(r)
		}
	}
	s.kinds = slices.DeleteFunc(s.kinds, func(k Kind) bool {
		return k.Group == spec["group"] && k.Plural == names["plural"]
	})
}

func (s *Server) recordLocked(e event) {
	s.history = append(s.history, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// create answers a request to create an object.
func (s *Server) create(w http.ResponseWriter, r *http.Request, kind Kind, namespace string) {
	var o map[string]any
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name, _ := meta(o)["name"].(string)
	if s.Object(kind.Group, kind.Plural, namespace, name) != nil {
		refusal(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", kind.Plural, name), nil)
		return
	}
	version := kind.Version
	if kind.Group != "" {
		version = kind.Group + "/" + version
	}
	s.Put(version, kind.Kind, namespace, name, o)
	answer(w, http.StatusCreated, s.Object(kind.Group, kind.Plural, namespace, name))
}

// single answers requests for one object.
func (s *Server) single(w http.ResponseWriter, r *http.Request, kind Kind, at ref) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	before, arrived := s.before, s.revision
	s.mu.Unlock()
	if before != nil && r.Method != http.MethodGet {
		before(r.Method, at.plural, at.name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := len(s.writes)
	defer func() {
		for i := known; i < len(s.writes); i++ {
			s.writes[i].Body, s.writes[i].Arrived, s.writes[i].Done = string(body), arrived, s.revision
		}
	}()
	o := s.objects[at]
	details := map[string]any{"name": at.name, "kind": at.plural, "group": at.group}
	missing := func() {
		refusal(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", at.plural, at.name), details)
	}
	if r.Method == http.MethodGet {
		s.reads++
		if o == nil {
			missing()
		} else {
			answer(w, http.StatusOK, o)
		}
		return
	}
	if s.refuse != nil {
		if no := s.refuse(r.Method, at.plural, at.name); no != nil {
			refusal(w, no.Code, no.Reason, no.Message, details)
			return
		}
	}
	switch {
	case r.Method == http.MethodPatch && kind.Namespaced && s.objects[ref{"", "namespaces", "", at.namespace}] == nil:
		refusal(w, http.StatusNotFound, "NotFound", fmt.Sprintf("namespaces %q not found", at.namespace),
			map[string]any{"name": at.namespace, "kind": "namespaces"})
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") == "application/merge-patch+json":
		if o == nil {
			missing()
		} else {
			s.patchLocked(w, r, at, body)
		}
	case r.Method == http.MethodPatch:
		s.applyLocked(w, r, at, body)
	case r.Method == http.MethodDelete && o == nil:
		missing()
	case r.Method == http.MethodDelete:
		s.deleteLocked(w, r, at, body)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}
