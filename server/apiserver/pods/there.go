package pods

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// herePods are the Pods of spaces. For a request in a view of a site they are those of the site, as
// its cluster has them now: the space does not mirror the Pods of what is at many sites.
type herePods struct {
	podreg.ResourceGetter
	sites    Sites
	departed func(pod store.Key) string
}

// Get implements podreg.ResourceGetter.
func (p herePods) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	way := request.WayOf(ctx)
	if info, ok := apirequest.RequestInfoFrom(ctx); way == nil || !ok || info.Name != name {
		obj, err := p.ResourceGetter.Get(ctx, name, o)
		if apierrors.IsNotFound(err) && p.departed != nil && !request.FromCenter(ctx) {
			err = p.where(ctx, name, err)
		}
		return obj, err
	}
	way.Once.Do(func() { way.Object, way.Err = p.there(ctx, way.Targets, name) })
	if way.Err != nil {
		return nil, way.Err
	}
	return way.Object.(*api.Pod), nil
}

// Get implements rest.Getter.
func (p *podWrites) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	return p.objects.Get(ctx, name, o)
}

// where adds to the error about a Pod that is not in the space where it has gone.
func (p herePods) where(ctx context.Context, name string, err error) error {
	said := p.departed(store.Key{
		Space: request.Space(ctx), Resource: "pods", Namespace: apirequest.NamespaceValue(ctx), Name: name,
	})
	var status *apierrors.StatusError
	if said == "" || !errors.As(err, &status) {
		return err
	}
	told := *status
	told.ErrStatus.Message += ": " + said
	return &told
}

// there asks a site for a Pod, and notes at it where it is, as the Pods of the space have it.
func (p herePods) there(ctx context.Context, targets []string, name string) (*api.Pod, error) {
	r := &exchange.Request{
		Space: request.Space(ctx), Namespace: apirequest.NamespaceValue(ctx), Verb: exchange.View, Path: targets[1:],
		Query: url.Values{
			exchange.OptionVersion: {"v1"}, exchange.OptionResource: {"pods"}, exchange.OptionName: {name},
		},
	}
	if u, ok := apirequest.UserFrom(ctx); ok {
		r.Identify(u.GetName(), u.GetGroups())
	}
	if end, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Millisecond, time.Until(end))
	}
	if err := exchange.CheckTarget(targets[0]); err != nil {
		return nil, statusError(err)
	}
	resp, err := siteObjects{sites: p.sites}.do(ctx, targets[0], r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, statusError(err)
	}
	obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), text)
	pod, is := obj.(*api.Pod)
	if err != nil || !is || pod.Name != name || pod.UID == "" {
		return nil, statusError(&exchange.Fault{Code: http.StatusBadGateway, Reason: "InternalError",
			Message: "site " + targets[0] + " does not answer with pod " + name})
	}
	pod.Namespace = r.Namespace
	pod.Annotations = map[string]string{
		exchange.ReportedFrom: targets[0], exchange.ReportedUID: string(pod.UID),
	}
	return pod, nil
}
