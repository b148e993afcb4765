package view

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/usage"
)

var podKind = target.Resource{Version: "v1", Plural: "pods"}

// usage says what the Pods of a space use. Unlike other views it has those in namespaces that were
// there before, too, but in these only the Pods that the space has placed.
func (s *Site) usage(ctx context.Context, a *asked) (*http.Response, error) {
	if name := a.Query.Get(exchange.OptionName); a.Namespace != "" {
		at, err := s.namespace(ctx, a, a.Namespace)
		if err != nil {
			return nil, err
		}
		left := int64(maxAnswer)
		found, err := s.metrics(ctx, a, at, name, &left)
		if err != nil {
			return nil, err
		}
		if name == "" {
			return metricsList(found, a.Request)
		}
		if len(found) != 1 {
			return nil, fault(http.StatusNotFound, "NotFound",
				"the site has no metrics of pod %s/%s of space %s", a.Namespace, name, a.Space)
		}
		text, err := usage.Encode(found[0])
		if err != nil {
			return nil, unreachable(err)
		}
		return answer(plain, text), nil
	}
	var all []usage.Metrics
	left := int64(maxAnswer)
	for _, name := range among(s.Records.Namespaces(a.Space), a.Request) {
		at, err := s.namespace(ctx, a, name)
		var f *exchange.Fault
		if errors.As(err, &f) && f.Code < 500 {
			continue // it is not the space's, or not any more
		} else if err != nil {
			return nil, err
		}
		found, err := s.metrics(ctx, a, at, "", &left)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return metricsList(all, a.Request)
}

// metrics reads what Pods of one namespace use, under the space's name of it.
func (s *Site) metrics(ctx context.Context, a *asked, at here, name string, left *int64) ([]usage.Metrics, error) {
	var placed map[string]bool
	if at.existed {
		placed = map[string]bool{}
		of := target.Listing{Resource: podKind, Namespace: at.there, MetadataOnly: true}
		if _, err := a.client.List(ctx, of, func(o *target.Object) error {
			k := store.Key{Space: a.Space, Resource: podKind.Plural, Namespace: at.name, Name: o.Metadata.Name}
			placed[k.Name] = s.Pods.Placed(k, o.Metadata.UID)
			return nil
		}); err != nil {
			return nil, unreachable(err)
		}
	}
	q := a.query(at)
	for option := range q {
		if option != "labelSelector" && option != "fieldSelector" {
			q.Del(option) // metrics come in one piece
		}
	}
	resp, err := a.client.Open(ctx, target.Reading{
		Resource: a.resource, Namespace: at.there, Name: name, Query: q, Accept: plain,
	})
	if err != nil {
		return nil, unreachable(err)
	}
	if resp, err = inJSON(resp, at); err != nil {
		return nil, noMetrics(err, name)
	}
	defer resp.Body.Close()
	text, err := whole(resp.Body, *left)
	if err != nil {
		return nil, err
	}
	*left -= int64(len(text))
	all, err := usage.Decode(text, name == "")
	if err != nil {
		return nil, unreachable(err)
	}
	out := all[:0]
	for _, m := range all {
		if m.Metadata.Namespace != at.there {
			return nil, errForeign
		}
		if placed == nil || placed[m.Metadata.Name] {
			m.Metadata.Namespace = at.name
			out = append(out, m)
		}
	}
	return out, nil
}

// noMetrics says in better words that a cluster does not serve the API: no list is ever missing, and
// one object only if its API is.
func noMetrics(err error, name string) error {
	var f *exchange.Fault
	if name == "" && errors.As(err, &f) && f.Code == http.StatusNotFound {
		return fault(http.StatusNotFound, "NotFound",
			"its cluster does not serve %s: it has no metrics-server; the owner of the site installs one there",
			usage.Group)
	}
	return err
}

// metricsList answers with a list, of as many Pods as the request leaves room for.
func metricsList(all []usage.Metrics, r *exchange.Request) (*http.Response, error) {
	most, limited := r.Limit()
	if !limited {
		most = math.MaxInt64
	}
	shown := len(all)
	for {
		text, err := usage.EncodeList(all[:shown])
		if err != nil {
			return nil, unreachable(err)
		}
		size := int64(len(text))
		if size <= most || shown == 0 {
			out := answer(plain, text)
			if shown < len(all) {
				exchange.SetWarnings(out.Header, []string{fmt.Sprintf(
					"the metrics of %d of %d pods are shown: the list is cut after %d KiB, because a link is metered; "+
						"ask for one namespace (-n), or by a name", shown, len(all), most>>10,
				)})
			}
			return out, nil
		}
		shown = min(shown-1, int(int64(shown)*most/size))
	}
}
