package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// Site is the Backend of a workload cluster: it asks the cluster's API server, and nobody else.
type Site struct {
	// Client returns the client of a space. As is the one that acts for the space: with its
	// account, where the agent impersonates.
	Client func(space string) (*target.Client, error)
	As     func(c *target.Client, space, namespace string) *target.Client
	// There returns the cluster's name of a space's namespace.
	There func(space, namespace string) string
	// MayDebug refuses containers that a space adds to a Pod with this spec; nil leaves that to the
	// cluster.
	MayDebug func(space string, spec, containers []byte) error
	// Pods are those of the spaces.
	Pods Pods
	// Idle reports whether a Service of the target is known to have no ready Pod; nil knows of none.
	Idle func(namespace, service string) bool
	// Call calls a Service of the target, which is live, as a Pod of this site would; nil cannot.
	Call func(ctx context.Context, r *exchange.Request, live *target.Object) (*exchange.Traced, error)
	// Ahead returns a connection whose output is read before the link takes it, for commands: what
	// the site's API has not been read of when they end is lost. Nil reads at the speed of the link.
	Ahead func(io.ReadWriteCloser) io.ReadWriteCloser

	way   way
	found found
	kept  exchange.Affinity[session, string]
}

var namespaces = target.Resource{Version: "v1", Plural: "namespaces"}

// ofSpace returns nil when a namespace of the target is of the very space that asks, and not of an
// earlier one that had its name. Namespace is the target's name of it.
func ofSpace(ctx context.Context, c *target.Client, r *exchange.Request, namespace string) error {
	live, err := c.Get(context.WithoutCancel(ctx), namespaces, "", namespace, false)
	switch {
	case apierrors.IsNotFound(err), err == nil && !live.IsOf(r.Space, r.SpaceUID):
		return missing(r)
	case err != nil:
		return unreachable(err)
	}
	return nil
}

// resourceOf is what a request is about.
func resourceOf(r *exchange.Request) target.Resource {
	group, plural := r.Kind()
	return target.Resource{Group: group, Version: "v1", Plural: plural}
}

// Answer implements Backend.
func (s *Site) Answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	if len(r.Path) > 0 && r.Verb == exchange.Call {
		return nil, fmt.Errorf("%w: it is a site, with nothing below it", exchange.ErrRequest)
	}
	if len(r.Path) > 0 {
		return nil, missing(r) // this site has no targets
	}
	c, err := s.Client(r.Space)
	if err != nil {
		return nil, unreachable(err)
	}
	namespace := s.There(r.Space, r.Namespace)
	if r.Resource == exchange.Services && r.Verb == exchange.Connect {
		return s.serve(ctx, c, r, namespace)
	}
	if err := ofSpace(ctx, c, r, namespace); err != nil {
		return nil, err
	}
	live, err := c.Get(context.WithoutCancel(ctx), resourceOf(r), namespace, r.Pod, false)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.Metadata.UID != r.UID:
		return nil, missing(r)
	case err != nil:
		return nil, unreachable(err)
	}
	switch r.Verb {
	case exchange.Connect:
		return s.connect(ctx, c, r, live)
	case exchange.Call:
		return s.traced(ctx, r, live)
	}
	if r.Verb == exchange.Debug && s.MayDebug != nil {
		if err := s.MayDebug(r.Space, live.Spec, r.Body); err != nil {
			return nil, &exchange.Fault{Code: http.StatusForbidden, Reason: "Forbidden", Message: err.Error()}
		}
	}
	if r.Verb == exchange.Change {
		if err := mayChange(ctx, c, r, namespace, live); err != nil {
			return nil, err
		}
	}
	t, err := talk(r, namespace)
	if err != nil {
		return nil, err
	}
	resp, err := s.As(c, r.Space, namespace).Talk(ctx, t)
	if err != nil {
		return nil, unreachable(err)
	}
	resp.Header.Del(exchange.HeaderSite) // which an API server has no word in
	if resp.StatusCode == http.StatusSwitchingProtocols {
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if ok && s.Ahead != nil && (r.Verb == exchange.Exec || r.Verb == exchange.Attach) {
			resp.Body = s.Ahead(conn)
		}
		context.AfterFunc(ctx, func() { resp.Body.Close() })
	}
	return resp, nil
}

// traced has this site call a Service, and answers what came of it.
func (s *Site) traced(ctx context.Context, r *exchange.Request, live *target.Object) (*http.Response, error) {
	if s.Call == nil {
		return nil, unreachable(errors.New("this site has no gateway: the agent runs with --gateway-address off"))
	}
	found, err := s.Call(ctx, r, live)
	if err != nil {
		return nil, err
	}
	return found.Response(), nil
}

// talk is the request to the API server, which has the Pod in a namespace of its own name for it.
// The Pod's UID goes along where the API takes it.
func talk(r *exchange.Request, namespace string) (target.Talk, error) {
	t := target.Talk{
		Method:      http.MethodGet,
		Resource:    resourceOf(r),
		Namespace:   namespace,
		Pod:         r.Pod,
		Subresource: string(r.Verb),
		Query:       r.Query,
		Upgrade:     r.Upgrade,
	}
	switch r.Verb {
	case exchange.Exec, exchange.Attach, exchange.PortForward:
		if !exchange.IsWebSocket(r.Upgrade) {
			t.Method = http.MethodPost
		}
	case exchange.Debug:
		t.Method, t.ContentType = http.MethodPatch, "application/strategic-merge-patch+json"
		return with(t, debugging(r))
	case exchange.Evict:
		t.Method, t.Query, t.ContentType = http.MethodPost, nil, "application/json"
		return with(t, map[string]any{"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata": map[string]any{"name": r.Pod, "namespace": namespace}, "deleteOptions": deletion(r)})
	case exchange.Change:
		return changing(t, r)
	case exchange.Delete:
		t.Method, t.Query, t.ContentType, t.Subresource = http.MethodDelete, nil, "application/json", ""
		return with(t, deletion(r))
	}
	return t, nil
}

// with adds a body.
func with(t target.Talk, body map[string]any) (target.Talk, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return t, fmt.Errorf("%w: its body is no JSON: %w", exchange.ErrRequest, err)
	}
	t.Body = text
	return t, nil
}

// debugging is a patch that touches nothing but ephemeral containers, of that very Pod.
func debugging(r *exchange.Request) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"uid": r.UID},
		"spec":     map[string]any{"ephemeralContainers": json.RawMessage(r.Body)},
	}
}

// deletion is the deletion of that very Pod.
func deletion(r *exchange.Request) map[string]any {
	out := map[string]any{
		"apiVersion":    "v1",
		"kind":          "DeleteOptions",
		"preconditions": map[string]any{"uid": r.UID},
	}
	if n, err := strconv.ParseInt(r.Query.Get("gracePeriodSeconds"), 10, 64); err == nil {
		out["gracePeriodSeconds"] = n
	}
	if p := r.Query.Get("propagationPolicy"); p != "" {
		out["propagationPolicy"] = p
	}
	if r.Query.Has("dryRun") {
		out["dryRun"] = r.Query["dryRun"]
	}
	return out
}

func unreachable(err error) error {
	return &exchange.Fault{
		Code:    http.StatusServiceUnavailable,
		Reason:  "ServiceUnavailable",
		After:   10,
		Message: fmt.Sprintf("the site's agent does not reach its cluster: %s", err),
	}
}
