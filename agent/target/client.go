package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// ErrNotServed is returned when the target does not serve a resource. Its CustomResourceDefinition
// is missing or not yet established, or the target is too old or too new for that version.
var ErrNotServed = errors.New("the target does not serve this resource")

// requestTimeout bounds every request but a watch.
const requestTimeout = 30 * time.Second

// maxAnswerBytes bounds what is read of one answer: a page of 50 objects of the greatest size that
// the API allows.
const maxAnswerBytes = 80 << 20

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
	applyType = "application/apply-patch+yaml" // JSON is YAML; older servers know only this name
	// A server refuses the one where the answer is the other.
	metaOnly     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	metaOnlyList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// Client speaks to one View. Its methods may be called concurrently.
type Client struct {
	id    string
	base  url.URL
	http  *http.Client
	reach *Reach        // nil where nobody wants to know
	site  func() string // for LabelSite
	user  string        // that requests are made for; empty is the agent itself
	// spaces is the namespace that holds the accounts of spaces.
	spaces string
	// written is told of every write; nil tells nobody.
	written func(Written)
	talk    *talking
}

func newClient(v View, now func() time.Time) (*Client, error) {
	config := rest.CopyConfig(v.Config)
	config.DisableCompression = true // the target is near: compressing costs more than it saves
	if config.UserAgent == "" {
		config.UserAgent = "skerry-agent"
	}
	config.Timeout = 0 // each request has its own limit, and a watch none
	if now != nil && config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: requestTimeout}).DialContext // so that nobody shares the transport
	}
	httpClient, err := httpClientFor(config, now)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("parse host %q: %w", config.Host, err)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	return &Client{id: v.ID, base: *base, http: httpClient, site: func() string { return "" }, spaces: DefaultSpaces,
		talk: &talking{config: config, now: now}}, nil
}

// httpClientFor returns a client whose transport judges the target's certificate at the time that
// now says, nil for the machine's clock.
func httpClientFor(config *rest.Config, now func() time.Time) (*http.Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure transport: %w", err)
	}
	if now != nil && config.Transport == nil {
		judged, err := utilnet.TLSClientConfig(client.Transport)
		if err != nil {
			return nil, fmt.Errorf("configure transport: %w", err)
		}
		if judged != nil { // else the kubeconfig names neither authority nor credentials
			judged.Time = now
		}
	}
	return client, nil
}

// ViewID is the ID of the View that this client speaks to.
func (c *Client) ViewID() string { return c.id }

// Get reads one object. With cached it may be a little old: as the target's watch cache has it.
func (c *Client) Get(ctx context.Context, r Resource, namespace, name string, cached bool) (*Object, error) {
	query := url.Values{}
	if cached {
		query.Set("resourceVersion", "0")
	}
	o := &Object{}
	_, err := c.call(ctx, http.MethodGet, r.Path(namespace, name), query, "", nil, o)
	return o, err
}

// Read is Get that also returns the whole object.
func (c *Client) Read(ctx context.Context, r Resource, namespace, name string) (*Object, map[string]any, error) {
	o, parts, err := c.Parts(ctx, r, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	whole := make(map[string]any, len(parts))
	for field, part := range parts {
		var v any
		if err := json.Unmarshal(part, &v); err != nil {
			return nil, nil, fmt.Errorf("decode %s %s/%s: %w", r, namespace, name, err)
		}
		whole[field] = v
	}
	return o, whole, nil
}

// Parts is Get that also returns the fields of the object as the target has written them.
func (c *Client) Parts(
	ctx context.Context,
	r Resource,
	namespace, name string,
) (*Object, map[string]json.RawMessage, error) {
	var raw json.RawMessage
	if _, err := c.call(ctx, http.MethodGet, r.Path(namespace, name), nil, "", nil, &raw); err != nil {
		return nil, nil, err
	}
	o, parts := &Object{}, map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(raw, o), json.Unmarshal(raw, &parts)); err != nil {
		return nil, nil, fmt.Errorf("decode %s %s/%s: %w", r, namespace, name, err)
	}
	return o, parts, nil
}

// Create posts one object.
func (c *Client) Create(ctx context.Context, r Resource, namespace string, body []byte) (*Object, error) {
	o := &Object{}
	_, err := c.call(
		ctx,
		http.MethodPost,
		r.Path(namespace, ""),
		url.Values{"fieldManager": {FieldManager}},
		jsonType,
		body,
		o,
	)
	return o, err
}

// OfCenter ends the version of a center, and that of a space.
const OfCenter = "+skerry"

// Version asks for the Kubernetes version of the target, "v1.36.3".
func (c *Client) Version(ctx context.Context) (string, error) {
	var v struct {
		GitVersion string `json:"gitVersion"`
		Skerry     bool   `json:"skerry"` // a space's version has no suffix
	}
	_, err := c.call(ctx, http.MethodGet, "/version", nil, "", nil, &v)
	if v.Skerry {
		v.GitVersion = strings.TrimSuffix(v.GitVersion, OfCenter) + OfCenter
	}
	return v.GitVersion, err
}

// call sends one request and decodes the answer into out, if that is not nil. Every write goes
// through it.
func (c *Client) call(
	ctx context.Context,
	method, path string,
	query url.Values,
	kind string,
	body []byte,
	out any,
) (int, error) {
	code, err := c.exchange(ctx, method, path, query, kind, body, out)
	c.tell(ctx, method, path, query, kind, code, err)
	return code, err
}

func (c *Client) exchange(
	ctx context.Context,
	method, path string,
	query url.Values,
	kind string,
	body []byte,
	out any,
) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, method, path, query, kind, jsonType, body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read answer to %s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		err := failure(resp.StatusCode, answer)
		if c.user != "" && apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`+c.user+`"`) {
			err = &AccountRefusedError{err}
		}
		return resp.StatusCode, err
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return resp.StatusCode, fmt.Errorf("decode answer to %s %s: %w", method, path, err)
	}
	return resp.StatusCode, nil
}

func (c *Client) send(
	ctx context.Context,
	method, path string,
	query url.Values,
	kind, accept string,
	body []byte,
) (*http.Response, error) {
	u := c.base.String() + path // the path is escaped already
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u, reader)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", accept)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.user != "" {
		req.Header.Set("Impersonate-User", c.user)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header)) // nothing outside of a span
	began := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		c.reach.sent(began, 0, err)
		return nil, fmt.Errorf("reach the target: %w", err)
	}
	c.reach.sent(began, resp.StatusCode, nil)
	return resp, nil
}

// failure turns an answer that is no success into an error: *apierrors.StatusError, or ErrNotServed
// when the path itself is unknown.
func failure(code int, answer []byte) error {
	status := metav1.Status{}
	if json.Unmarshal(answer, &status) != nil || status.Kind != "Status" {
		text := strings.TrimSpace(string(answer[:min(len(answer), 300)]))
		if code == http.StatusNotFound {
			return fmt.Errorf("%w: %s", ErrNotServed, text)
		}
		status = metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Message: text, Reason: reasonOf(code)}
	}
	if status.Code == 0 {
		status.Code = int32(code)
	}
	if code == http.StatusNotFound && (status.Details == nil || status.Details.Name == "") {
		return fmt.Errorf("%w: %s", ErrNotServed, status.Message)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusUnauthorized:
		return metav1.StatusReasonUnauthorized
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusGone:
		return metav1.StatusReasonExpired
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	default:
		return metav1.StatusReasonUnknown
	}
}
