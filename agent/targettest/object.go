package targettest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Put stores an object as somebody else would, and returns its UID. More is merged over the minimal object.
func (s *Server) Put(apiVersion, kind, namespace, name string, more map[string]any) string {
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
	s.store(r, o)
	return meta(s.objects[r])["uid"].(string)
}

// SetStatus replaces an object's status, as its controller would.
func (s *Server) SetStatus(group, plural, namespace, name string, status map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := ref{group, plural, namespace, name}
	o := clone(s.objects[r])
	o["status"] = clone(status)
	s.store(r, o)
}

// Remove deletes an object as somebody else would.
func (s *Server) Remove(group, plural, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(ref{group, plural, namespace, name})
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

func (s *Server) byKind(apiVersion, kind string) Kind {
	for _, k := range s.kinds {
		if strings.Trim(k.Group+"/"+k.Version, "/") == apiVersion && k.Kind == kind {
			return k
		}
	}
	panic(fmt.Sprintf("targettest: %s %s is not served", apiVersion, kind))
}

// store writes an object with the next revision. s.mu is held.
func (s *Server) store(r ref, o map[string]any) {
	s.revision++
	m := meta(o)
	old, kind := s.objects[r], "MODIFIED"
	if old == nil {
		kind = "ADDED"
		s.nextUID++
		m["uid"] = fmt.Sprintf("uid-%d", s.nextUID)
		m["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		m["generation"] = float64(1)
	} else {
		m["uid"], m["creationTimestamp"], m["generation"] = meta(old)["uid"], meta(old)["creationTimestamp"], meta(old)["generation"]
		if !reflect.DeepEqual(old["spec"], o["spec"]) {
			m["generation"] = meta(old)["generation"].(float64) + 1
		}
	}
	m["resourceVersion"] = strconv.FormatInt(s.revision, 10)
	s.objects[r] = o
	s.record(event{s.revision, kind, r, clone(o)})
	if r.plural == "customresourcedefinitions" && o["status"] == nil {
		go s.establish(r)
	}
}

// establish makes the kind of a CustomResourceDefinition served, a little after it was written as an API server does.
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
	s.kinds = append(s.kinds, Kind{spec["group"].(string), version, names["plural"].(string), names["kind"].(string), spec["scope"] == "Namespaced"})
	o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	s.store(r, o)
}

// remove deletes an object. s.mu is held.
func (s *Server) remove(r ref) {
	o := s.objects[r]
	if o == nil {
		return
	}
	s.revision++
	delete(s.objects, r)
	delete(s.applied, r)
	gone := clone(o)
	meta(gone)["resourceVersion"] = strconv.FormatInt(s.revision, 10)
	s.record(event{s.revision, "DELETED", r, gone})
	if r.plural == "namespaces" {
		for other := range s.objects {
			if other.namespace == r.name {
				s.remove(other)
			}
		}
	}
}

func (s *Server) record(e event) {
	s.history = append(s.history, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// single answers requests for one object.
func (s *Server) single(w http.ResponseWriter, r *http.Request, kind Kind, at ref) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	case r.Method == http.MethodPatch:
		s.apply(w, r, at, body)
	case r.Method == http.MethodDelete && o == nil:
		missing()
	case r.Method == http.MethodDelete:
		s.delete(w, r, at, body)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// apply is server-side apply for one manager: fields that it applied before and does not any more go away. s.mu is held.
func (s *Server) apply(w http.ResponseWriter, r *http.Request, at ref, body []byte) {
	var desired map[string]any
	if json.Unmarshal(body, &desired) != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" ||
		r.URL.Query().Get("fieldManager") == "" {
		refusal(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "not a server-side apply", nil)
		return
	}
	old := s.objects[at]
	if uid, ok := meta(desired)["uid"]; ok && (old == nil || meta(old)["uid"] != uid) {
		refusal(w, http.StatusConflict, "Conflict", "Precondition failed: UID in precondition: "+fmt.Sprint(uid), nil)
		return
	}
	if version, ok := meta(desired)["resourceVersion"]; ok && old != nil && meta(old)["resourceVersion"] != version {
		refusal(w, http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the latest version and try again", nil)
		return
	}
	delete(meta(desired), "uid")
	delete(meta(desired), "resourceVersion")
	next, code := clone(desired), http.StatusCreated
	if old != nil {
		next, code = clone(old), http.StatusOK
		subtract(next, s.applied[at], desired)
		merge(next, clone(desired))
	}
	s.applied[at] = desired
	changed := old == nil || !reflect.DeepEqual(old, next)
	if changed {
		s.store(at, next)
	}
	s.writes = append(s.writes, Write{r.Method, r.URL.Path, changed})
	answer(w, code, s.objects[at])
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request, at ref, body []byte) {
	var options struct {
		Preconditions struct {
			UID string `json:"uid"`
		} `json:"preconditions"`
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
	s.writes = append(s.writes, Write{r.Method, r.URL.Path, true})
	if finalizers, _ := meta(o)["finalizers"].([]any); len(finalizers) > 0 {
		next := clone(o)
		meta(next)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		s.store(at, next)
		answer(w, http.StatusOK, next)
		return
	}
	s.remove(at)
	answer(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

func meta(o map[string]any) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	if m == nil {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

func clone(o map[string]any) map[string]any {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// merge puts every field of from into into.
func merge(into, from map[string]any) {
	for k, v := range from {
		if child, ok := v.(map[string]any); ok {
			if have, ok := into[k].(map[string]any); ok {
				merge(have, child)
				continue
			}
		}
		into[k] = v
	}
}

// subtract takes the fields out of o that are in before and not in now.
func subtract(o, before, now map[string]any) {
	for k, v := range before {
		kept, ok := now[k]
		if !ok {
			delete(o, k)
			continue
		}
		a, isMap := v.(map[string]any)
		b, stays := kept.(map[string]any)
		c, there := o[k].(map[string]any)
		if isMap && stays && there {
			subtract(c, a, b)
		}
	}
}
