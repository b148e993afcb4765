package backends

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/apiserver/webhook"
	"skerry.dev/skerry/tunnel/exchange"
)

// Finder finds Pods behind Services. It implements webhook.Services.
type Finder struct {
	// Services and Pods read in the space of the context.
	Services rest.Getter
	Pods     rest.Lister
	// Unreachable returns since when the first of some targets has not been heard of, the zero time
	// when all are. Nil knows of none.
	Unreachable func(targets []string) time.Time
}

var _ webhook.Services = (*Finder)(nil)

// Behind implements webhook.Services.
func (f *Finder) Behind(ctx context.Context, of webhook.Service) ([]webhook.Backend, error) {
	// The request that a webhook is called for may be of another space, which has borrowed a
	// definition: nothing of it is taken over but its end.
	own, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	own = apirequest.WithNamespace(request.WithSpace(own, of.Space), of.Namespace)
	obj, err := storage.GetCached(own, f.Services, of.Namespace, of.Name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, none(of, "there is no such Service in namespace %s", of.Namespace)
		}
		return nil, none(of, "read it: %v", err)
	}
	service := obj.(*api.Service)
	port, err := portOf(service, of)
	if err != nil {
		return nil, err
	}
	targets := strings.FieldsFunc(service.Annotations[exchange.Targets], func(c rune) bool { return c == ',' })
	if len(targets) == 0 {
		away := none(of, "it is placed on no target: give it, or its namespace, the label skerry.dev/target")
		away.Away = true
		return nil, away
	}
	list, err := f.Pods.List(own, &internalversion.ListOptions{
		ResourceVersion: "0", LabelSelector: labels.SelectorFromSet(service.Spec.Selector),
	})
	if err != nil {
		return nil, none(of, "list the pods behind it: %v", err)
	}
	s := sorted{targets: targets, port: port, why: map[string]string{}}
	for i := range list.(*api.PodList).Items {
		s.add(&list.(*api.PodList).Items[i])
	}
	if len(s.found) == 0 {
		return nil, f.nothing(of, s)
	}
	return s.found, nil
}

// portOf returns the port of the Pods that a port of a Service leads to.
func portOf(s *api.Service, of webhook.Service) (intstr.IntOrString, error) {
	switch {
	case s.Spec.Type == api.ServiceTypeExternalName:
		return intstr.IntOrString{}, none(of, "its type is ExternalName, and only pods of the space are called")
	case len(s.Spec.Selector) == 0:
		return intstr.IntOrString{}, none(
			of, "it has no selector, and endpoints that are written by hand are not called",
		)
	}
	for _, p := range s.Spec.Ports {
		if p.Port != of.Port || p.Protocol != api.ProtocolTCP && p.Protocol != "" {
			continue
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			return intstr.FromInt32(p.Port), nil
		}
		return p.TargetPort, nil
	}
	return intstr.IntOrString{}, none(of, "it has no TCP port %d", of.Port)
}

// sorted are the Pods behind a Service, and why there are none at a target.
type sorted struct {
	targets []string
	port    intstr.IntOrString
	found   []webhook.Backend
	why     map[string]string
}

// add takes in a Pod that the selector selects.
func (s *sorted) add(pod *api.Pod) {
	place, err := exchange.PlaceOf(pod.Name, string(pod.UID), pod.Annotations)
	if err != nil || !slices.Contains(s.targets, place.Target) {
		return
	}
	port, ok := number(pod, s.port)
	switch {
	case pod.Spec.HostNetwork:
		s.why[place.Target] = "pod " + pod.Name + " is in the network of its node (hostNetwork), " +
			"whose ports are not the space's"
	case !ready(pod):
		s.why[place.Target] = "pod " + pod.Name + " is not ready"
	case !ok:
		s.why[place.Target] = "pod " + pod.Name + " has no TCP port named " + s.port.StrVal
	default:
		s.found = append(s.found, webhook.Backend{Place: place, Pod: pod.Name, Port: port})
	}
}

func ready(pod *api.Pod) bool {
	return pod.DeletionTimestamp == nil &&
		slices.ContainsFunc(pod.Status.Conditions, func(c api.PodCondition) bool {
			return c.Type == api.PodReady && c.Status == api.ConditionTrue
		})
}

// number returns the number of a port, which may be given by the name that a container has for it.
func number(pod *api.Pod, port intstr.IntOrString) (int32, bool) {
	if port.Type == intstr.Int {
		return port.IntVal, true
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == api.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.Name == port.StrVal && (p.Protocol == api.ProtocolTCP || p.Protocol == "") {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

// nothing says of each target why there is no Pod to call.
func (f *Finder) nothing(of webhook.Service, s sorted) *webhook.NoBackend {
	var parts []string
	away := true
	for _, t := range s.targets {
		why := s.why[t]
		if why == "" {
			why = "no pod has its selector"
		}
		var since time.Time
		if f.Unreachable != nil {
			since = f.Unreachable([]string{t})
		}
		if !since.IsZero() {
			why += ", and the site has not been heard of since " + since.UTC().Format(time.RFC3339)
		}
		away = away && !since.IsZero()
		parts = append(parts, "site "+t+": "+why)
	}
	err := none(of, "%s", strings.Join(parts, "; "))
	err.Away = away
	return err
}

func none(of webhook.Service, format string, args ...any) *webhook.NoBackend {
	return &webhook.NoBackend{Name: of.Name, Why: fmt.Sprintf(format, args...)}
}
