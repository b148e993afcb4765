package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/webhook"
	"skerry.dev/skerry/tunnel/exchange"
)

// stored are the Services and Pods of spaces, as SPACE/NAMESPACE.
type stored struct {
	rest.Lister
	services map[string]*api.Service
	pods     map[string][]api.Pod
}

func where(ctx context.Context) string {
	ns, _ := apirequest.NamespaceFrom(ctx)
	return request.Space(ctx) + "/" + ns
}

func (s *stored) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if found := s.services[where(ctx)]; found != nil && found.Name == name {
		return found, nil
	}
	return nil, apierrors.NewNotFound(api.Resource("services"), name)
}

func (s *stored) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	out := &api.PodList{}
	for _, p := range s.pods[where(ctx)] {
		if o.LabelSelector.Matches(labels.Set(p.Labels)) {
			out.Items = append(out.Items, p)
		}
	}
	return out, nil
}

func service(change func(*api.Service)) *api.Service {
	s := &api.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "hook", Annotations: map[string]string{exchange.Targets: "oslo,paris"},
		},
		Spec: api.ServiceSpec{
			Type: api.ServiceTypeClusterIP, Selector: map[string]string{"app": "hook"},
			Ports: []api.ServicePort{
				{Port: 53, Protocol: api.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
				{Port: 443, Protocol: api.ProtocolTCP, TargetPort: intstr.FromString("https")},
				{Port: 80, Protocol: api.ProtocolTCP},
			},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

func pod(name, target string, change func(*api.Pod)) api.Pod {
	p := api.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: "o-1", Labels: map[string]string{"app": "hook"},
			Annotations: map[string]string{exchange.ReportedFrom: target, exchange.ReportedUID: "u-" + name},
		},
		Spec: api.PodSpec{Containers: []api.Container{{Ports: []api.ContainerPort{
			{Name: "dns", ContainerPort: 53, Protocol: api.ProtocolUDP},
			{Name: "https", ContainerPort: 8443, Protocol: api.ProtocolTCP},
		}}}},
		Status: api.PodStatus{Conditions: []api.PodCondition{{Type: api.PodReady, Status: api.ConditionTrue}}},
	}
	if change != nil {
		change(&p)
	}
	return p
}

// TestBehind: which Pods are behind a Service, and why there are none.
func TestBehind(t *testing.T) {
	notReady := func(p *api.Pod) { p.Status.Conditions[0].Status = api.ConditionFalse }
	host := func(p *api.Pod) { p.Spec.HostNetwork = true }
	for name, c := range map[string]struct {
		service *api.Service
		port    int32
		pods    []api.Pod
		want    string // POD@TARGET:PORT
		why     string
		away    bool
	}{
		"at two sites": {service(nil), 443, []api.Pod{pod("a", "oslo", nil), pod("b", "paris", nil)},
			"a@oslo:8443 b@paris:8443", "", false},
		"by number": {service(nil), 80, []api.Pod{pod("a", "oslo", nil)}, "a@oslo:80", "", false},
		"placed itself": {service(nil), 443, []api.Pod{pod("a", "", func(p *api.Pod) {
			p.Annotations = map[string]string{exchange.Targets: "paris"}
		})}, "a@paris:8443", "", false},
		"no such Service": {nil, 443, nil, "", "no such Service in namespace web", false},
		"ExternalName": {service(func(s *api.Service) { s.Spec.Type = api.ServiceTypeExternalName }), 443,
			nil, "", "ExternalName", false},
		"no selector": {service(func(s *api.Service) { s.Spec.Selector = nil }), 443,
			[]api.Pod{pod("a", "oslo", nil)}, "", "no selector", false},
		"no such port":  {service(nil), 8443, nil, "", "no TCP port 8443", false},
		"a port of UDP": {service(nil), 53, nil, "", "no TCP port 53", false},
		"placed nowhere": {service(func(s *api.Service) { s.Annotations = nil }), 443,
			[]api.Pod{pod("a", "oslo", nil)}, "", "placed on no target", true},
		"no pods": {service(nil), 443, nil, "",
			"site oslo: no pod has its selector; site paris: no pod has its selector, and the site has not been heard of",
			false},
		"of another label": {service(nil), 443, []api.Pod{pod("a", "oslo", func(p *api.Pod) {
			p.Labels = nil
		})}, "", "no pod has its selector", false},
		"not ready": {service(nil), 443, []api.Pod{pod("a", "oslo", notReady)}, "", "pod a is not ready", false},
		"going": {service(nil), 443, []api.Pod{pod("a", "oslo", func(p *api.Pod) {
			p.DeletionTimestamp = &metav1.Time{}
		})}, "", "not ready", false},
		"in the node's network": {service(nil), 443, []api.Pod{pod("a", "oslo", host)}, "", "hostNetwork", false},
		"without the port": {service(nil), 443, []api.Pod{pod("a", "oslo", func(p *api.Pod) {
			p.Spec.Containers[0].Ports = nil
		})}, "", "no TCP port named https", false},
		"where the Service is not": {service(nil), 443, []api.Pod{pod("a", "rome", nil)}, "",
			"no pod has its selector", false},
		"not known yet": {service(nil), 443, []api.Pod{pod("a", "oslo", func(p *api.Pod) {
			delete(p.Annotations, exchange.ReportedUID)
		})}, "", "no pod has its selector", false},
		"only at a site that is away": {
			service(func(s *api.Service) { s.Annotations[exchange.Targets] = "paris" }), 443,
			[]api.Pod{pod("a", "paris", notReady)}, "", "has not been heard of since 2026", true},
		"of a sidecar": {service(nil), 443, []api.Pod{pod("a", "oslo", func(p *api.Pod) {
			always := api.ContainerRestartPolicyAlways
			p.Spec.InitContainers = []api.Container{{RestartPolicy: &always, Ports: p.Spec.Containers[0].Ports}}
			p.Spec.Containers = nil
		})}, "a@oslo:8443", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stored{
				services: map[string]*api.Service{"team/web": c.service, "other/web": service(nil)},
				pods: map[string][]api.Pod{
					"team/web": c.pods, "other/web": {pod("other", "oslo", nil)}, "team/api": {pod("api", "oslo", nil)},
				},
			}
			f := &Finder{Services: s, Pods: s, Unreachable: func(targets []string) time.Time {
				if slices.Contains(targets, "paris") {
					return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				}
				return time.Time{}
			}}
			// The request that the webhook is called for may be of another space.
			ctx := apirequest.WithNamespace(request.WithSpace(t.Context(), "other"), "api")
			all, err := f.Behind(ctx, webhook.Service{Space: "team", Namespace: "web", Name: "hook", Port: c.port})
			var got []string
			for _, b := range all {
				got = append(got, fmt.Sprintf("%s@%s:%d", b.Pod, b.Place.Target, b.Port))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v", got)
			}
			var none *webhook.NoBackend
			if c.want == "" && (!errors.As(err, &none) || none.Away != c.away ||
				!strings.Contains(err.Error(), c.why) ||
				!strings.HasPrefix(err.Error(), `no endpoints available for service "hook": `)) {
				t.Errorf("%v", err)
			}
		})
	}
}
