package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// Converters is For, for the webhooks that convert the custom resources of a space's definitions.
// What a Service has converted is remembered, or every watch would have every event converted over
// the link to a site.
func (c *Callers) Converters(space string) webhook.AuthenticationInfoResolverWrapper {
	return func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return spaceConverters{spaceCallers{c, space}}
	}
}

type spaceConverters struct{ spaceCallers }

// ClientConfigForService implements webhook.AuthenticationInfoResolver.
func (c spaceConverters) ClientConfigForService(
	name, namespace string,
	port int,
) (*rest.Config, error) {
	config, err := c.spaceCallers.ClientConfigForService(name, namespace, port)
	if err != nil {
		return nil, err
	}
	wrap := config.WrapTransport
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return &converter{
			Callers: c.Callers, of: Service{c.space, namespace, name, int32(port)}, next: wrap(next),
		}
	}
	return config, nil
}

// converter has a Service convert what it has not converted before.
type converter struct {
	*Callers
	of   Service
	next http.RoundTripper
}

// WrappedRoundTripper lets upstream find the transport.
func (c *converter) WrappedRoundTripper() http.RoundTripper { return c.next }

// conversionReview is a ConversionReview whose objects are not decoded.
type conversionReview struct {
	Kind       string              `json:"kind"`
	APIVersion string              `json:"apiVersion"`
	Request    *conversionRequest  `json:"request,omitempty"`
	Response   *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               string            `json:"uid"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

type conversionResponse struct {
	UID              string            `json:"uid"`
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
	Result           json.RawMessage   `json:"result"`
}

// succeeded reports whether the webhook says so, and has answered for n objects.
func (r *conversionResponse) succeeded(n int) bool {
	var result struct{ Status string }
	return r != nil && json.Unmarshal(r.Result, &result) == nil && result.Status == "Success" &&
		len(r.ConvertedObjects) == n
}

// RoundTrip implements http.RoundTripper.
func (c *converter) RoundTrip(req *http.Request) (*http.Response, error) {
	var review conversionReview
	body, err := bodyOf(req)
	if err != nil || json.Unmarshal(body, &review) != nil || review.Kind != "ConversionReview" ||
		review.Request == nil {
		return c.next.RoundTrip(req)
	}
	keys := make([]conversionKey, len(review.Request.Objects))
	for i, o := range review.Request.Objects {
		keys[i] = c.key(req.URL.Path, review.APIVersion, review.Request.DesiredAPIVersion, o)
	}
	have, mine, others := c.conversions.take(keys, c.current(req.Context()))
	c.cfg.Metrics.converted(len(keys)-len(mine), len(mine))
	if len(mine) > 0 {
		resp, err := c.convert(req, &review, keys, mine, have)
		if resp != nil || err != nil {
			return resp, err
		}
	}
	for i, f := range others {
		select {
		case <-f.done:
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		}
		if f.converted == nil { // it has failed for another: what it says of this one, it says itself
			return c.next.RoundTrip(req)
		}
		have[i] = f.converted
	}
	return answered(req, &review, have)
}

// convert has those objects converted that are mine to convert, and adds them to have. Where that
// fails it returns what the webhook says.
func (c *converter) convert(
	req *http.Request,
	review *conversionReview,
	keys []conversionKey,
	mine []int,
	have [][]byte,
) (*http.Response, error) {
	var done bool
	defer func() {
		if !done {
			c.conversions.fail(keys, mine)
		}
	}()
	asked := *review
	asked.Request = &conversionRequest{
		UID: review.Request.UID, DesiredAPIVersion: review.Request.DesiredAPIVersion,
	}
	for _, i := range mine {
		asked.Request.Objects = append(asked.Request.Objects, review.Request.Objects[i])
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("encode the objects to be converted: %w", err)
	}
	by := &Backend{}
	less := req.Clone(context.WithValue(req.Context(), answeredKey{}, by))
	less.ContentLength = int64(len(text))
	less.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}
	less.Body, _ = less.GetBody()
	resp, err := c.next.RoundTrip(less)
	if err != nil {
		return nil, err
	}
	said, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	var answer conversionReview
	if resp.StatusCode != http.StatusOK || json.Unmarshal(said, &answer) != nil ||
		!answer.Response.succeeded(len(mine)) || answer.Response.UID != review.Request.UID {
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(said)), int64(len(said))
		return resp, nil
	}
	for n, i := range mine {
		have[i] = answer.Response.ConvertedObjects[n]
		c.conversions.put(keys[i], have[i], *by)
	}
	done = true
	return nil, nil
}

type answeredKey struct{}

// noteBackend notes for whoever asked which Pod has answered.
func noteBackend(ctx context.Context, b Backend) {
	if by, ok := ctx.Value(answeredKey{}).(*Backend); ok {
		*by = b
	}
}

// current returns whether a Pod is still behind the Service: what an earlier version of the webhook
// has converted does not count any more. While no Pod is known, all that was converted counts.
func (c *converter) current(ctx context.Context) func(Backend) bool {
	all, err := c.cfg.Services.Behind(ctx, c.of)
	known := map[Backend]bool{}
	for _, b := range all {
		known[b] = true
	}
	return func(b Backend) bool { return err != nil || known[b] }
}

// key is of all that decides what a conversion results in. The object has its UID and its
// resourceVersion in it; but an object that is about to be written has those of the one before, so
// its content counts, too.
func (c *converter) key(path, review, version string, object []byte) conversionKey {
	h := sha256.New()
	for _, part := range []string{c.of.String(), c.of.host(), path, review, version} {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	h.Write(object)
	return conversionKey{c.of.Space, [sha256.Size]byte(h.Sum(nil))}
}

// answered returns the answer of a webhook that has converted all objects.
func answered(
	req *http.Request,
	review *conversionReview,
	converted [][]byte,
) (*http.Response, error) {
	answer := conversionReview{Kind: review.Kind, APIVersion: review.APIVersion,
		Response: &conversionResponse{
			UID: review.Request.UID, Result: json.RawMessage(`{"status":"Success"}`),
			ConvertedObjects: make([]json.RawMessage, len(converted)),
		}}
	for i, o := range converted {
		answer.Response.ConvertedObjects[i] = o
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encode converted objects: %w", err)
	}
	return made(req, text), nil
}
