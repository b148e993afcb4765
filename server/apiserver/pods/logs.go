package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"
	podrest "k8s.io/kubernetes/pkg/registry/core/pod/rest"
	"k8s.io/utils/ptr"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/tunnel/exchange"
)

type podLogs struct {
	*podrest.LogREST
	at siteObjects
}

// Get implements rest.GetterWithOptions.
func (p *podLogs) Get(
	ctx context.Context,
	name string,
	options runtime.Object,
) (runtime.Object, error) {
	o := options.(*api.PodLogOptions)
	if err := p.check(ctx, name, o); err != nil && !errors.Is(err, errAtSite) {
		return nil, unlessGone(err)
	}
	if o.InsecureSkipTLSVerifyBackend {
		return nil, apierrors.NewBadRequest(
			"insecureSkipTLSVerifyBackend is the site's to say: its own cluster checks who its kubelets are",
		)
	}
	target, r, err := p.at.request(ctx, name, exchange.Log, logQuery(o))
	if err != nil {
		return nil, retryLater(ctx, err)
	}
	return &siteLog{at: p.at, target: target, request: r}, nil
}

// check is upstream's check of options, Pod and container. Upstream takes a Pod whose node is not known
// here for one that has no log yet.
func (p *podLogs) check(ctx context.Context, name string, o *api.PodLogOptions) error {
	if o.Stream == nil {
		o.Stream = ptr.To(api.LogStreamAll)
	}
	if errs := validation.ValidatePodLogOptions(o, true); len(errs) > 0 {
		return apierrors.NewInvalid(api.Kind("PodLogOptions"), name, errs)
	}
	_, _, err := podreg.LogLocation(ctx, p.at.objects, NoKubelets{}, name, o)
	return err
}

func logQuery(o *api.PodLogOptions) url.Values {
	query := url.Values{}
	if o.Container != "" {
		query.Set("container", o.Container)
	}
	for name, on := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if on {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines,
		"limitBytes": o.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		query.Set("sinceTime", o.SinceTime.UTC().Format(time.RFC3339))
	}
	if o.Stream != nil && *o.Stream != api.LogStreamAll {
		query.Set("stream", *o.Stream)
	}
	return query
}

// siteLog is the log of a Pod that runs at a site.
type siteLog struct {
	at      siteObjects
	target  string
	request *exchange.Request
}

var _ rest.ResourceStreamer = (*siteLog)(nil)

// GetObjectKind implements runtime.Object.
func (*siteLog) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. Nobody copies a stream.
func (l *siteLog) DeepCopyObject() runtime.Object { return l }

// InputStream implements rest.ResourceStreamer.
func (l *siteLog) InputStream(
	ctx context.Context,
	_, _ string,
) (stream io.ReadCloser, flush bool, contentType string, err error) {
	resp, err := l.at.do(ctx, l.target, l.request)
	if err != nil {
		return nil, false, "", err
	}
	site := resp.Header.Get(exchange.HeaderSite)
	return &wholeLog{ReadCloser: resp.Body, ctx: ctx, site: site}, true, "text/plain", nil
}

// wholeLog says at its end when the log has broken off, and breaks off the client's answer, too:
// upstream ends that as if the log were whole.
type wholeLog struct {
	io.ReadCloser
	ctx    context.Context // the request's
	site   string
	broken bool
	last   []byte // what is still to be said
}

// Read implements io.Reader.
func (l *wholeLog) Read(p []byte) (int, error) {
	if !l.broken {
		n, err := l.ReadCloser.Read(p)
		if err == nil || err == io.EOF || l.ctx.Err() != nil {
			return n, err
		}
		l.broken = true
		l.last = fmt.Appendf(
			nil,
			"\n[the log breaks off here: site %s, or the way to it, has failed: %v]\n",
			l.site,
			err,
		)
		if n > 0 {
			return n, nil
		}
	}
	if len(l.last) == 0 {
		response.BreakOff(l.ctx)
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, l.last)
	l.last = l.last[n:]
	return n, nil
}

// maxAnswer bounds what is read of an answer that is an object or a Status.
const maxAnswer = 3 << 20

// do sends a request and returns an answer that is a success, or the error that the site answered.
func (s siteObjects) do(
	ctx context.Context,
	target string,
	r *exchange.Request,
) (*http.Response, error) {
	resp, err := s.sites.Do(ctx, target, r)
	if err != nil {
		return nil, retryLater(ctx, err)
	}
	audit.AddAuditAnnotation(ctx, auditlog.Path, resp.Header.Get(exchange.HeaderSite))
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	if later := resp.Header.Get("Retry-After"); later != "" {
		response.Later(ctx, later)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, statusError(err)
	}
	var said metav1.Status
	if json.Unmarshal(text, &said) != nil || said.Kind != "Status" {
		said = *response.Status(int32(resp.StatusCode), metav1.StatusReasonUnknown, string(text[:min(len(text), 300)]))
	}
	said.Code, said.Status = int32(resp.StatusCode), metav1.StatusFailure
	if said.Details != nil {
		said.Details.RetryAfterSeconds = 0 // the header says it
	}
	return nil, &apierrors.StatusError{ErrStatus: said}
}

// retryLater turns an error into one that the API server answers with, and lets the answer say when
// to ask again.
func retryLater(ctx context.Context, err error) error {
	var f *exchange.Fault
	if !errors.As(err, &f) {
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return err
		}
		return statusError(err)
	}
	if f.After > 0 {
		response.Later(ctx, f.RetryAfter())
	}
	return statusError(f)
}
