package inventory

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	kubewatch "k8s.io/apimachinery/pkg/watch"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var (
	profilesResource = schema.GroupVersionResource{
		Group:    Group,
		Version:  Version,
		Resource: Profiles,
	}
	decisionsResource = schema.GroupVersionResource{
		Group:    Group,
		Version:  Version,
		Resource: Decisions,
	}
)

// center is a table behind HTTP, for one space.
type center struct {
	t        *testing.T
	table    *Table
	revision int64
	config   *rest.Config
	client   dynamic.Interface
}

func newCenter(t *testing.T, space string) *center {
	c := &center{t: t, table: NewTable(), revision: 100}
	h := &Handler{
		Table:  c.table,
		Center: Center{URL: "https://center:7443", Bundle: func() []byte { return []byte("CA") }},
	}
	resolve := &apirequest.RequestInfoFactory{
		APIPrefixes:          sets.NewString("apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := resolve.NewRequestInfo(r)
		if err != nil || !Takes(r) {
			http.Error(w, "not for the inventory", http.StatusTeapot)
			return
		}
		ctx := apirequest.WithRequestInfo(request.WithSpace(r.Context(), space), info)
		h.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(server.Close)
	c.config = &rest.Config{Host: server.URL}
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	c.client = client
	c.table.Reset(c.revision, storetest.Listing(func(func(store.Write) bool) {}))
	return c
}

func (c *center) put(space, resource, name string, o map[string]any) {
	c.revision++
	w := store.Write{
		Revision: c.revision,
		Key:      store.Key{Space: space, Group: "skerry.dev", Resource: resource, Name: name},
	}
	if o != nil {
		meta, _ := o["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["name"], meta["uid"], meta["creationTimestamp"] = name, "uid-"+name, "2026-01-01T00:00:00Z"
		o["metadata"] = meta
		w.Object = o
	}
	c.table.Apply(w)
}

func (c *center) target(name string, labels map[string]any, connected string) {
	c.put("root", "synctargets", name, map[string]any{"metadata": map[string]any{"labels": labels},
		"status": map[string]any{
			"kubernetesVersion": "v1.36.3",
			"lastSeen":          fmt.Sprint(c.revision),
			"clusterUID":        "cluster-" + name,
			"cluster": map[string]any{
				"nodes":       int64(3),
				"allocatable": map[string]any{"cpu": "4"},
			},
			"conditions": []any{map[string]any{"type": "Connected", "status": connected,
				"lastTransitionTime": "2026-01-02T00:00:00Z"}},
		}})
}

func (c *center) space(selector map[string]any) {
	spec := map[string]any{}
	if selector != nil {
		spec["locationSelector"] = map[string]any{"matchLabels": selector}
	}
	c.put("root", "spaces", "shop", map[string]any{"spec": spec})
}

func (c *center) placement(name string, targets ...any) {
	c.put("shop", "placements", name, map[string]any{"status": map[string]any{"decision": targets}})
}

func (c *center) names(of schema.GroupVersionResource, o metav1.ListOptions) (names []string) {
	c.t.Helper()
	list, err := c.client.Resource(of).List(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, item := range list.Items {
		names = append(names, item.GetNamespace()+"/"+item.GetName())
	}
	return names
}

func TestProfilesOfASpace(t *testing.T) {
	c := newCenter(t, "shop")
	c.space(map[string]any{"tier": "edge"})
	c.target("one", map[string]any{"tier": "edge", "region": "eu"}, "True")
	c.target("two", map[string]any{"tier": "core"}, "True")
	c.target("three", map[string]any{"tier": "edge"}, "False")
	if got := c.names(profilesResource, metav1.ListOptions{}); !slices.Equal(
		got,
		[]string{"default/one", "default/three"},
	) {
		t.Fatalf("the space has %v", got)
	}
	if got := c.names(profilesResource, metav1.ListOptions{LabelSelector: "region=eu,x-k8s.io/cluster-manager=skerry.dev"}); len(
		got,
	) != 1 {
		t.Errorf("selected by label: %v", got)
	}
	o, err := c.client.Resource(profilesResource).
		Namespace("default").
		Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server := at(o, "status", "accessProviders", 0, "cluster", "server")
	if server != "https://center:7443/clusters/shop/targets/one" ||
		at(o, "status", "accessProviders", 0, "cluster", "certificate-authority-data") != "Q0E=" {
		t.Errorf("access %v", at(o, "status", "accessProviders"))
	}
	if at(o, "status", "conditions", 0, "status") != "True" ||
		at(o, "status", "version", "kubernetes") != "v1.36.3" ||
		at(o, "spec", "clusterManager", "name") != Manager {
		t.Errorf("profile %v", o)
	}
	for _, want := range []string{"cluster.clusterset.k8s.io=cluster-one", "skerry.dev/allocatable.cpu=4", "skerry.dev/nodes=3"} {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "properties")
		if !slices.ContainsFunc(list, func(p any) bool {
			m := p.(map[string]any)
			return fmt.Sprint(m["name"], "=", m["value"]) == want
		}) {
			t.Errorf("no property %s in %v", want, list)
		}
	}
	three, err := c.client.Resource(profilesResource).
		Namespace("default").
		Get(t.Context(), "three", metav1.GetOptions{})
	if err != nil || at(three, "status", "conditions", 0, "status") != "Unknown" {
		t.Errorf("a site that is away: %v, %v", err, three)
	}
	for _, lacks := range [][2]string{{"default", "two"}, {"kube-system", "one"}} {
		if _, err := c.client.Resource(profilesResource).Namespace(lacks[0]).Get(t.Context(), lacks[1],
			metav1.GetOptions{}); !apierrors.IsNotFound(
			err,
		) {
			t.Errorf("%v: %v", lacks, err)
		}
	}
}

func at(o *unstructured.Unstructured, path ...any) any {
	var v any = o.Object
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if len(l) <= p {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func TestDecisionsAreSliced(t *testing.T) {
	c := newCenter(t, "shop")
	c.space(nil)
	var targets []any
	for i := range 250 {
		targets = append(targets, fmt.Sprintf("site-%d", i))
	}
	c.placement("fleet", targets...)
	c.placement("none")
	c.placement(strings.Repeat("n", 253), "one")
	list, err := c.client.Resource(decisionsResource).List(t.Context(),
		metav1.ListOptions{LabelSelector: "multicluster.x-k8s.io/decision-key=fleet"})
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%d slices, %v", len(list.Items), err)
	}
	seen := 0
	for i, item := range list.Items {
		n := len(at(&item, "decisions").([]any))
		if item.GetName() != fmt.Sprintf("fleet-%d", i) || n > 100 ||
			item.GetLabels()[labelIndex] != fmt.Sprint(i) ||
			at(&item, "schedulerName") != Manager ||
			item.GetOwnerReferences()[0].Name != "fleet" {
			t.Errorf("slice %d: %v", i, item.Object["metadata"])
		}
		seen += n
	}
	if seen != 250 ||
		at(&list.Items[2], "decisions", 49, "clusterProfileRef", "name") != "site-249" {
		t.Errorf("%d decisions", seen)
	}
	if got := c.names(decisionsResource, metav1.ListOptions{FieldSelector: "metadata.name=none-0"}); len(
		got,
	) != 1 {
		t.Errorf("a Placement without targets has %v", got)
	}
	for _, name := range c.names(decisionsResource, metav1.ListOptions{}) {
		if len(name) > 253+len("default/") {
			t.Errorf("name of %d characters", len(name))
		}
	}
}

func TestNobodyWrites(t *testing.T) {
	c := newCenter(t, "shop")
	c.space(nil)
	c.target("one", nil, "True")
	profiles := c.client.Resource(profilesResource).Namespace("default")
	u := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": Group + "/" + Version, "kind": "ClusterProfile",
			"metadata": map[string]any{"name": "mine"}},
	}
	_, created := profiles.Create(t.Context(), u, metav1.CreateOptions{})
	_, patched := profiles.Patch(
		t.Context(),
		"one",
		types.MergePatchType,
		[]byte("{}"),
		metav1.PatchOptions{},
		"status",
	)
	for what, err := range map[string]error{"create": created, "patch": patched,
		"delete":     profiles.Delete(t.Context(), "one", metav1.DeleteOptions{}),
		"collection": profiles.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})} {
		if !apierrors.IsMethodNotSupported(err) ||
			!strings.Contains(err.Error(), "change the labels of the SyncTarget") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.client.Resource(profilesResource).List(t.Context(),
		metav1.ListOptions{FieldSelector: "spec.displayName=one"}); !apierrors.IsBadRequest(err) {
		t.Errorf("a field that is not served: %v", err)
	}
}

func TestAWatchGoesOnAfterARevision(t *testing.T) {
	c := newCenter(t, "shop")
	c.space(nil)
	c.target("one", nil, "True")
	c.target("two", nil, "True")
	list, err := c.client.Resource(profilesResource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.target("two", nil, "False")
	c.target("one", nil, "True") // nothing that readers see
	w, err := c.client.Resource(profilesResource).
		Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func() string {
		e := <-w.ResultChan()
		if s, is := e.Object.(*metav1.Status); is {
			return fmt.Sprint(e.Type, " ", s.Reason)
		}
		return fmt.Sprint(e.Type, " ", e.Object.(*unstructured.Unstructured).GetName())
	}
	if got := next(); got != "ADDED two" && got != "MODIFIED two" {
		t.Errorf("what changed meanwhile: %s", got)
	}
	c.target("one", nil, "False")
	if got := next(); got != "MODIFIED one" {
		t.Errorf("then %s", got)
	}
	c.put("root", "synctargets", "one", nil)
	if got := next(); got != "DELETED one" {
		t.Errorf("then %s", got)
	}
	if _, err := c.client.Resource(profilesResource).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before something was taken away: %v", err)
	}
	c.table.Reset(c.revision, storetest.Listing(func(func(store.Write) bool) {}))
	if e := <-w.ResultChan(); e.Type != kubewatch.Error {
		t.Errorf("after a new snapshot: %v", e)
	}
}

// Readers of metadata alone get that.
func TestMetadataAlone(t *testing.T) {
	c := newCenter(t, "root")
	c.target("one", map[string]any{"a": "b"}, "True")
	client, err := metadata.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(profilesResource).
		Namespace("default").
		List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Labels["a"] != "b" {
		t.Errorf("%v, %v", list, err)
	}
}

// What takes no events is told to list again, and keeps no more than pending of them.
func TestASlowReaderIsBounded(t *testing.T) {
	w := &watch{
		space:    "shop",
		resource: Decisions,
		seen:     map[string]seen{},
		wake:     make(chan struct{}, 1),
	}
	w.selects, _ = readSelection(nil, "", "", "")
	w.begin(nil, 1, true, false)
	for i := range int64(pending + 10) {
		w.changed(
			map[string]source{"p": {i + 2, nil, &decision{name: "p", uid: "u", revision: i + 2}}},
			"p",
			i+2,
		)
	}
	events, ended := w.take()
	if !ended || len(events) != 1 || !strings.Contains(string(events[0]), "Expired") {
		t.Errorf("%d events, ended %v", len(events), ended)
	}
}
