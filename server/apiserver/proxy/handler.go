package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/server/apiserver/webhook"
)

const (
	// maxHeaders bounds the headers of an answer, in bytes.
	maxHeaders = 64 << 10
	// maxTried is how many Pods one request tries to connect to.
	maxTried = 3
	// core is where a path begins to name an object of a namespace.
	core = "/api/v1/namespaces/"
	// sandbox has a browser give a page no origin: all spaces share the one of the center.
	sandbox = "sandbox allow-forms allow-scripts"
)

// methods are those that go through.
var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodHead, http.MethodOptions,
}

// withheld are headers that say who asks. A Pod is of the space, and who asks may be its admin.
var withheld = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// ofOrigin are headers of an answer that a browser takes for all of its origin.
var ofOrigin = []string{
	"Alt-Svc", "Clear-Site-Data", "Nel", "Report-To", "Reporting-Endpoints", "Service-Worker-Allowed", "Set-Cookie",
	"Strict-Transport-Security",
}

// forward answers requests with what Pods answer.
type forward struct {
	sites webhook.Sites
	of    webhook.Service
	// pods are tried in this order.
	pods   []webhook.Backend
	caller webhook.Caller
	// scheme is http or https, path what is asked of the Pod.
	scheme, path string
}

// ServeHTTP implements http.Handler.
func (f *forward) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	before := prefix(r)
	if f.path == "" && !strings.HasSuffix(r.URL.Path, "/") &&
		(r.Method == http.MethodGet || r.Method == http.MethodHead) {
		to := before + "/" // as on a cluster: links of a page are relative
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	transport := &http.Transport{
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		// Nobody can give a CA for this, as on a cluster. The way leads to that very Pod.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return f.dial(ctx) },
	}
	defer transport.CloseIdleConnections()
	(&httputil.ReverseProxy{
		Transport:      transport,
		FlushInterval:  -1,
		Rewrite:        func(p *httputil.ProxyRequest) { f.rewrite(p, before) },
		ModifyResponse: func(resp *http.Response) error { cleaned(resp, before); return nil },
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, err error) { response.Write(w, fault(f.of, err)) },
	}).ServeHTTP(w, r)
}

// prefix is the path of the proxy as the client knows it, up to what is asked of the Pod.
func prefix(r *http.Request) string {
	asked, _, _ := strings.Cut(r.RequestURI, "?")
	before, below, _ := strings.Cut(asked, core)
	parts := strings.SplitN(below, "/", 5) // namespace, resource, name, proxy, what is asked
	return before + core + strings.Join(parts[:min(len(parts), 4)], "/")
}

func (f *forward) rewrite(p *httputil.ProxyRequest, before string) {
	path := "/" + strings.TrimPrefix(f.path, "/")
	if strings.HasSuffix(p.In.URL.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	p.Out.URL = &url.URL{Scheme: f.scheme, Host: f.host(), Path: path, RawQuery: p.In.URL.RawQuery}
	p.Out.Host = ""
	for name := range p.Out.Header {
		if strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") {
			p.Out.Header.Del(name)
		}
	}
	for _, name := range withheld {
		p.Out.Header.Del(name)
	}
	p.Out.Header.Set("X-Forwarded-Uri", before+path)
	p.Out.Header.Set("X-Forwarded-Host", p.In.Host)
	p.Out.Header.Set("X-Forwarded-Proto", "https")
}

// host is the name that a Pod is asked by. It is never resolved.
func (f *forward) host() string { return f.of.Name + "." + f.of.Namespace + ".svc" }

// cleaned takes from an answer what would act beyond the Pod's own paths.
func cleaned(resp *http.Response, before string) {
	for _, name := range ofOrigin {
		resp.Header.Del(name)
	}
	resp.Header.Set("Content-Security-Policy", sandbox)
	resp.Header.Set("X-Content-Type-Options", "nosniff")
	if to, err := url.Parse(resp.Header.Get("Location")); err == nil && to.Host == "" &&
		strings.HasPrefix(to.Path, "/") {
		resp.Header.Set("Location", before+to.String())
	}
}

// dial connects to the first of the Pods that can be reached.
func (f *forward) dial(ctx context.Context) (net.Conn, error) {
	var failed []error
	for _, b := range f.pods[:min(len(f.pods), maxTried)] {
		conn, err := webhook.Dial(ctx, f.sites, f.of, b, f.caller)
		if err == nil {
			audit.AddAuditAnnotations(ctx, auditlog.Site, b.Place.Target, auditlog.Pod, b.Place.Pod)
			return conn, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// fault is the answer when no Pod can be asked.
func fault(of webhook.Service, err error) *metav1.Status {
	var nothing *webhook.NoBackend
	var unreached *webhook.Unreached
	switch {
	case errors.As(err, &nothing):
		s := apierrors.NewServiceUnavailable(nothing.Error()).Status()
		return &s
	case errors.As(err, &unreached):
		s := apierrors.NewServiceUnavailable("error trying to reach " + of.String() + ": " + err.Error()).Status()
		return &s
	}
	return response.Status(http.StatusBadGateway, "BadGateway",
		"error trying to reach "+of.String()+": "+err.Error())
}
