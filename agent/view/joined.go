package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// page is how many objects are read at a time for a joined list.
const page = "500"

// listed is a list or a table as far as it is joined.
type listed struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   listMeta          `json:"metadata"`
	Columns    json.RawMessage   `json:"columnDefinitions,omitempty"`
	Rows       *[]map[string]any `json:"rows,omitempty"`
	Items      *[]map[string]any `json:"items,omitempty"`
}

// listMeta has no resourceVersion when a joined list is encoded: one of several lists says nothing.
type listMeta struct {
	Continue string `json:"continue,omitempty"`
	// Remaining are the objects that the list lacks, where that is known.
	Remaining int64 `json:"remainingItemCount,omitempty"`
}

// joined lists what is in all namespaces of a space: one list per namespace, for no request to the
// API server could return more than one.
func (s *Site) joined(ctx context.Context, a *asked) (*http.Response, error) {
	if a.Query.Get("continue") != "" {
		return nil, fault(
			http.StatusGone,
			"Expired",
			"a list of all namespaces comes in one piece here; list again without continue",
		)
	}
	var all listed
	left, kind, asked := int64(maxAnswer), plain, 0
	var hidden []string
	for _, name := range among(s.Records.Namespaces(a.Space), a.Request) {
		find := s.namespace
		if a.ofNamespaces() {
			find = s.own
		}
		at, err := find(ctx, a, name)
		var f *exchange.Fault
		if errors.As(err, &f) && f.Code == http.StatusForbidden {
			hidden = append(hidden, f.Message)
		}
		if f != nil && f.Code < 500 {
			continue // it is not the space's, or not any more
		} else if err != nil {
			return nil, err
		}
		if asked++; at.existed {
			at.owns = s.owns(a, at)
			hidden = append(hidden, partly(at, a.Space))
		}
		for next := ""; ; {
			var one listed
			if kind, err = a.read(ctx, at, next, &left, &one); err != nil {
				return nil, err
			}
			if err := all.add(&one, a, at); err != nil {
				return nil, err
			}
			if next = one.Metadata.Continue; next == "" {
				break
			}
		}
	}
	if asked == 0 {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"space %s has no namespace of its own at this site",
			a.Space,
		)
	}
	limit, limited := a.Limit()
	if !limited {
		limit = math.MaxInt64
	}
	all.Metadata = listMeta{}
	resp, err := all.answer(kind, limit, a)
	if err == nil {
		exchange.SetWarnings(resp.Header, append(exchange.Warnings(resp.Header), hidden...))
	}
	return resp, err
}

// read reads a page of what is in one namespace, or that one Namespace itself as a list.
func (a *asked) read(
	ctx context.Context,
	at here,
	next string,
	left *int64,
	into *listed,
) (kind string, err error) {
	q := a.query(at)
	for _, name := range []string{"resourceVersion", "resourceVersionMatch", "sendInitialEvents",
		"timeoutSeconds", "allowWatchBookmarks"} {
		q.Del(name) // versions of one list say nothing of another
	}
	if q.Get("includeObject") == "None" {
		q.Del("includeObject") // what is returned has to be looked at
	}
	q.Set("limit", page)
	q.Del("continue")
	if next != "" {
		q.Set("continue", next)
	}
	namespace := at.there
	if a.ofNamespaces() {
		selector := "metadata.name=" + at.there
		if more := q.Get("fieldSelector"); more != "" {
			selector += "," + more
		}
		q.Set("fieldSelector", selector)
		namespace = ""
	}
	resp, err := a.client.Open(
		ctx,
		target.Reading{Resource: a.resource, Namespace: namespace, Query: q, Accept: a.accept()},
	)
	if err != nil {
		return "", unreachable(err)
	}
	if resp, err = inJSON(resp, at); err != nil {
		var f *exchange.Fault
		if errors.As(err, &f) && f.Code == http.StatusNotFound {
			return "", fault(
				http.StatusForbidden,
				"Forbidden",
				"the view of a site has what is in the space's namespaces there, and the site has no %s in namespaces",
				a.resource,
			)
		}
		return "", err
	}
	defer resp.Body.Close()
	text, err := whole(resp.Body, *left)
	if err != nil {
		return "", err
	}
	*left -= int64(len(text))
	if err := decode(text, into); err != nil {
		return "", unreachable(err)
	}
	return resp.Header.Get("Content-Type"), nil
}

// decode decodes JSON and leaves numbers as they are written.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// add appends what one namespace has, with the space's names.
func (l *listed) add(one *listed, a *asked, at here) error {
	if l.Kind == "" {
		l.APIVersion, l.Kind, l.Columns = one.APIVersion, one.Kind, one.Columns
	}
	if one.Kind != l.Kind {
		return fault(
			http.StatusBadGateway,
			"InternalError",
			"the site's API server answers with %.80s and %.80s to the same question",
			l.Kind,
			one.Kind,
		)
	}
	if one.Kind == "Table" {
		return l.addRows(one, a, at)
	}
	if l.Items == nil {
		l.Items = &[]map[string]any{}
	}
	if one.Items == nil {
		return nil
	}
	for _, item := range *one.Items {
		if !a.isIn(at, item) {
			return errForeign
		}
		if at.owns != nil && !at.owns(item) {
			continue
		}
		at.mapping.ObjectHere(a.key, item)
		*l.Items = append(*l.Items, item)
	}
	return nil
}

func (l *listed) addRows(one *listed, a *asked, at here) error {
	if l.Rows == nil {
		l.Rows = &[]map[string]any{}
	}
	if one.Rows == nil {
		return nil
	}
	for _, row := range *one.Rows {
		object, _ := row["object"].(map[string]any)
		if !a.isIn(at, object) {
			return errForeign
		}
		if at.owns != nil && !at.owns(object) {
			continue
		}
		a.renameRow(at, row)
		*l.Rows = append(*l.Rows, row)
	}
	return nil
}

// errForeign is returned when the API server answers with what it was not asked for.
var errForeign = fault(
	http.StatusBadGateway,
	"InternalError",
	"the site's API server answers with an object of another namespace; nothing is shown",
)

// isIn reports whether an object is in a namespace, or is that one.
func (a *asked) isIn(at here, o map[string]any) bool {
	metadata, _ := o["metadata"].(map[string]any)
	if a.ofNamespaces() {
		return metadata["name"] == at.there
	}
	return metadata["namespace"] == at.there
}
