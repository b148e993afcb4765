package quota

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	quota "k8s.io/apiserver/pkg/quota/v1"
	quotageneric "k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/quota/v1/install"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// Plugin is the admission plugin of ResourceQuotas. The rules are those of Kubernetes. It charges a
// quota in its status before the object is written, one namespace at a time, so that requests side
// by side do not exceed it together.
type Plugin struct {
	list   rest.Lister
	get    rest.Getter
	status rest.Updater

	evaluators quota.Registry

	mu   sync.Mutex
	busy map[quotaKey]*turn
}

// quotaKey is one namespace of one space.
type quotaKey struct{ space, namespace string }

// turn is the right to charge one namespace. It exists while a request has it, waits for it, or has
// been charged and has not ended.
type turn struct {
	mu     sync.Mutex
	users  int
	flying int // charged requests that may not have written yet; under quotas.mu
}

// notEvaluated leaves out what claims of devices use: only their site knows it.
func notEvaluated(r schema.GroupVersionResource) bool { return r.Group != "resource.k8s.io" }

// NewPlugin returns a plugin. Use must give it the storages before the first request.
func NewPlugin() (*Plugin, error) {
	all, err := core.NewEvaluators(nil, nil, notEvaluated)
	if err != nil {
		return nil, err
	}
	return &Plugin{evaluators: quotageneric.NewRegistry(all), busy: map[quotaKey]*turn{}}, nil
}

// Handles implements admission.Interface.
func (*Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface. It must be the last plugin: what it charges is
// about to be written.
func (q *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := a.GetResource().GroupResource()
	_, ignored := install.DefaultIgnoredResources()[resource]
	if request.FromCenter(ctx) || a.GetNamespace() == "" || ignored || resource == api.Resource("namespaces") {
		return nil
	}
	of := quotaKey{request.Space(ctx), a.GetNamespace()}
	ctx = apirequest.WithNamespace(ctx, a.GetNamespace())
	e := q.evaluators.Get(resource)
	if e == nil {
		e = quotageneric.NewObjectCountEvaluator(resource, nil, "")
		q.evaluators.Add(e)
	}
	if !e.Handles(a) {
		return nil
	}
	names, err := q.of(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	t := q.take(of)
	defer q.leave(of, t)
	if err := q.charge(ctx, a, e, names); err != nil || a.IsDryRun() {
		return err
	}
	q.fly(ctx, of, t)
	return nil
}

// chargeTries is how often a quota is read again after a conflict with another writer of its
// status.
const chargeTries = 5

func (q *Plugin) charge(ctx context.Context, a admission.Attributes, e quota.Evaluator, names []string) error {
	var err error
	for range chargeTries {
		var have, next []corev1.ResourceQuota
		if have, err = q.now(ctx, names); err != nil {
			return err
		}
		if next, err = resourcequota.CheckRequest(have, a, e, nil); err != nil || a.IsDryRun() {
			return err
		}
		if err = q.write(ctx, have, next); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// write stores what has been charged.
func (q *Plugin) write(ctx context.Context, before, after []corev1.ResourceQuota) error {
	for i := range after {
		if equality.Semantic.DeepEqual(before[i].Status, after[i].Status) {
			continue
		}
		if err := q.update(ctx, &after[i]); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (q *Plugin) update(ctx context.Context, to *corev1.ResourceQuota) error {
	internal := &api.ResourceQuota{}
	if err := coreconv.Convert_v1_ResourceQuota_To_core_ResourceQuota(to, internal, nil); err != nil {
		return err
	}
	_, _, err := q.status.Update(
		request.ForWrite(request.AsCenter(ctx),
			corev1.SchemeGroupVersion.WithResource("resourcequotas"), "status"),
		to.Name,
		rest.DefaultUpdatedObjectInfo(internal),
		rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc,
		false,
		&metav1.UpdateOptions{},
	)
	return err
}

// of returns the names of the quotas of a namespace, from the cache.
func (q *Plugin) of(ctx context.Context) ([]string, error) {
	list, err := storage.FromCache(ctx, q.list)
	if err != nil {
		return nil, err
	}
	items := list.(*api.ResourceQuotaList).Items
	names := make([]string, len(items))
	for i := range items {
		names[i] = items[i].Name
	}
	return names, nil
}

// now returns quotas as they are stored: the cache may lag behind the last charge. Inert ones limit
// nothing here, and are left out.
func (q *Plugin) now(ctx context.Context, names []string) ([]corev1.ResourceQuota, error) {
	var out []corev1.ResourceQuota
	for _, name := range names {
		obj, err := q.get.Get(ctx, name, &metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if v1alpha1.Inert(obj.(*api.ResourceQuota).Labels) {
			continue
		}
		one := corev1.ResourceQuota{}
		if err := coreconv.Convert_core_ResourceQuota_To_v1_ResourceQuota(obj.(*api.ResourceQuota), &one, nil); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// take waits until nobody else charges the namespace.
func (q *Plugin) take(of quotaKey) *turn {
	q.mu.Lock()
	t := q.busy[of]
	if t == nil {
		t = &turn{}
		q.busy[of] = t
	}
	t.users++
	q.mu.Unlock()
	t.mu.Lock()
	return t
}

func (q *Plugin) leave(of quotaKey, t *turn) {
	t.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	t.users--
	q.forget(of, t)
}

// fly records a charged request until it ends.
func (q *Plugin) fly(request context.Context, of quotaKey, t *turn) {
	q.mu.Lock()
	t.flying++
	q.mu.Unlock()
	context.AfterFunc(request, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.flying--
		q.forget(of, t)
	})
}

func (q *Plugin) forget(of quotaKey, t *turn) {
	if t.users == 0 && t.flying == 0 {
		delete(q.busy, of)
	}
}

// landTries and landPause are how long a recount waits for those that have been charged; new ones
// wait for it meanwhile.
const (
	landTries = 40
	landPause = 5 * time.Millisecond
)

// landed waits until all charged requests have ended. It reports false if that takes too long.
func (q *Plugin) landed(t *turn) bool {
	for range landTries {
		q.mu.Lock()
		n := t.flying
		q.mu.Unlock()
		if n == 0 {
			return true
		}
		time.Sleep(landPause)
	}
	return false
}

// Use gives the plugin the storages of the core group, which it reads and writes quotas with.
func (q *Plugin) Use(m map[string]rest.Storage) {
	q.list, q.get = m["resourcequotas"].(rest.Lister), m["resourcequotas"].(rest.Getter)
	q.status = m["resourcequotas/status"].(rest.Updater)
}
