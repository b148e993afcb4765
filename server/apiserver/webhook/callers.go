package webhook

import (
	"net/http"
	"net/url"
	"time"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver/outbound"
)

// callTimeout bounds a call that gives no time of its own.
const callTimeout = 30 * time.Second

// Callers has webhooks called as nobody, and only at addresses that the center connects to for a
// space. What it wraps is left out: at the name that a cluster gives to its own API that would show
// the credentials of the pod which the center runs in.
func Callers(rules *outbound.Rules) webhook.AuthenticationInfoResolverWrapper {
	return func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return callers{rules} }
}

type callers struct{ rules *outbound.Rules }

// ClientConfigFor implements webhook.AuthenticationInfoResolver.
func (c callers) ClientConfigFor(string) (*rest.Config, error) {
	return &rest.Config{
		UserAgent:     "skerry-webhooks",
		Timeout:       callTimeout,
		Dial:          c.rules.DialContext,
		WrapTransport: c.rules.Wrap,
		Proxy:         func(*http.Request) (*url.URL, error) { return nil, nil },
	}, nil
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver.
func (c callers) ClientConfigForService(string, string, int) (*rest.Config, error) {
	return c.ClientConfigFor("")
}
