package quota

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	quota "k8s.io/apiserver/pkg/quota/v1"
	quotageneric "k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/kine"
)

// Counter counts what the namespaces that have a ResourceQuota hold, in all spaces, and writes it
// to the status of the quotas. Plugin charges what is about to be written; Counter puts right what
// was refused after that, deleted, or written by the center.
type Counter struct {
	quotas  *Plugin
	natives map[schema.GroupResource]rest.Lister
	client  *clientv3.Client
	now     func(context.Context) (int64, error)
	log     *slog.Logger
	queue   queue.Queue[quotaKey]

	mu   sync.Mutex
	with map[quotaKey]map[string]bool // the quotas of the namespaces that have some
}

// NewCounter returns the counter of the namespaces whose quotas q charges.
func NewCounter(q *Plugin, db *kine.Store, log *slog.Logger) *Counter {
	return &Counter{
		quotas:  q,
		natives: map[schema.GroupResource]rest.Lister{},
		client:  db.Client().Client,
		now:     db.Revision,
		log:     log,
		queue:   queue.NewFair(100*time.Millisecond, 30*time.Second, func(of quotaKey) string { return of.space }),
		with:    map[quotaKey]map[string]bool{},
	}
}

func isQuota(k store.Key) bool { return k.Group == "" && k.Resource == "resourcequotas" }

// Reset implements ChangeHandler.
func (u *Counter) Reset(_ int64, all store.Listing) {
	u.mu.Lock()
	clear(u.with)
	u.mu.Unlock()
	for w := range all.Objects(isQuota) {
		u.Apply(w)
	}
}

// Apply implements ChangeHandler.
func (u *Counter) Apply(w store.Write) {
	of := quotaKey{w.Key.Space, w.Key.Namespace}
	u.mu.Lock()
	defer u.mu.Unlock()
	if isQuota(w.Key) {
		if w.Object == nil {
			delete(u.with[of], w.Key.Name)
			if len(u.with[of]) == 0 {
				delete(u.with, of)
			}
			return
		}
		if u.with[of] == nil {
			u.with[of] = map[string]bool{}
		}
		if !u.with[of][w.Key.Name] || !counted(w.Object) {
			u.with[of][w.Key.Name] = true
			u.queue.Add(of)
			return
		}
	}
	if u.with[of] != nil {
		u.queue.AddAfter(of, recountTime)
	}
}

// counted reports whether the status of a quota is about its spec.
func counted(obj map[string]any) bool {
	spec := fields.Map(obj, "spec")
	status := fields.Map(obj, "status")
	return status["used"] != nil && equality.Semantic.DeepEqual(spec["hard"], status["hard"])
}

// Progress implements ChangeHandler.
func (*Counter) Progress(int64) {}

// Run counts namespaces until ctx ends.
func (u *Counter) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer u.queue.ShutDown()
	for range 2 {
		all.Go(func() {
			queue.Drain(ctx, u.queue, u.count, func(of quotaKey, err error) {
				u.log.Debug("quota not counted yet", "space", of.space, "namespace", of.namespace, "err", err)
			})
		})
	}
	<-ctx.Done()
	return nil
}

// errFlying is returned while a charged request has not ended: a recount would undo its charge.
var errFlying = errors.New("requests that have been charged are under way")

// recountTime is how long after a write a namespace is counted again.
const recountTime = time.Second

// count writes the status of all quotas of a namespace. No request is charged meanwhile.
func (u *Counter) count(ctx context.Context, of quotaKey) error {
	ctx = apirequest.WithNamespace(request.AsCenter(request.WithSpace(ctx, of.space)), of.namespace)
	t := u.quotas.take(of)
	defer u.quotas.leave(of, t)
	if !u.quotas.landed(t) {
		return errFlying
	}
	revision, err := u.now(ctx)
	if err != nil {
		return err
	}
	u.mu.Lock()
	names := slices.Sorted(maps.Keys(u.with[of]))
	u.mu.Unlock()
	have, err := u.quotas.now(ctx, names)
	if err != nil {
		return err
	}
	var errs []error
	for i := range have {
		q := &have[i]
		registry, err := u.registry(ctx, of, revision, q.Spec.Hard)
		if err != nil {
			return err
		}
		used, err := quota.CalculateUsage(of.namespace, q.Spec.Scopes, q.Spec.Hard, registry, q.Spec.ScopeSelector)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if equality.Semantic.DeepEqual(q.Status.Hard, q.Spec.Hard) && quota.Equals(used, q.Status.Used) {
			continue
		}
		q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: used}
		if err := u.quotas.update(ctx, q); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// registry has an evaluator for everything that a quota limits.
func (u *Counter) registry(
	ctx context.Context,
	of quotaKey,
	revision int64,
	hard corev1.ResourceList,
) (quota.Registry, error) {
	all, err := core.NewEvaluators(func(r schema.GroupVersionResource) (cache.GenericLister, error) {
		return namespaceObjects{ctx: ctx, of: u.natives[r.GroupResource()], revision: revision}, nil
	}, nil, notEvaluated)
	if err != nil {
		return nil, err
	}
	registry := quotageneric.NewRegistry(all)
	for name := range hard {
		resource, ok := strings.CutPrefix(string(name), "count/")
		gr := schema.ParseGroupResource(resource)
		if !ok || registry.Get(gr) != nil {
			continue
		}
		registry.Add(quotageneric.NewObjectCountEvaluator(gr, func(string) ([]runtime.Object, error) {
			if l := u.natives[gr]; l != nil {
				return namespaceObjects{ctx: ctx, of: l, revision: revision}.List(labels.Everything())
			}
			return u.custom(ctx, of, gr)
		}, ""))
	}
	return registry, nil
}

// custom counts custom resources, by their keys.
func (u *Counter) custom(ctx context.Context, of quotaKey, gr schema.GroupResource) ([]runtime.Object, error) {
	prefix := strings.Join([]string{registrykey.Prefix, gr.Group, gr.Resource, of.space, of.namespace, ""}, "/")
	_, all, err := follow.List(ctx, u.client, prefix, clientv3.WithKeysOnly())
	return make([]runtime.Object, len(all)), err
}

// namespaceObjects are the objects of one kind in the namespace of a context as of a revision. They
// are read from the store: a cache may be behind.
type namespaceObjects struct {
	cache.GenericLister
	ctx      context.Context
	of       rest.Lister
	revision int64
}

// ByNamespace implements cache.GenericLister: there is one namespace only.
func (n namespaceObjects) ByNamespace(string) cache.GenericNamespaceLister { return n }

// Get implements cache.GenericNamespaceLister. Counting asks for lists alone.
func (namespaceObjects) Get(string) (runtime.Object, error) {
	return nil, errors.New("only lists are counted")
}

// List implements cache.GenericNamespaceLister.
func (n namespaceObjects) List(labels.Selector) ([]runtime.Object, error) {
	if n.of == nil {
		return nil, nil // a kind that is not served has no objects
	}
	list, err := n.of.List(n.ctx, &internalversion.ListOptions{
		ResourceVersion: strconv.FormatInt(n.revision, 10), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err != nil {
		return nil, err
	}
	return meta.ExtractList(list)
}

// Use adds the storages of a group whose objects are counted.
func (u *Counter) Use(group string, m map[string]rest.Storage) {
	for resource, s := range m {
		if l, ok := s.(rest.Lister); ok {
			u.natives[schema.GroupResource{Group: group, Resource: resource}] = l
		}
	}
}
