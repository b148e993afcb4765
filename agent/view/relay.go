package view

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// Relay passes views on to the targets of a relay, whose sites decide what is shown.
type Relay struct {
	Records  Records
	Children tunnel.StreamOpener
}

// Answer answers a view. The error is a *exchange.Fault.
func (s *Relay) Answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	if len(r.Path) == 0 {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"this target is a relay, and what it has is shown in the space: name a site below it, as in targets/RELAY/SITE",
		)
	}
	// The relay's space of that name may have namespaces that are not the parent's.
	mine := among(s.Records.Namespaces(r.Space), r)
	if len(mine) == 0 {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"space %s has no namespace at this relay",
			r.Space,
		)
	}
	one := r.Namespace
	if r.Query.Get(exchange.OptionResource) == "namespaces" {
		one = r.Query.Get(exchange.OptionName)
	}
	next := *r
	next.Path = r.Path[1:]
	switch {
	case r.Query.Has(exchange.OptionDocument):
	case one == "":
		next.Query = maps.Clone(r.Query)
		next.Query[exchange.OptionAmong] = mine
	case !slices.Contains(mine, one):
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"the relay has no namespace %s of space %s",
			one,
			r.Space,
		)
	}
	return exchange.Via(ctx, s.Children, r.Path[0], &next)
}

// among returns those of a space's namespaces that a request may be about.
func among(names []string, r *exchange.Request) []string {
	if !r.Query.Has(exchange.OptionAmong) {
		return names
	}
	return slices.DeleteFunc(
		names,
		func(n string) bool { return !slices.Contains(r.Query[exchange.OptionAmong], n) },
	)
}
