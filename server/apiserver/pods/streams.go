package pods

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// Sites reaches Pods where they run. Its errors are *exchange.Fault.
type Sites interface {
	// Do sends a request to a target and returns the answer, whose body must be closed.
	Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error)
	// Serve has a target answer a client's request to upgrade its connection. It calls begun with
	// the targets that the answer came through, and with its code, before the client has the
	// answer.
	Serve(
		w http.ResponseWriter,
		req *http.Request,
		target string,
		r *exchange.Request,
		begun func(site string, code int),
	)
}

// Add serves the subresources that reach into a Pod: upstream's own storages, up to the
// point at which they would ask a kubelet. Departed says of a Pod that is not in its space where it has
// gone, empty where nobody knows; nil says nothing.
func Add(m map[string]rest.Storage, pods podstore.PodStorage, sites Sites, endings Endings,
	departed func(pod store.Key) string) {
	if sites == nil {
		return
	}
	here := herePods{pods.Pod, sites, departed}
	s := siteObjects{sites: sites, objects: here, kind: api.Resource("pods")}
	running := runningPods{here}
	pods.Exec.Store, pods.Attach.Store, pods.PortForward.Store = running, running, running
	m["pods"] = &podWrites{pods.Pod, siteWrites{pods.Pod, s}}
	m["pods/status"] = &podStatuses{statuses: m["pods/status"].(statuses), at: s}
	m["pods/log"] = &podLogs{LogREST: pods.Log, at: s}
	m["pods/exec"] = &podTalks{pods.Exec, s, exchange.Exec, execQuery}
	m["pods/attach"] = &podTalks{pods.Attach, s, exchange.Attach, attachQuery}
	m["pods/portforward"] = &podTalks{pods.PortForward, s, exchange.PortForward, forwardQuery}
	m["pods/ephemeralcontainers"] = &podDebugs{
		EphemeralContainersREST: pods.EphemeralContainers,
		at:                      s,
	}
	m["pods/eviction"] = &podEvictions{
		EvictionREST: pods.Eviction, at: s, pods: pods.Pod, endings: endings,
	}
}

// siteObjects makes requests for objects of spaces that were born at sites.
type siteObjects struct {
	sites   Sites
	objects podreg.ResourceGetter
	kind    schema.GroupResource
	// resource is what exchange calls them; empty for Pods.
	resource string
}

// request returns where an object of the request's space is, and what is to be asked there. The
// path is made of the object alone, and of the client's request only options that were decoded.
func (s siteObjects) request(
	ctx context.Context,
	name string,
	v exchange.Verb,
	query url.Values,
) (target string, r *exchange.Request, err error) {
	obj, err := s.objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return "", nil, unlessGone(err)
	}
	return s.requestFor(ctx, obj, v, query)
}

// requestFor is request for an object that was read.
func (s siteObjects) requestFor(
	ctx context.Context,
	obj runtime.Object,
	v exchange.Verb,
	query url.Values,
) (target string, r *exchange.Request, err error) {
	o := metadata.Of(obj)
	place, err := exchange.PlaceOf(o.GetName(), string(o.GetUID()), o.GetAnnotations())
	if err != nil {
		return "", nil, statusError(err)
	}
	r = (&exchange.Request{
		Space: request.Space(ctx), Namespace: o.GetNamespace(), Resource: s.resource, Verb: v, Query: query,
	}).At(place)
	if way := request.WayOf(ctx); way != nil {
		r.Path = way.Targets[1:]
	}
	if u, ok := apirequest.UserFrom(ctx); ok {
		r.Identify(u.GetName(), u.GetGroups())
	}
	if end, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Millisecond, time.Until(end))
	}
	audit.AddAuditAnnotations(ctx, auditlog.Site, place.Target, auditlog.Pod, place.Pod)
	if c := query.Get("container"); c != "" {
		audit.AddAuditAnnotation(ctx, auditlog.Container, c)
	} else if pod, ok := obj.(*api.Pod); ok && len(pod.Spec.Containers) == 1 {
		audit.AddAuditAnnotation(ctx, auditlog.Container, pod.Spec.Containers[0].Name)
	}
	return place.Target, r, nil
}

// talk returns what answers a request to upgrade the client's connection.
func (s siteObjects) talk(
	ctx context.Context,
	name string,
	v exchange.Verb,
	query url.Values,
) (http.Handler, error) {
	target, r, err := s.request(ctx, name, v, query)
	if err != nil {
		return nil, retryLater(ctx, err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		upgrade, err := exchange.Upgrade(req.Header)
		if err != nil {
			response.Write(
				w,
				response.Status(
					http.StatusBadRequest,
					metav1.StatusReasonBadRequest,
					"Upgrade request required: "+err.Error(),
				),
			)
			return
		}
		r.Upgrade = upgrade
		count := &counted{ResponseWriter: w}
		defer count.tell(req)
		s.sites.Serve(count, req, target, r, func(site string, _ int) {
			audit.AddAuditAnnotation(req.Context(), auditlog.Path, site)
		})
	}), nil
}

// unlessGone gives the error of a client that has gone a form that the API server does not log as a
// fault of its own: whoever interrupts kubectl makes one.
func unlessGone(err error) error {
	if errors.Is(err, context.Canceled) {
		return statusError(
			&exchange.Fault{
				Code:    http.StatusServiceUnavailable,
				Reason:  "ServiceUnavailable",
				Message: "the client has gone",
			},
		)
	}
	return err
}

// statusError turns a Fault into an error that the API server answers with.
func statusError(err error) error {
	f := exchange.FaultOf(err)
	return &apierrors.StatusError{
		ErrStatus: *response.Status(int32(f.Code), metav1.StatusReason(f.Reason), f.Message),
	}
}

// podTalks serves a subresource whose requests upgrade the client's connection: upstream's storage
// checks them, and the site answers.
type podTalks struct {
	talks
	at    siteObjects
	verb  exchange.Verb
	query func(options runtime.Object) url.Values
}

// talks is one of upstream's storages of exec, attach and port-forward.
type talks interface {
	rest.Storage
	rest.Connecter
}

// Connect implements rest.Connecter.
func (p *podTalks) Connect(
	ctx context.Context,
	name string,
	options runtime.Object,
	responder rest.Responder,
) (http.Handler, error) {
	if _, err := p.talks.Connect(ctx, name, options, responder); !errors.Is(err, errAtSite) {
		return nil, unlessGone(err)
	}
	return p.at.talk(ctx, name, p.verb, p.query(options))
}

func execQuery(options runtime.Object) url.Values {
	o := options.(*api.PodExecOptions)
	query := talkQuery(o.Container, o.Stdin, o.Stdout, o.Stderr, o.TTY)
	query["command"] = o.Command
	return query
}

func attachQuery(options runtime.Object) url.Values {
	o := options.(*api.PodAttachOptions)
	return talkQuery(o.Container, o.Stdin, o.Stdout, o.Stderr, o.TTY)
}

func forwardQuery(options runtime.Object) url.Values {
	query := url.Values{}
	for _, port := range options.(*api.PodPortForwardOptions).Ports {
		query.Add("ports", strconv.Itoa(int(port)))
	}
	return query
}

// talkQuery encodes the options that exec and attach have in common.
func talkQuery(container string, stdin, stdout, stderr, tty bool) url.Values {
	query := url.Values{}
	if container != "" {
		query.Set("container", container)
	}
	for name, on := range map[string]bool{"stdin": stdin, "stdout": stdout, "stderr": stderr, "tty": tty} {
		if on {
			query.Set(name, "true")
		}
	}
	return query
}
