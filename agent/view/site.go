package view

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/usage"
)

// Records says which namespaces a space has at the site. agent/inventory's Inventory is one.
type Records interface {
	Get(k store.Key) (inventory.Record, bool)
	// Namespaces returns the space's names of those that the target has for it.
	Namespaces(space string) []string
}

// Site answers at a workload cluster. All fields are required.
type Site struct {
	// Client returns the client of a space. It reads as the agent, whose rights are wider than
	// what is shown.
	Client  func(space string) (*target.Client, error)
	Records Records
	Pods    Pods
}

// Pods knows the Pods of the target. agent/observe's Observer is one.
type Pods interface {
	// Placed reports whether the target has the Pod k with this UID, which belongs to an object
	// that was placed there from the space of k. A ReplicaSet or a Job may be asked for, too.
	Placed(k store.Key, uid string) bool
}

var namespaces = target.Resource{Version: "v1", Plural: "namespaces"}

// here is a namespace of a space at the site.
type here struct {
	name, there string
	mapping     target.Mapping
	// existed says that it was there before the space took it. Then owns says what of it is shown; else it is
	// nil, and all is.
	existed bool
	owns    func(o map[string]any) bool
}

// asked is a request that passed the rules about kinds.
type asked struct {
	*exchange.Request
	client   *target.Client
	resource target.Resource
	key      store.Key // of the kind alone
}

// Answer answers a view. The error is a *exchange.Fault.
func (s *Site) Answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	if len(r.Path) > 0 {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"this site is a cluster, not a relay: it has no %s below it",
			strings.Join(r.Path, "/"),
		)
	}
	if len(s.Records.Namespaces(r.Space)) == 0 {
		return nil, fault(
			http.StatusNotFound,
			"NotFound",
			"space %s has no namespace at this site",
			r.Space,
		)
	}
	c, err := s.Client(r.Space)
	if err != nil {
		return nil, unreachable(err)
	}
	if r.Query.Has(exchange.OptionDocument) {
		return document(ctx, c, r)
	}
	q := r.Query
	a := &asked{
		Request: r,
		client:  c,
		resource: target.Resource{
			Group:   q.Get(exchange.OptionGroup),
			Version: q.Get(exchange.OptionVersion),
			Plural:  q.Get(exchange.OptionResource),
		},
	}
	a.key = store.Key{Group: a.resource.Group, Resource: a.resource.Plural}
	if err := a.refused(); err != nil {
		return nil, err
	}
	name := q.Get(exchange.OptionName)
	if kind, of, asks := events.Asks(r); asks {
		return s.events(ctx, a, kind, of)
	}
	switch {
	case usage.Asks(r):
		return s.usage(ctx, a)
	case a.ofNamespaces() && name != "":
		at, err := s.own(ctx, a, name)
		if err != nil {
			return nil, err
		}
		return a.pass(ctx, at, "", at.there)
	case r.Namespace == "":
		return s.joined(ctx, a)
	}
	at, err := s.namespace(ctx, a, r.Namespace)
	switch {
	case err != nil:
		return nil, err
	case at.existed:
		return s.shared(ctx, a, at, name)
	}
	return a.pass(ctx, at, at.there, name)
}

// ofNamespaces reports whether the request is for Namespaces themselves.
func (a *asked) ofNamespaces() bool { return a.key.Class() == store.ClassNamespace }

// refused says why a kind is not shown, or not in this way; nil if it is.
func (a *asked) refused() error {
	named := a.Query.Has(exchange.OptionName)
	switch {
	case a.resource.Plural == "secrets": // of whatever group: another API may serve them, too
		return fault(
			http.StatusForbidden,
			"Forbidden",
			"the view of a site does not have Secrets; read them in the space",
		)
	case a.ofNamespaces() && a.Namespace != "":
		return fault(http.StatusBadRequest, "BadRequest", "a Namespace is in no namespace")
	case a.resource.Group == "" && a.Namespace != "" && (a.resource.Plural == "status" || a.resource.Plural == "finalize"):
		return fault(
			http.StatusForbidden,
			"Forbidden",
			"the view of a site has objects, and not their subresources",
		)
	case a.Namespace == "" && !a.ofNamespaces() && named:
		return fault(
			http.StatusForbidden,
			"Forbidden",
			"the view of a site has what is in the space's namespaces there; %s %s is in none: "+
				"name its namespace (-n), if it has one",
			a.resource.Plural,
			a.Query.Get(exchange.OptionName),
		)
	case a.Namespace == "" && a.Watches():
		return fault(
			http.StatusMethodNotAllowed,
			"MethodNotAllowed",
			"the view of a site watches one namespace at a time: name it (-n), or list them all without a watch",
		)
	}
	return nil
}

// own returns a namespace that was made at the site for the space. One that was there before is
// refused: what it says of itself may be the site's.
func (s *Site) own(ctx context.Context, a *asked, name string) (here, error) {
	at, err := s.namespace(ctx, a, name)
	if err == nil && at.existed {
		return here{}, fault(
			http.StatusForbidden,
			"Forbidden",
			"Namespace %s was there before space %s took it, and is not shown itself; what the space has in it is",
			name,
			a.Space,
		)
	}
	return at, err
}

// namespace returns a namespace that the space has at the site, by the agent's record and by the
// annotations of the live one. All others are answered with the same fault.
func (s *Site) namespace(ctx context.Context, a *asked, name string) (here, error) {
	missing := fault(
		http.StatusNotFound,
		"NotFound",
		"the site has no namespace %s of space %s",
		name,
		a.Space,
	)
	record, known := s.Records.Get(inventory.NamespaceKey(a.Space, name))
	if !known || record.UID == "" {
		return here{}, missing
	}
	at := here{name: name, mapping: target.Mapping(record.Prefix)}
	at.there = at.mapping.There(name)
	live, err := a.client.Get(context.WithoutCancel(ctx), namespaces, "", at.there, false)
	switch {
	case apierrors.IsNotFound(err):
		return here{}, missing
	case err != nil:
		return here{}, unreachable(err)
	case live.Metadata.Name != at.there,
		live.Metadata.UID != record.UID,
		!live.IsOf(a.Space, a.SpaceUID):
		return here{}, missing
	}
	at.existed = live.Metadata.Annotations[target.AnnotationExisted] != ""
	return at, nil
}

func fault(code int, reason, format string, args ...any) *exchange.Fault {
	return &exchange.Fault{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func unreachable(err error) error {
	f := fault(
		http.StatusServiceUnavailable,
		"ServiceUnavailable",
		"the site's agent does not reach its cluster: %s",
		err,
	)
	f.After = 10
	return f
}
