package view

import (
	"context"
	"fmt"
	"net/http"

	"skerry.dev/skerry/tunnel/exchange"
)

// A namespace that was there before the space took it may hold what is the site's. What is known to be the
// space's is shown of it: what was placed there, and the Pods and whatever else belongs to that.

// owns returns whether an object of such a namespace is the space's.
func (s *Site) owns(a *asked, at here) func(o map[string]any) bool {
	return func(o map[string]any) bool {
		metadata, _ := o["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		uid, _ := metadata["uid"].(string)
		k := a.key
		k.Space, k.Namespace, k.Name = a.Space, at.name, name
		if uid == "" || metadata["namespace"] != at.there {
			return false
		}
		record, known := s.Records.Get(k)
		return known && record.UID == uid || s.Pods.Placed(k, uid)
	}
}

// partly says that not all of a namespace is shown.
func partly(at here, space string) string {
	return fmt.Sprintf("namespace %s was there before space %s took it: of what is in it at the site, only that is shown "+
		"which is known to be the space's", at.name, space)
}

// shared answers a request about one namespace that was there before.
func (s *Site) shared(ctx context.Context, a *asked, at here, name string) (*http.Response, error) {
	at.owns = s.owns(a, at)
	resp, err := a.pass(ctx, at, at.there, name)
	if err == nil && name == "" {
		exchange.SetWarnings(resp.Header, append(exchange.Warnings(resp.Header), partly(at, a.Space)))
	}
	return resp, err
}

// keep leaves of an answer what is to be shown. It reports false where that is nothing, of one object that was
// asked for or one event.
func (h here) keep(o map[string]any, isList bool) bool {
	switch {
	case h.owns == nil || o["kind"] == "Status":
		return true
	case o["kind"] == "Table":
		rows := keptOf(o, "rows", func(row map[string]any) bool {
			object, _ := row["object"].(map[string]any)
			return h.owns(object)
		})
		return rows > 0 || isList
	case isList:
		keptOf(o, "items", h.owns)
		return true
	}
	return h.owns(o)
}

// keptOf leaves in a list of an answer what is to be shown, and returns how many these are. How many more
// there are is nobody's business.
func keptOf(o map[string]any, field string, shown func(map[string]any) bool) int {
	list, _ := o[field].([]any)
	kept := []any{}
	for _, v := range list {
		if one, ok := v.(map[string]any); ok && shown(one) {
			kept = append(kept, v)
		}
	}
	o[field] = kept
	if metadata, ok := o["metadata"].(map[string]any); ok {
		delete(metadata, "remainingItemCount")
	}
	return len(kept)
}

// notShown is the answer about an object that is not shown, whether or not there is one.
func (a *asked) notShown(at here, name string) error {
	return fault(http.StatusNotFound, "NotFound", "%s %q not found among what is the space's in namespace %s, which was "+
		"there before", a.resource.Plural, name, at.name)
}

// seen are the objects that a watch has shown: their deletion is shown, too, when nobody knows them any more.
type seen map[string]struct{}

// event reports whether an event of a watch is shown.
func (s seen) event(h here, kind string, o map[string]any) bool {
	if h.owns == nil || kind == "BOOKMARK" || kind == "ERROR" {
		return true
	}
	uid := uidOf(o)
	_, was := s[uid]
	switch {
	case uid == "" || !was && !h.keep(o, false):
		return false
	case kind == "DELETED":
		delete(s, uid)
	default:
		s[uid] = struct{}{}
	}
	return true
}

// uidOf is the UID of an object, or of the one in a table.
func uidOf(o map[string]any) string {
	if rows, _ := o["rows"].([]any); len(rows) == 1 {
		row, _ := rows[0].(map[string]any)
		o, _ = row["object"].(map[string]any)
	}
	metadata, _ := o["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	return uid
}
