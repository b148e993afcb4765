package view

import (
	"context"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/usage"
)

// Relay passes views on to the targets of a relay, whose sites decide what is shown. All fields are
// required.
type Relay struct {
	// Client returns the client of a space of the relay itself.
	Client   func(space string) (*target.Client, error)
	Records  Records
	Pods     Pods
	Children exchange.Sites
}

// Answer answers a view. The error is a *exchange.Fault.
func (s *Relay) Answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	kind, about, ofEvents := events.Asks(r)
	if len(r.Path) == 0 && !usage.Asks(r) && !ofEvents {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"this target is a relay, and what it has is shown in the space: name a site below it, as in targets/RELAY/SITE",
		)
	}
	c, err := s.Client(r.Space)
	if err != nil {
		return nil, unreachable(err)
	}
	// The relay's space of that name may have namespaces that are not the parent's, or that are of
	// an earlier space of the parent.
	mine, err := s.own(ctx, c, r)
	if err != nil {
		return nil, err
	}
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
	if one != "" && !slices.Contains(mine, one) {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"the relay has no namespace %s of space %s",
			one,
			r.Space,
		)
	}
	if ofEvents && len(r.Path) == 0 {
		return s.events(ctx, c, r, kind, about)
	}
	if len(r.Path) == 0 {
		return s.usage(ctx, c, r, mine)
	}
	next := *r
	next.Path = r.Path[1:]
	if !r.Query.Has(exchange.OptionDocument) && one == "" {
		next.Query = maps.Clone(r.Query)
		next.Query[exchange.OptionAmong] = mine
	}
	return s.Children.Do(ctx, r.Path[0], &next)
}

// own returns the namespaces that the relay got from the parent's space, of those that a request may
// be about.
func (s *Relay) own(ctx context.Context, c *target.Client, r *exchange.Request) (names []string, err error) {
	for _, name := range among(s.Records.Namespaces(r.Space), r) {
		record, known := s.Records.Get(inventory.NamespaceKey(r.Space, name))
		if !known {
			continue
		}
		live, err := c.Get(context.WithoutCancel(ctx), namespaces, "", name, false)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, unreachable(err)
		}
		if live.Metadata.UID == record.UID && live.IsOf(r.Space, r.SpaceUID) {
			names = append(names, name)
		}
	}
	return names, nil
}

// usage says what the parent's Pods below the relay use: each of the relay's targets is asked for
// those that it has. The relay's own API is never asked for metrics, which would ask them again.
func (s *Relay) usage(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	mine []string,
) (*http.Response, error) {
	name := r.Query.Get(exchange.OptionName)
	if r.Namespace != "" {
		mine = []string{r.Namespace}
	}
	var pods []usage.Pod
	for _, namespace := range mine {
		of := target.Listing{
			Resource: podKind, Namespace: namespace, MetadataOnly: true,
			LabelSelector: r.Query.Get("labelSelector"), FieldSelector: unfinished,
		}
		if name != "" {
			of.FieldSelector = "metadata.name=" + name
		}
		if more := r.Query.Get("fieldSelector"); more != "" {
			of.FieldSelector += "," + more
		}
		if _, err := c.List(ctx, of, func(o *target.Object) error {
			k := podKind.KeyIn(r.Space, o)
			place, err := exchange.PlaceOf(k.Name, o.Metadata.UID, o.Metadata.Annotations)
			if err == nil && s.Pods.Placed(k, o.Metadata.UID) {
				pods = append(pods, usage.Pod{Namespace: k.Namespace, Name: k.Name, Place: place})
			}
			return nil
		}); err != nil {
			return nil, unreachable(err)
		}
	}
	if name != "" {
		return s.usageOf(ctx, r, pods)
	}
	list := usage.List(ctx, s.Children, r, pods)
	if f := list.Fault(); f != nil {
		return nil, f
	}
	resp, err := metricsList(list.Pods, r)
	if err == nil {
		exchange.SetWarnings(resp.Header, append(exchange.Warnings(resp.Header), list.Lacks()...))
	}
	return resp, err
}

// unfinished are Pods that may use something.
const unfinished = "status.phase!=Succeeded,status.phase!=Failed"

// usageOf is usage for one Pod.
func (s *Relay) usageOf(ctx context.Context, r *exchange.Request, pods []usage.Pod) (*http.Response, error) {
	if len(pods) != 1 {
		return nil, fault(http.StatusNotFound, "NotFound", "the relay has no pod %s/%s of space %s",
			r.Namespace, r.Query.Get(exchange.OptionName), r.Space)
	}
	found, warnings, err := usage.Get(ctx, s.Children, r, pods[0])
	if err != nil {
		return nil, err
	}
	text, err := usage.Encode(found)
	if err != nil {
		return nil, unreachable(err)
	}
	resp := answer(plain, text)
	exchange.SetWarnings(resp.Header, warnings)
	return resp, nil
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
