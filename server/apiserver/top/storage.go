package top

import (
	"context"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/metrics/pkg/apis/metrics"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/usage"
)

// Pods reads the Pods of the request's space. The storage of the resource pods is one.
type Pods interface {
	rest.Getter
	rest.Lister
}

// storage is the resource pods of metrics.k8s.io.
type storage struct {
	rest.TableConvertor
	pods  Pods
	sites exchange.Sites
}

var (
	_ rest.Storage              = (*storage)(nil)
	_ rest.Getter               = (*storage)(nil)
	_ rest.Lister               = (*storage)(nil)
	_ rest.Scoper               = (*storage)(nil)
	_ rest.KindProvider         = (*storage)(nil)
	_ rest.SingularNameProvider = (*storage)(nil)
)

// New implements rest.Storage.
func (*storage) New() runtime.Object { return &metrics.PodMetrics{} }

// NewList implements rest.Lister.
func (*storage) NewList() runtime.Object { return &metrics.PodMetricsList{} }

// Destroy implements rest.Storage.
func (*storage) Destroy() {}

// Kind implements rest.KindProvider.
func (*storage) Kind() string { return "PodMetrics" }

// NamespaceScoped implements rest.Scoper.
func (*storage) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (*storage) GetSingularName() string { return "pod" }

// key names a Pod of a space.
type key struct{ namespace, name string }

// List implements rest.Lister.
func (s *storage) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	if request.FromCenter(ctx) { // which asks for all spaces at once
		return nil, apierrors.NewNotFound(metrics.Resource("pods"), "")
	}
	selected := &internalversion.ListOptions{ResourceVersion: "0"} // from the cache, as it is now
	if o != nil {
		selected.LabelSelector, selected.FieldSelector = o.LabelSelector, o.FieldSelector
	}
	found, err := s.pods.List(ctx, selected)
	if err != nil {
		return nil, err
	}
	var asked []usage.Pod
	labels := map[key]map[string]string{}
	for i := range found.(*api.PodList).Items {
		pod := &found.(*api.PodList).Items[i]
		place, err := exchange.PlaceOf(pod.Name, string(pod.UID), pod.Annotations)
		if err != nil || hasEnded(pod) {
			continue
		}
		asked = append(asked, usage.Pod{Namespace: pod.Namespace, Name: pod.Name, Place: place})
		labels[key{pod.Namespace, pod.Name}] = pod.Labels
	}
	r := from(ctx)
	r.Namespace = apirequest.NamespaceValue(ctx)
	result := usage.List(ctx, s.sites, r, asked)
	note(ctx, result.Sites)
	if f := result.Fault(); f != nil {
		return nil, refuse(ctx, f)
	}
	out := &metrics.PodMetricsList{Items: []metrics.PodMetrics{}}
	for _, m := range result.Pods {
		converted, err := convert(m, labels[key{m.Metadata.Namespace, m.Metadata.Name}])
		if err != nil {
			warning.AddWarning(ctx, "", err.Error())
			continue
		}
		out.Items = append(out.Items, *converted)
	}
	for _, text := range result.Lacks() {
		warning.AddWarning(ctx, "", text)
	}
	return out, nil
}

// Get implements rest.Getter.
func (s *storage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if request.FromCenter(ctx) {
		return nil, apierrors.NewNotFound(metrics.Resource("pods"), name)
	}
	obj, err := s.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := obj.(*api.Pod)
	if hasEnded(pod) {
		f := &exchange.Fault{Code: http.StatusNotFound, Reason: "NotFound",
			Message: "pod " + name + " has ended, and uses nothing"}
		return nil, refuse(ctx, f)
	}
	place, err := exchange.PlaceOf(pod.Name, string(pod.UID), pod.Annotations)
	if err != nil {
		return nil, refuse(ctx, err)
	}
	note(ctx, []string{place.Target})
	asked := usage.Pod{Namespace: pod.Namespace, Name: pod.Name, Place: place}
	found, warnings, err := usage.Get(ctx, s.sites, from(ctx), asked)
	if err != nil {
		return nil, refuse(ctx, err)
	}
	out, err := convert(found, pod.Labels)
	if err != nil {
		return nil, refuse(ctx, err)
	}
	for _, text := range warnings {
		warning.AddWarning(ctx, "", text)
	}
	return out, nil
}

func hasEnded(pod *api.Pod) bool {
	return pod.Status.Phase == api.PodSucceeded || pod.Status.Phase == api.PodFailed
}

// from says who asks, and for which space.
func from(ctx context.Context) *exchange.Request {
	r := &exchange.Request{Space: request.Space(ctx)}
	if u, ok := apirequest.UserFrom(ctx); ok {
		r.Identify(u.GetName(), u.GetGroups())
	}
	return r
}

// maxNote is how long the sites are in a line of the audit log, in bytes.
const maxNote = 1024

// note has the audit log say which sites were asked.
func note(ctx context.Context, sites []string) {
	text := strings.Join(sites, ",")
	if len(text) > maxNote {
		text = text[:maxNote] + "..."
	}
	audit.AddAuditAnnotation(ctx, auditlog.Path, text)
}

// refuse turns an error into one that the API server answers with, and lets the answer say when to
// ask again.
func refuse(ctx context.Context, err error) error {
	f := exchange.FaultOf(err)
	if f.After > 0 {
		response.Later(ctx, f.RetryAfter())
	}
	return &apierrors.StatusError{
		ErrStatus: *response.Status(int32(f.Code), metav1.StatusReason(f.Reason), f.Message),
	}
}

// now is the creation of metrics, which are made when they are asked for.
func now() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }
