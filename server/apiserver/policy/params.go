package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// paramKind is the resource of the parameters of a policy, as discovery of the space says.
type paramKind struct {
	resource schema.GroupVersionResource
	scope    meta.RESTScope
	err      error
	until    time.Time
}

// How long an answer of discovery is kept: the resource of a kind, and that there is none.
const (
	kindTime    = 30 * time.Second
	missingTime = time.Second
)

// withParams returns hooks that read their parameters within one request. Upstream keeps an informer
// for each kind; here they are read from the space's API, which has them in its cache.
func withParams[P, B runtime.Object, E any](
	ctx context.Context,
	b *built,
	hooks []generic.PolicyHook[P, B, E],
) []generic.PolicyHook[P, B, E] {
	out := hooks
	for i := range hooks {
		kind := kindOf(hooks[i].Policy)
		if kind == nil {
			continue
		}
		if &out[0] == &hooks[0] {
			out = append([]generic.PolicyHook[P, B, E](nil), hooks...)
		}
		k := b.kind(*kind)
		out[i].ConfigurationError, out[i].ParamScope = k.err, k.scope
		if k.err == nil {
			out[i].ParamInformer = params{ctx: ctx, all: b.dynamic.Resource(k.resource)}
		}
	}
	return out
}

func kindOf(policy runtime.Object) *v1.ParamKind {
	switch p := policy.(type) {
	case *v1.ValidatingAdmissionPolicy:
		return p.Spec.ParamKind
	case *v1.MutatingAdmissionPolicy:
		return p.Spec.ParamKind
	}
	return nil
}

// kind returns the resource of a kind of parameters.
func (b *built) kind(k v1.ParamKind) paramKind {
	b.kindsMu.Lock()
	defer b.kindsMu.Unlock()
	if have, ok := b.kinds[k]; ok && time.Now().Before(have.until) {
		return have
	}
	found := paramKind{
		err:   fmt.Errorf("failed to find resource referenced by paramKind: '%s, Kind=%s'", k.APIVersion, k.Kind),
		until: time.Now().Add(missingTime),
	}
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	if err == nil {
		list, err := b.discovery.ServerResourcesForGroupVersion(gv.String())
		if err == nil {
			for _, r := range list.APIResources {
				if r.Kind == k.Kind && !strings.Contains(r.Name, "/") {
					found = paramKind{
						resource: gv.WithResource(r.Name),
						scope:    meta.RESTScopeRoot,
						until:    time.Now().Add(kindTime),
					}
					if r.Namespaced {
						found.scope = meta.RESTScopeNamespace
					}
				}
			}
		}
	}
	b.kinds[k] = found
	return found
}

// params implements upstream's informer over the objects of one kind in the space of a request.
type params struct {
	ctx context.Context
	all dynamic.NamespaceableResourceInterface
}

// Informer implements informers.GenericInformer.
func (params) Informer() cache.SharedIndexInformer { return synced{} }

// Lister implements informers.GenericInformer.
func (p params) Lister() cache.GenericLister { return p }

// ByNamespace implements cache.GenericLister.
func (p params) ByNamespace(ns string) cache.GenericNamespaceLister {
	return reader{p.ctx, p.all.Namespace(ns)}
}

// List implements cache.GenericLister.
func (p params) List(s labels.Selector) ([]runtime.Object, error) {
	return reader{p.ctx, p.all}.List(s)
}

// Get implements cache.GenericLister.
func (p params) Get(name string) (runtime.Object, error) { return reader{p.ctx, p.all}.Get(name) }

var _ informers.GenericInformer = params{}

type reader struct {
	ctx  context.Context
	from dynamic.ResourceInterface
}

func (r reader) List(s labels.Selector) ([]runtime.Object, error) {
	list, err := r.from.List(r.ctx, metav1.ListOptions{LabelSelector: s.String(), ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	out := make([]runtime.Object, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

func (r reader) Get(name string) (runtime.Object, error) {
	return r.from.Get(r.ctx, name, metav1.GetOptions{ResourceVersion: "0"})
}
