package apiserver

import (
	"context"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"

	"skerry.dev/skerry/server/apiserver/admission"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/policy"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/storage"
)

// newRules makes the plugin of the policies and webhooks that users bring. What the center itself
// writes is not asked about.
func (s *Server) newRules(l *admission.Lifecycle, authz authorizer.Authorizer) *policy.Plugin {
	return policy.New(policy.Config{
		Authorizer: authz, Loopback: s.Loopback, Outbound: s.config.Outbound, Webhooks: s.webhooks,
		Namespace: func(ctx context.Context, name string) (*corev1.Namespace, error) {
			obj, err := storage.GetCached(ctx, l.Namespaces, "", name)
			if err != nil {
				return nil, err
			}
			out := &corev1.Namespace{}
			return out, coreconv.Convert_core_Namespace_To_v1_Namespace(obj.(*api.Namespace), out, nil)
		},
	})
}

// followRules gives the plugin what it enforces until ctx ends.
func (s *Server) followRules(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, resource := range policy.Resources() {
		g.Go(func() error {
			prefix := registrykey.Prefix + "/" + resource + "/"
			return follow.Prefix(ctx, s.config.Store.Client().Client, prefix, &ruleFollower{s.rules, resource, prefix})
		})
	}
	return g.Wait()
}

// ruleFollower hands on the objects of one kind.
type ruleFollower struct {
	to               *policy.Plugin
	resource, prefix string
}

func (f *ruleFollower) Reset(_ int64, kvs []*mvccpb.KeyValue) error {
	all := map[string]map[string]policy.Object{}
	for _, kv := range kvs {
		space, name := f.named(kv)
		obj, err := f.decode(kv)
		if err != nil {
			return err
		}
		if all[space] == nil {
			all[space] = map[string]policy.Object{}
		}
		all[space][name] = obj
	}
	f.to.Replace(f.resource, all)
	return nil
}

func (f *ruleFollower) Change(e *clientv3.Event) error {
	space, name := f.named(e.Kv)
	if e.Type == mvccpb.Event_DELETE {
		f.to.Put(space, f.resource, name, nil)
		return nil
	}
	obj, err := f.decode(e.Kv)
	if err == nil {
		f.to.Put(space, f.resource, name, obj)
	}
	return err
}

func (*ruleFollower) Progress(int64) {}

func (f *ruleFollower) named(kv *mvccpb.KeyValue) (space, name string) {
	space, name, _ = strings.Cut(strings.TrimPrefix(string(kv.Key), f.prefix), "/")
	return space, name
}

func (f *ruleFollower) decode(kv *mvccpb.KeyValue) (policy.Object, error) {
	// Some kinds are stored in an older version than that which the plugin knows.
	v, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), kv.Value)
	if err == nil {
		v, err = legacyscheme.Scheme.ConvertToVersion(v, registrationv1.SchemeGroupVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	obj, ok := v.(policy.Object)
	if !ok {
		return nil, fmt.Errorf("decode %s: unexpected %T", kv.Key, v)
	}
	return obj, nil
}
