package view

import (
	"net/http"
	"net/url"
	"strings"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// Takes reports whether a path within a space is one of this package.
func Takes(path string) bool { return strings.HasPrefix(path, request.ViewPrefix) }

// split takes a path apart: the names of targets, and what follows in the API of the last. Without
// any of that rest is "/".
func split(path string) (names []string, rest string) {
	parts := strings.Split(strings.TrimPrefix(path, request.ViewPrefix), "/")
	end := 0
	for end < len(parts) && !exchange.IsAPIRoot(parts[end]) {
		end++
	}
	names = parts[:end]
	if end > 0 && end == len(parts) && names[end-1] == "" {
		names = names[:end-1] // a slash at the end
	}
	return names, "/" + strings.Join(parts[end:], "/")
}

// Resolver resolves what a request is for. Of a request of this package it is what follows the path
// of targets; of all others Next says it.
type Resolver struct {
	Next apirequest.RequestInfoResolver
}

// NewRequestInfo implements apirequest.RequestInfoResolver.
func (r Resolver) NewRequestInfo(req *http.Request) (*apirequest.RequestInfo, error) {
	if !Takes(req.URL.Path) {
		return r.Next.NewRequestInfo(req)
	}
	_, rest := split(req.URL.Path)
	info, err := r.Next.NewRequestInfo(
		&http.Request{Method: req.Method, URL: &url.URL{Path: rest, RawQuery: req.URL.RawQuery}},
	)
	if info != nil && info.IsResourceRequest {
		info.Path = req.URL.Path // which the audit policy sees
	}
	return info, err
}
