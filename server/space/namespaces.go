package space

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"

	"skerry.dev/skerry/server/queue"
)

// namespace is one namespace of one space.
type namespace struct{ space, name string }

// emptier deletes what is in namespaces that are being deleted, in all spaces: one watch across
// them, and Kubernetes' own deleter with clients of the one space.
type emptier struct {
	loopback func(space string) *rest.Config
	queue    queue.Queue[namespace]
	log      *slog.Logger
}

// emptyAfter is how long what is in a namespace outlives its deletion, as in a cluster. kubectl
// deletes the objects of a manifest one by one, mostly beginning with their namespace, and fails if
// one of them is gone before its turn.
const emptyAfter = 5 * time.Second

// emptyNamespaces runs until ctx ends.
func emptyNamespaces(ctx context.Context, loopback func(string) *rest.Config, log *slog.Logger) {
	e := &emptier{loopback: loopback, log: log}
	e.queue = queue.NewFair(20*time.Millisecond, 10*time.Second, func(of namespace) string { return of.space })
	client, err := corev1client.NewForConfig(protobuf(loopback("*")))
	if err != nil {
		log.Error("namespaces are not deleted", "err", err)
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	for range workers {
		all.Go(func() { e.work(ctx) })
	}
	defer e.queue.ShutDown()
	api := client.Namespaces()
	lw := plainList{&cache.ListWatch{
		ListWithContextFunc: func(
			ctx context.Context,
			o metav1.ListOptions,
		) (runtime.Object, error) {
			return api.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return api.Watch(ctx, o)
		},
	}}
	to := sink{
		replace: func(all []any) {
			for _, obj := range all {
				e.note(obj)
			}
		},
		put:    e.note,
		remove: func(any) {},
	}
	cache.NewReflectorWithOptions(
		lw,
		&corev1.Namespace{},
		to,
		cache.ReflectorOptions{Name: "namespaces of all spaces"},
	).RunWithContext(
		ctx,
	)
}

func (e *emptier) note(obj any) {
	ns, ok := obj.(*corev1.Namespace)
	if !ok || ns.DeletionTimestamp == nil {
		return
	}
	if space := spaceOfNamespace(ns); space != "" {
		e.queue.AddAfter(namespace{space, ns.Name}, time.Until(ns.DeletionTimestamp.Add(emptyAfter)))
	}
}

// spaceOfNamespace reads the space from the storage key /registry/namespaces/<space>/<name> that
// readers across spaces get.
func spaceOfNamespace(ns *corev1.Namespace) string {
	rest, ok := strings.CutPrefix(ns.GetSelfLink(), "/registry/namespaces/")
	if !ok {
		return ""
	}
	space, name, _ := strings.Cut(rest, "/")
	if name != ns.Name {
		return ""
	}
	return space
}

func (e *emptier) work(ctx context.Context) {
	for {
		n, shutdown := e.queue.Get()
		if shutdown {
			return
		}
		err := e.empty(ctx, n)
		var remaining *deletion.ResourcesRemainingError
		switch {
		case err == nil:
			e.queue.Forget(n)
		case errors.As(err, &remaining):
			e.queue.AddAfter(n, min(time.Duration(remaining.Estimate)*time.Second/2+50*time.Millisecond, 5*time.Second))
		default:
			if ctx.Err() == nil {
				e.log.Warn("namespace not emptied", "space", n.space, "namespace", n.name, "err", err)
			}
			e.queue.AddRateLimited(n)
		}
		e.queue.Done(n)
	}
}

func (e *emptier) empty(ctx context.Context, n namespace) error {
	config := e.loopback(n.space)
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	ns, err := core.Namespaces().Get(ctx, n.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = endClaims(ctx, meta, ns)
	}
	if err != nil {
		return err
	}
	d := deletion.NewNamespacedResourcesDeleter(
		ctx,
		core.Namespaces(),
		meta,
		core,
		disco.ServerPreferredNamespacedResources,
		corev1.FinalizerKubernetes,
	)
	return d.Delete(ctx, n.name)
}

// protobuf makes a client of built-in kinds speak the cheaper encoding.
func protobuf(c *rest.Config) *rest.Config {
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return c
}
