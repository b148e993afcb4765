package targettest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// applyLocked is server-side apply. Fields that the manager no longer applies go away, unless
// another manager owns them. Fields that others own are a conflict, unless force is given.
func (s *Server) applyLocked(w http.ResponseWriter, r *http.Request, at ref, body []byte) {
	var desired map[string]any
	query := r.URL.Query()
	if json.Unmarshal(body, &desired) != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" ||
		query.Get("fieldManager") == "" {
		refusal(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "not a server-side apply", nil)
		return
	}
	old := s.objects[at]
	if uid, ok := meta(desired)["uid"]; ok && (old == nil || meta(old)["uid"] != uid) {
		refusal(w, http.StatusConflict, "Conflict", "Precondition failed: UID in precondition: "+fmt.Sprint(uid), nil)
		return
	}
	if s.modifiedLocked(w, old, desired) {
		return
	}
	delete(meta(desired), "uid")
	delete(meta(desired), "resourceVersion")
	by, want := manager{query.Get("fieldManager"), "Apply", ""}, fieldsOf(desired)
	owned := s.owned[at].clone()
	who, paths := owned.conflicts(by, want, fieldsOf(old))
	if len(who) > 0 && query.Get("force") != "true" {
		conflict(w, at, who, paths)
		return
	}
	for _, p := range paths {
		owned.take(p)
	}
	next, code := clone(desired), http.StatusCreated
	if old != nil {
		next, code = clone(old), http.StatusOK
		merge(next, clone(desired))
		dropped := owned[by]
		delete(owned, by)
		for path := range dropped {
			if _, kept := want[path]; !kept && !owned.has(path) {
				unset(next, path)
			}
		}
	}
	owned[by] = want
	if field := redefined(old, next); field != "" {
		refusal(w, http.StatusUnprocessableEntity, "Invalid", field+": Invalid value: field is immutable", nil)
		return
	}
	s.finishLocked(w, r, at, next, owned, code)
}

// redefined is the field of an established definition that an update would change and no update may, "" for none.
func redefined(old, next map[string]any) string {
	of := func(o map[string]any) (scope, kind any) {
		spec, _ := o["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		return spec["scope"], names["kind"]
	}
	if old["kind"] != "CustomResourceDefinition" || old["status"] == nil {
		return ""
	}
	scope, kind := of(old)
	newScope, newKind := of(next)
	switch {
	case scope != newScope:
		return "spec.scope"
	case kind != newKind:
		return "spec.names.kind"
	}
	return ""
}

func (o ownership) has(path string) bool {
	for _, f := range o {
		if _, ok := f[path]; ok {
			return true
		}
	}
	return false
}

// patchLocked is a JSON merge patch.
func (s *Server) patchLocked(w http.ResponseWriter, r *http.Request, at ref, body []byte) {
	var change map[string]any
	if json.Unmarshal(body, &change) != nil {
		refusal(w, http.StatusBadRequest, "BadRequest", "no JSON", nil)
		return
	}
	old := s.objects[at]
	if s.modifiedLocked(w, old, change) {
		return
	}
	next := clone(old)
	patch(next, change)
	owned := s.owned[at]
	if set, ok := meta(change)["managedFields"].([]any); ok && len(set) > 0 {
		owned = parse(set, old)
	}
	s.finishLocked(
		w,
		r,
		at,
		next,
		updated(owned, manager{r.URL.Query().Get("fieldManager"), "Update", ""}, old, next),
		http.StatusOK,
	)
}

// modifiedLocked refuses a request whose resourceVersion is not that of the object that is there.
func (s *Server) modifiedLocked(w http.ResponseWriter, old, given map[string]any) bool {
	version, ok := meta(given)["resourceVersion"]
	if !ok || old == nil || meta(old)["resourceVersion"] == version {
		return false
	}
	refusal(
		w,
		http.StatusConflict,
		"Conflict",
		"Operation cannot be fulfilled: the object has been modified; please apply your changes "+
			"to the latest version and try again",
		nil,
	)
	return true
}

// finishLocked stores and answers, or only answers when the request is a dry run.
func (s *Server) finishLocked(
	w http.ResponseWriter,
	r *http.Request,
	at ref,
	next map[string]any,
	owned ownership,
	code int,
) {
	if s.mutate != nil { // who owns what was decided before that, as in an API server
		s.mutate(at.plural, next)
	}
	meta(next)["managedFields"] = owned.render()
	old := s.objects[at]
	changed := old == nil || !reflect.DeepEqual(clone(old), clone(next))
	if r.URL.Query().Get("dryRun") == "All" {
		answer(w, code, next)
		return
	}
	if s.owned[at] = owned; changed {
		s.storeLocked(at, next)
	}
	s.writes = append(
		s.writes,
		Write{Method: r.Method, Path: r.URL.Path, Changed: changed, User: r.Header.Get("Impersonate-User")},
	)
	answer(w, code, s.objects[at])
}

// conflict answers as an API server does when fields belong to others.
func conflict(w http.ResponseWriter, at ref, who []manager, paths []string) {
	var causes []any
	for i, m := range who {
		causes = append(causes, map[string]any{
			"reason": "FieldManagerConflict", "message": fmt.Sprintf("conflict with %q using v1", m.name),
			"field": dotted(paths[i]),
		})
	}
	slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	refusal(w, http.StatusConflict, "Conflict", fmt.Sprintf("Apply failed with %d conflicts", len(causes)),
		map[string]any{"name": at.name, "kind": at.plural, "group": at.group, "causes": causes})
}

// dotted is a field path as an API server writes it: .spec.containers[name="c"].image
func dotted(path string) string {
	var out strings.Builder
	for _, segment := range strings.Split(path, separator) {
		if name, element := member(segment); element {
			fmt.Fprintf(&out, "[name=%q]", name)
		} else if segment != "." {
			out.WriteString("." + name)
		}
	}
	return out.String()
}
