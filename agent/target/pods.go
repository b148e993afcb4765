package target

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Talk is a request that reaches into a Pod, or that ends or changes it.
type Talk struct {
	Method string
	// Resource is that of the object; its zero value is Pods.
	Resource       Resource
	Namespace, Pod string
	Subresource    string // empty for the Pod itself
	Query          url.Values
	// Upgrade are the headers that ask for another protocol on the connection; nil for none.
	Upgrade http.Header
	// Body is of ContentType; nil for none.
	Body        []byte
	ContentType string
}

// talking makes the HTTP client of Talk when it is first used. It speaks HTTP/1.1, which alone can
// be upgraded. Each stream has a connection of its own, so that one that nobody reads stops no
// other.
type talking struct {
	config *rest.Config
	now    func() time.Time

	mu   sync.Mutex
	made *http.Client
}

func (t *talking) client() (*http.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made != nil {
		return t.made, nil
	}
	config := rest.CopyConfig(t.config)
	if config.Transport == nil {
		config.NextProtos = []string{"http/1.1"}
	}
	made, err := httpClientFor(config, t.now)
	if err != nil {
		return nil, err
	}
	made.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.made = made
	return made, nil
}

func (t *talking) closeIdle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made != nil {
		utilnet.CloseIdleConnectionsFor(t.made.Transport)
	}
}

// Talk sends a request about a Pod and returns the answer, whatever its code. Redirects are not
// followed. The answer lasts as long as ctx; of an upgrade (101) its body is an io.ReadWriteCloser,
// which has to be closed when ctx ends.
func (c *Client) Talk(ctx context.Context, t Talk) (*http.Response, error) {
	resource := t.Resource
	if resource.Plural == "" {
		resource = Resource{Version: "v1", Plural: "pods"}
	}
	path := resource.Path(t.Namespace, t.Pod)
	if t.Subresource != "" {
		path += "/" + url.PathEscape(t.Subresource)
	}
	header := http.Header{}
	for name, values := range t.Upgrade {
		header[name] = values
	}
	if t.ContentType != "" {
		header.Set("Content-Type", t.ContentType)
	}
	if t.Upgrade == nil {
		header.Set("Accept", "application/json, */*")
	}
	return c.stream(ctx, t.Method, path, t.Query, header, t.Body)
}

// stream sends a request on a connection of its own. The answer lasts as long as ctx.
func (c *Client) stream(
	ctx context.Context,
	method, path string,
	query url.Values,
	header http.Header,
	body []byte,
) (*http.Response, error) {
	client, err := c.talk.client()
	if err != nil {
		return nil, err
	}
	u := c.base.String() + path // the path is escaped already
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header = header
	if c.user != "" {
		req.Header.Set("Impersonate-User", c.user)
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		c.reach.sent(began, 0, err)
		return nil, fmt.Errorf("reach the target: %w", err)
	}
	c.reach.sent(began, resp.StatusCode, nil)
	return resp, nil
}
