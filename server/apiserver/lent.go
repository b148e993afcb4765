package apiserver

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// part is a server whose kinds a space has: all of them, or of a lender those of some groups.
type part struct {
	*crdServer
	groups []string // nil for all
}

func (p part) has(group string) bool { return p.groups == nil || slices.Contains(p.groups, group) }

// openAPI is the server's handler for documents, without what is not of the groups.
func (p part) openAPI() http.Handler {
	if p.groups == nil {
		return p.handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path, v3 := strings.CutPrefix(r.URL.Path, "/openapi/v3"); {
		case path == "":
			p.filtered(w, r, func(doc map[string]json.RawMessage) {
				prune(doc, "paths", func(path string) bool { return p.has(groupIn("/" + path)) })
			})
		case v3 && p.has(groupIn(path)):
			p.handler.ServeHTTP(w, r)
		case v3:
			writeStatus(w, errNotFound())
		default:
			p.filtered(w, r, func(doc map[string]json.RawMessage) {
				prune(doc, "paths", func(path string) bool { return p.has(groupIn(path)) })
				used := referenced(doc["paths"], doc["definitions"])
				prune(doc, "definitions", func(name string) bool { return used[name] })
			})
		}
	})
}

// filtered answers with a JSON document from which something has been taken.
func (p part) filtered(w http.ResponseWriter, r *http.Request, take func(doc map[string]json.RawMessage)) {
	a := ask(p.handler, r, r.URL.Path, "application/json")
	var doc map[string]json.RawMessage
	if a.code != http.StatusOK || json.Unmarshal(a.body, &doc) != nil {
		a.replay(w)
		return
	}
	take(doc)
	body, err := json.Marshal(doc)
	if err != nil {
		writeStatus(w, status(http.StatusInternalServerError, "InternalError", "filter an OpenAPI document: "+err.Error()))
		return
	}
	writeBody(w, r, "application/json", body)
}

// groupIn is the API group that a path below /apis/ names.
func groupIn(path string) string {
	group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	return group
}

// prune keeps some members of a member of a document.
func prune(doc map[string]json.RawMessage, member string, keep func(name string) bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(doc[member], &all) != nil {
		return
	}
	for name := range all {
		if !keep(name) {
			delete(all, name)
		}
	}
	doc[member], _ = json.Marshal(all)
}

var reference = regexp.MustCompile(`"#/definitions/([^"]+)"`)

// referenced are the definitions that something refers to, directly or through others.
func referenced(from, definitions json.RawMessage) map[string]bool {
	var all map[string]json.RawMessage
	used := map[string]bool{}
	if json.Unmarshal(definitions, &all) != nil {
		return used
	}
	for todo := []json.RawMessage{from}; len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, m := range reference.FindAllSubmatch(next, -1) {
			if name := string(m[1]); !used[name] {
				used[name] = true
				todo = append(todo, all[name])
			}
		}
	}
	return used
}
