package space

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// sink receives what a reflector reads, and keeps nothing.
type sink struct {
	replace func(all []any)
	put     func(obj any)
	remove  func(obj any)
}

// Add implements cache.ReflectorStore.
func (s sink) Add(obj any) error { s.put(obj); return nil }

// Update implements cache.ReflectorStore.
func (s sink) Update(obj any) error { s.put(obj); return nil }

// Delete implements cache.ReflectorStore.
func (s sink) Delete(obj any) error { s.remove(obj); return nil }

// Replace implements cache.ReflectorStore.
func (s sink) Replace(all []any, _ string) error { s.replace(all); return nil }

// Resync implements cache.ReflectorStore.
func (sink) Resync() error { return nil }

// plainList is a ListWatch that begins with a LIST: a streamed one is collected by namespace and
// name alone, and would lose objects of equal names in different spaces.
type plainList struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported tells the reflector.
func (plainList) IsWatchListSemanticsUnSupported() bool { return true }

// watch keeps the Set equal to the Space objects and queues every one that changes.
func (c *Controller) watch(ctx context.Context) {
	api := c.client.Resource(spaces)
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
			var names []string
			for _, obj := range all {
				if a, err := meta.Accessor(obj); err == nil {
					names = append(names, a.GetName())
				}
			}
			c.config.Set.replace(names)
			for _, obj := range all {
				c.enqueue(obj)
			}
			select {
			case <-c.ready:
			default:
				close(c.ready)
			}
		},
		put: func(obj any) {
			if a, err := meta.Accessor(obj); err == nil {
				// A space that is being deleted leaves the set once nothing stands in the way.
				if a.GetDeletionTimestamp() == nil {
					c.config.Set.add(a.GetName())
				}
				c.enqueue(obj)
			}
		},
		remove: func(obj any) {
			if a, err := meta.Accessor(obj); err == nil {
				c.config.Set.remove(a.GetName())
				c.queue.AddAfter(a.GetName(), sweepDelay)
			}
		},
	}
	cache.NewReflectorWithOptions(
		lw,
		&unstructured.Unstructured{},
		to,
		cache.ReflectorOptions{Name: "spaces"},
	).RunWithContext(
		ctx,
	)
}

// enqueue queues a Space unless there is nothing to do for it: after a start that is true of nearly
// all.
func (c *Controller) enqueue(obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	s := &v1alpha1.Space{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s); err == nil &&
		s.DeletionTimestamp == nil &&
		c.settled(s) {
		return
	}
	c.queue.Add(u.GetName())
}
