package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/webhook"
	"skerry.dev/skerry/tunnel/exchange"
)

// Services serves services/proxy.
type Services struct {
	// Objects reads Services in the space of the context, Backends finds the Pods behind them.
	Objects  rest.Getter
	Backends webhook.Services
	Sites    webhook.Sites
}

// Pods serves pods/proxy.
type Pods struct {
	// Objects reads Pods in the space of the context.
	Objects rest.Getter
	Sites   webhook.Sites
}

var (
	_ rest.Connecter = (*Services)(nil)
	_ rest.Connecter = (*Pods)(nil)
)

// New implements rest.Storage.
func (*Services) New() runtime.Object { return &api.ServiceProxyOptions{} }

// Destroy implements rest.Storage.
func (*Services) Destroy() {}

// NewConnectOptions implements rest.Connecter.
func (*Services) NewConnectOptions() (runtime.Object, bool, string) {
	return &api.ServiceProxyOptions{}, true, "path"
}

// ConnectMethods implements rest.Connecter.
func (*Services) ConnectMethods() []string { return methods }

// Connect implements rest.Connecter. The id is [SCHEME:]NAME[:PORT].
func (s *Services) Connect(
	ctx context.Context,
	id string,
	options runtime.Object,
	_ rest.Responder,
) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	obj, err := s.Objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	service := obj.(*api.Service)
	number, ok := portOf(service, port)
	if !ok {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %q found for service %q", port, name))
	}
	f := forwarding(ctx, s.Sites, service.Namespace, name, scheme)
	f.of.Port, f.path = number, options.(*api.ServiceProxyOptions).Path
	if f.pods, err = s.Backends.Behind(ctx, f.of); err != nil {
		return nil, &apierrors.StatusError{ErrStatus: *fault(f.of, err)}
	}
	rand.Shuffle(len(f.pods), func(i, j int) { f.pods[i], f.pods[j] = f.pods[j], f.pods[i] })
	return f, nil
}

// portOf returns the port of a Service that is asked for by name or number, or its only one.
func portOf(s *api.Service, asked string) (int32, bool) {
	if asked == "" && len(s.Spec.Ports) == 1 {
		return s.Spec.Ports[0].Port, true
	}
	number, err := strconv.ParseInt(asked, 10, 32)
	for _, p := range s.Spec.Ports {
		if p.Name == asked || err == nil && int64(p.Port) == number {
			return p.Port, true
		}
	}
	return 0, false
}

// New implements rest.Storage.
func (*Pods) New() runtime.Object { return &api.PodProxyOptions{} }

// Destroy implements rest.Storage.
func (*Pods) Destroy() {}

// NewConnectOptions implements rest.Connecter.
func (*Pods) NewConnectOptions() (runtime.Object, bool, string) {
	return &api.PodProxyOptions{}, true, "path"
}

// ConnectMethods implements rest.Connecter.
func (*Pods) ConnectMethods() []string { return methods }

// Connect implements rest.Connecter. The id is [SCHEME:]NAME[:PORT].
func (p *Pods) Connect(
	ctx context.Context,
	id string,
	options runtime.Object,
	_ rest.Responder,
) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
	}
	obj, err := p.Objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := obj.(*api.Pod)
	number, err := podPort(pod, scheme, port)
	if err != nil {
		return nil, err
	}
	place, err := exchange.PlaceOf(pod.Name, string(pod.UID), pod.Annotations)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	f := forwarding(ctx, p.Sites, pod.Namespace, name, scheme)
	f.path = options.(*api.PodProxyOptions).Path
	f.pods = []webhook.Backend{{Place: place, Pod: pod.Name, Port: number}}
	return f, nil
}

// podPort returns the port that is asked for, else the first that the Pod names, else the scheme's.
func podPort(pod *api.Pod, scheme, asked string) (int32, error) {
	if asked != "" {
		number, err := strconv.ParseUint(asked, 10, 16)
		if err != nil || number == 0 {
			return 0, apierrors.NewBadRequest(fmt.Sprintf("port %q of pod %s is no number from 1 to 65535",
				asked, pod.Name))
		}
		return int32(number), nil
	}
	for _, c := range pod.Spec.Containers {
		if len(c.Ports) > 0 {
			return c.Ports[0].ContainerPort, nil
		}
	}
	if scheme == "https" {
		return 443, nil
	}
	return 80, nil
}

func forwarding(ctx context.Context, sites webhook.Sites, namespace, name, scheme string) *forward {
	f := &forward{sites: sites, scheme: "http"}
	f.of = webhook.Service{Space: request.Space(ctx), Namespace: namespace, Name: name}
	if scheme == "https" {
		f.scheme = scheme
	}
	if u, ok := apirequest.UserFrom(ctx); ok {
		f.caller = webhook.Caller{Name: u.GetName(), Groups: u.GetGroups()}
	}
	return f
}
