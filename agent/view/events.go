package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

var eventKind = target.Resource{Version: "v1", Plural: "events"}

// subject is an object of a space that a view of Events is about.
type subject struct {
	key      store.Key // in the space
	kind     string
	resource target.Resource
}

// subjectOf reads what a view of Events is about.
func subjectOf(r *exchange.Request, kind, name string) (subject, error) {
	k, known := events.KindOf(kind)
	if !known {
		return subject{}, fault(http.StatusNotFound, "NotFound", "events about a %s are not shown", kind)
	}
	return subject{
		key: store.Key{
			Space: r.Space, Group: k.Group, Resource: k.Resource, Namespace: r.Namespace, Name: name,
		},
		kind:     kind,
		resource: target.Resource{Group: k.Group, Version: k.Version, Plural: k.Resource},
	}, nil
}

// live returns the object as it is in a namespace of the cluster. It has to belong to the space: by
// the record of what was placed, or by its owner. All others are not found.
func (s subject) live(
	ctx context.Context,
	c *target.Client,
	namespace string,
	r *exchange.Request,
	records Records,
	pods Pods,
) (*target.Object, error) {
	missing := fault(http.StatusNotFound, "NotFound", "there is no %s %s/%s of space %s",
		s.kind, s.key.Namespace, s.key.Name, s.key.Space)
	live, err := c.Get(context.WithoutCancel(ctx), s.resource, namespace, s.key.Name, false)
	switch {
	case apierrors.IsNotFound(err), errors.Is(err, target.ErrNotServed):
		return nil, missing
	case err != nil:
		return nil, unreachable(err)
	}
	uid := live.Metadata.UID
	record, placed := records.Get(s.key)
	placed = placed && record.UID == uid
	switch {
	case uid == "", r.UID != "" && r.UID != uid:
		return nil, missing
	case r.Origin != "" && (!placed || record.OriginUID != r.Origin):
		return nil, missing
	case !placed && !pods.Placed(s.key, uid):
		return nil, missing
	}
	return live, nil
}

// maxRead is how many Events about one object are read.
const maxRead = 10 * events.MaxEvents

// events says what the cluster says about one object of the space. Unlike other views it has
// objects in namespaces that were there before, too, but only those that the space has placed.
func (s *Site) events(ctx context.Context, a *asked, kind, name string) (*http.Response, error) {
	of, err := subjectOf(a.Request, kind, name)
	if err != nil {
		return nil, err
	}
	at, err := s.namespace(ctx, a, a.Namespace)
	if err != nil {
		return nil, err
	}
	live, err := of.live(ctx, a.client, at.there, a.Request, s.Records, s.Pods)
	if err != nil {
		return nil, err
	}
	uid, more := live.Metadata.UID, false
	var all []events.Event
	_, err = a.client.List(ctx, target.Listing{
		Resource: eventKind, Namespace: at.there,
		FieldSelector: fmt.Sprintf(
			"involvedObject.kind=%s,involvedObject.name=%s,involvedObject.uid=%s", kind, name, uid),
	}, func(o *target.Object) error {
		e, ok := o.Event()
		if !ok || e.About.UID != uid || o.Metadata.Namespace != at.there {
			return nil
		}
		if more = len(all) == maxRead; more {
			return target.ErrEnough
		}
		all = append(all, events.Event{
			Name: o.Metadata.Name, Type: e.Type, Reason: e.Reason,
			Message:   at.mapping.Words(at.name, e.Message),
			Component: e.Component, FieldPath: e.About.FieldPath,
			Count: e.Count, First: e.First, Last: e.Last,
		}.Fit())
		return nil
	})
	if err != nil && !more {
		return nil, unreachable(err)
	}
	return eventList(all, more, a.Request)
}

// eventList answers with the latest Events, as many as an answer has and the request leaves room
// for. More says that not all were read.
func eventList(all []events.Event, more bool, r *exchange.Request) (*http.Response, error) {
	slices.SortFunc(all, func(a, b events.Event) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name))
	})
	shown := all[:min(len(all), events.MaxEvents)]
	for {
		text, err := events.Encode(shown)
		if err != nil {
			return nil, unreachable(err)
		}
		if most, limited := r.Limit(); limited && int64(len(text)) > most && len(shown) > 0 {
			shown = shown[:len(shown)*3/4]
			continue
		}
		out := answer(plain, text)
		if len(shown) < len(all) {
			of := fmt.Sprint(len(all))
			if more {
				of = "more than " + of
			}
			exchange.SetWarnings(out.Header, []string{fmt.Sprintf(
				"the latest %d of %s events are shown", len(shown), of)})
		}
		return out, nil
	}
}

// events says what is said below the relay about one of the parent's objects: each of the relay's
// targets that has it is asked. The Events have the names under which the relay's space shows those
// that were reported. The relay's own API is never asked for Events, which would ask again.
func (s *Relay) events(
	ctx context.Context, c *target.Client, r *exchange.Request, kind, name string,
) (*http.Response, error) {
	of, err := subjectOf(r, kind, name)
	if err != nil {
		return nil, err
	}
	live, err := of.live(ctx, c, r.Namespace, r, s.Records, s.Pods)
	if err != nil {
		return nil, err
	}
	places := events.Places(kind, name, live.Metadata.UID, live.Metadata.Annotations)
	list := events.List(ctx, s.Children, r, places)
	all := make([]events.Event, 0, len(list.Events))
	for _, e := range list.Events {
		all = append(all, e.Event)
	}
	resp, err := eventList(all, false, r)
	if err == nil {
		exchange.SetWarnings(resp.Header, append(exchange.Warnings(resp.Header), list.Lacks...))
	}
	return resp, err
}
