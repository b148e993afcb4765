package server_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// customBookmarks: a watch of custom resources is told where it has come to, and a list may be sent
// as events, of custom resources as of built-in kinds.
func customBookmarks(t *testing.T, c *center) {
	ctx := t.Context()
	def, gvr := gadgets("marks.example.com")
	def.Object["spec"].(map[string]any)["scope"] = "Namespaced"
	d := dyn(t, c.admin("team"))
	_, err := d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
	must(t, err)
	api := d.Resource(gvr).Namespace("default")
	first, err := api.Create(ctx, object(gvr.GroupVersion().String(), "Gadget", "", "first"), metav1.CreateOptions{})
	must(t, err)

	// Shortly before its end it is told of what was written elsewhere, and goes on from there.
	seconds := int64(10)
	w, err := api.Watch(
		ctx,
		metav1.ListOptions{
			ResourceVersion:     first.GetResourceVersion(),
			AllowWatchBookmarks: true,
			TimeoutSeconds:      &seconds,
		},
	)
	must(t, err)
	other, err := clients(
		t,
		c.admin("team-b"),
	).CoreV1().ConfigMaps(
		"default",
	).Create(
		ctx,
		configMap("told", nil),
		metav1.CreateOptions{},
	)
	must(t, err)
	var mark *unstructured.Unstructured
	for e := range w.ResultChan() {
		if e.Type != watch.Bookmark {
			t.Fatalf("nothing happened, and it is told %s %v", e.Type, e.Object)
		}
		mark = e.Object.(*unstructured.Unstructured)
	}
	if mark == nil || number(t, mark.GetResourceVersion()) < number(t, other.ResourceVersion) ||
		mark.GetKind() != first.GetKind() ||
		mark.GetAPIVersion() != first.GetAPIVersion() ||
		len(mark.Object) != 3 ||
		len(mark.Object["metadata"].(map[string]any)) != 1 {
		t.Fatalf("a watch ends with the bookmark %v; %s is there", mark, other.ResourceVersion)
	}
	second := first.DeepCopy()
	second.SetName("second")
	second.SetResourceVersion("")
	second.SetUID("")
	_, err = api.Create(ctx, second, metav1.CreateOptions{})
	must(t, err)
	w, err = api.Watch(ctx, metav1.ListOptions{ResourceVersion: mark.GetResourceVersion()})
	must(t, err)
	if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*unstructured.Unstructured).GetName() != "second" {
		t.Errorf("after the bookmark: %s %v", e.Type, e.Object)
	}
	w.Stop()

	// The list as events, and a bookmark that ends it.
	for _, kind := range []schema.GroupVersionResource{
		gvr,
		{Version: "v1", Resource: "namespaces"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	} {
		list, err := d.Resource(kind).List(ctx, metav1.ListOptions{})
		must(t, err)
		all := true
		w, err := d.Resource(
			kind,
		).Watch(
			ctx,
			metav1.ListOptions{
				SendInitialEvents:    &all,
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				AllowWatchBookmarks:  true,
			},
		)
		must(t, err)
		got := map[string]bool{}
		for e := range w.ResultChan() {
			obj, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == watch.Error {
				t.Fatalf("the list of %s as events: %s %v", kind.Resource, e.Type, e.Object)
			}
			if e.Type == watch.Bookmark && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				if number(t, obj.GetResourceVersion()) < number(t, list.GetResourceVersion()) {
					t.Errorf(
						"the list of %s as events is as of %s, %s is there",
						kind.Resource,
						obj.GetResourceVersion(),
						list.GetResourceVersion(),
					)
				}
				break
			}
			if e.Type == watch.Added {
				got[obj.GetName()] = true
			}
		}
		w.Stop()
		for _, item := range list.Items {
			if !got[item.GetName()] {
				t.Errorf("the list of %s as events lacks %s", kind.Resource, item.GetName())
			}
		}
		if len(got) != len(list.Items) {
			t.Errorf("the list of %s as events has %d objects, want %d", kind.Resource, len(got), len(list.Items))
		}
	}

	for _, kind := range []schema.GroupVersionResource{gvr, {Version: "v1", Resource: "configmaps"}} {
		informerWithoutLists(t, c.admin("team"), kind)
	}
	must(t, d.Resource(crdsGVR).Delete(ctx, def.GetName(), metav1.DeleteOptions{}))
}

// informerWithoutLists runs client-go's informer, which has its list sent as events where it can,
// and must not have to list.
func informerWithoutLists(t *testing.T, config *rest.Config, kind schema.GroupVersionResource) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked := &asked{}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { asked.next = next; return asked })
	d, err := dynamic.NewForConfig(config)
	must(t, err)
	objects := dynamicinformer.NewFilteredDynamicInformer(d, kind, "default", 0, cache.Indexers{}, nil).Informer()
	go objects.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), objects.HasSynced) {
		t.Fatalf("the informer of %s never has its list; it asked for %v", kind.Resource, asked.all())
	}
	list, err := dyn(t, config).Resource(kind).Namespace("default").List(ctx, metav1.ListOptions{})
	must(t, err)
	if have := len(objects.GetStore().List()); have != len(list.Items) {
		t.Errorf("the informer of %s has %d objects of %d", kind.Resource, have, len(list.Items))
	}
	for i, query := range asked.all()[:len(asked.all())-1] { // the last one is the list above
		if !strings.Contains(query, "watch=true") || i == 0 && !strings.Contains(query, "sendInitialEvents=true") {
			t.Errorf("the informer of %s asked for %v", kind.Resource, asked.all())
		}
	}
}

// asked notes what is asked for.
type asked struct {
	next    http.RoundTripper
	mu      sync.Mutex
	queries []string
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	a.queries = append(a.queries, r.URL.RawQuery)
	a.mu.Unlock()
	return a.next.RoundTrip(r)
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.queries...)
}

func number(t *testing.T, version string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(version, 10, 64)
	must(t, err)
	return n
}
