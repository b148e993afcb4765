package streams

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

// below passes a request for a Pod on to the targets that it names. The relay's space does not have
// the Pod: what it is part of is on too many targets. Its site judges it, by what the relay has
// placed there. The relay itself judges that its parent has placed that, and not a user of the relay.
func (s *Relay) below(ctx context.Context, c *target.Client, r *exchange.Request) (*http.Response, error) {
	switch r.Verb {
	case exchange.Log, exchange.Exec, exchange.Attach, exchange.PortForward:
	default:
		return nil, missing(r) // what writes is for Pods that each tier knows
	}
	next := *r
	next.Path = r.Path[1:]
	of := target.Owner{Kind: "Pod", Name: r.Pod, UID: r.UID}
	for range 3 { // a Pod, its ReplicaSet, its Deployment
		kind, known := events.KindOf(of.Kind)
		if !known {
			break
		}
		resource := target.Resource{Group: kind.Group, Version: kind.Version, Plural: kind.Resource}
		live, err := c.Get(context.WithoutCancel(ctx), resource, r.Namespace, of.Name, false)
		if err == nil && s.Owns(live.Metadata.UID) {
			return s.Children.Do(ctx, r.Path[0], &next)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, unreachable(err)
		}
		if of, err = s.controller(ctx, &next, r.Path[0], of, kind); err != nil {
			return nil, err
		}
	}
	return nil, missing(r)
}

// maxObject bounds what is read of an object below a relay.
const maxObject = 3 << 20

// controller asks below for what controls an object there, with the UID that it is known by.
func (s *Relay) controller(
	ctx context.Context, r *exchange.Request, child string, of target.Owner, kind events.Kind,
) (target.Owner, error) {
	view := &exchange.Request{
		Space: r.Space, Namespace: r.Namespace, Path: r.Path, User: r.User, Groups: r.Groups, Timeout: r.Timeout,
		Verb: exchange.View, Query: url.Values{
			exchange.OptionVersion: {kind.Version}, exchange.OptionResource: {kind.Resource},
			exchange.OptionName: {of.Name},
		},
	}
	if kind.Group != "" {
		view.Query.Set(exchange.OptionGroup, kind.Group)
	}
	resp, err := s.Children.Do(ctx, child, view)
	if err != nil {
		return target.Owner{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxObject))
	if err != nil {
		return target.Owner{}, unreachable(err)
	}
	var live target.Object
	if resp.StatusCode != http.StatusOK || json.Unmarshal(text, &live) != nil || live.Metadata.UID != of.UID {
		return target.Owner{}, missing(r)
	}
	for _, owner := range live.Metadata.OwnerReferences {
		if owner.Controller {
			return owner, nil
		}
	}
	return target.Owner{}, nil
}
