package view

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// What is accepted of the API server.
const (
	plain      = "application/json"
	table      = "application/json;as=Table;v=v1;g=meta.k8s.io," + plain
	aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," + plain
)

// document returns a document about the site's API. It names kinds, and no objects.
func document(ctx context.Context, c *target.Client, r *exchange.Request) (*http.Response, error) {
	q := r.Query
	path := strings.Split(q.Get(exchange.OptionDocument), "/")
	group, version := q.Get(exchange.OptionGroup), q.Get(exchange.OptionVersion)
	if path[0] == "openapi" && group != "" {
		path = append(path, "apis")
	} else if path[0] == "openapi" && version != "" {
		path = append(path, "api")
	}
	for _, part := range []string{group, version} {
		if part != "" {
			path = append(path, part)
		}
	}
	accept := plain
	if q.Get(exchange.OptionForm) == exchange.FormAggregated {
		accept = aggregated
	}
	resp, err := c.Open(ctx, target.Reading{Document: path, Accept: accept})
	if err != nil {
		return nil, unreachable(err)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	_, limited := r.Limit()
	if resp.StatusCode != http.StatusOK || media != "text/plain" {
		if resp, err = inJSON(resp, here{}); err != nil || !limited {
			return resp, err
		}
		accept = resp.Header.Get("Content-Type")
	} else {
		accept = plain // the list of schemas is JSON, and Kubernetes calls it plain text
	}
	defer resp.Body.Close()
	most := mostOf(r)
	text, err := whole(resp.Body, most)
	if err != nil {
		if limited {
			return nil, errTooLarge(most)
		}
		return nil, err
	}
	if !json.Valid(text) {
		return nil, fault(
			http.StatusBadGateway,
			"InternalError",
			"the site's API server does not answer with JSON to /%s",
			strings.Join(path, "/"),
		)
	}
	return answer(accept, text), nil
}
