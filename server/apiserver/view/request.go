package view

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// requestOf makes a view of what a client's request was resolved to. Nothing of the client's path is
// in it, and of its options those of a list. The error is a *exchange.Fault.
func requestOf(
	req *http.Request,
	info *apirequest.RequestInfo,
	names []string,
	rest string,
) (*exchange.Request, error) {
	if req.Method != http.MethodGet {
		return nil, refuse(
			http.StatusMethodNotAllowed,
			"MethodNotAllowed",
			"the view of a site is read-only; write in the space itself",
		)
	}
	r := &exchange.Request{Verb: exchange.View, Query: url.Values{}, Path: names[1:]}
	accept := strings.Join(req.Header["Accept"], ",")
	if info.IsResourceRequest {
		if err := object(r, req.URL.Query(), info); err != nil {
			return nil, err
		}
		if strings.Contains(accept, "as=Table") {
			r.Query.Set(exchange.OptionForm, exchange.FormTable)
		}
		return r, nil
	}
	if err := document(r, strings.Split(strings.Trim(rest, "/"), "/")); err != nil {
		return nil, err
	}
	// Only these two have that form.
	if (rest == "/api" || rest == "/apis") && request.WantsAggregated(req.Header) {
		r.Query.Set(exchange.OptionForm, exchange.FormAggregated)
	}
	return r, nil
}

// object says which objects are asked for.
func object(r *exchange.Request, options url.Values, info *apirequest.RequestInfo) error {
	lists := info.Verb == "list" || info.Verb == "watch"
	switch {
	case !lists && info.Verb != "get":
		return refuse(
			http.StatusMethodNotAllowed,
			"MethodNotAllowed",
			"the view of a site is read-only, and has no %s",
			info.Verb,
		)
	case info.Subresource != "" || len(info.Parts) > 2 || lists && len(info.Parts) != 1:
		return refuse(
			http.StatusForbidden,
			"Forbidden",
			"the view of a site has objects, and of their subresources those of pods: log, exec, attach and portforward",
		)
	case info.Resource == "secrets":
		return refuse(
			http.StatusForbidden,
			"Forbidden",
			"the view of a site does not have Secrets; read them in the space",
		)
	}
	set := func(name, value string) {
		if value != "" {
			r.Query.Set(name, value)
		}
	}
	set(exchange.OptionGroup, info.APIGroup)
	r.Query.Set(exchange.OptionVersion, info.APIVersion)
	r.Query.Set(exchange.OptionResource, info.Resource)
	if info.APIGroup != "" || info.Resource != "namespaces" {
		r.Namespace = info.Namespace
	}
	if !lists {
		r.Query.Set(exchange.OptionName, info.Name)
		return nil
	}
	for _, name := range exchange.ListOptions {
		if values, given := options[name]; given && !slices.Equal(values, []string{""}) {
			r.Query[name] = values // of which there may be one, as Check says
		}
	}
	if limit := options.Get(exchange.OptionLimit); limit != "" {
		r.Query.Set(exchange.OptionLimit, limit)
	}
	if info.Verb == "watch" {
		r.Query.Set(exchange.OptionWatch, "true")
	}
	return nil
}

// document says which document about the API is asked for, by the segments of its path.
func document(r *exchange.Request, path []string) error {
	what, below := path[0], path[1:]
	if what == "openapi" && len(below) > 0 {
		what, below = what+"/"+below[0], below[1:]
	}
	r.Query.Set(exchange.OptionDocument, what)
	core := what == "api"
	if what == "openapi/v3" && len(below) > 0 {
		if core = below[0] == "api"; !core && below[0] != "apis" || len(below) == 1 {
			return unknown()
		}
		below = below[1:]
	}
	names := []string{exchange.OptionGroup, exchange.OptionVersion}
	if core {
		names = names[1:]
	}
	if len(below) > len(names) {
		return unknown()
	}
	for i, value := range below {
		r.Query.Set(names[i], value)
	}
	if r.Verb.Options(r.Query) != nil {
		return unknown()
	}
	return nil
}

func unknown() error {
	return refuse(
		http.StatusNotFound,
		"NotFound",
		"the view of a site has /api, /apis, /openapi and /version",
	)
}

func refuse(code int, reason, format string, args ...any) error {
	return &exchange.Fault{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
