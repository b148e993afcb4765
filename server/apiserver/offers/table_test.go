package offers

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

// writer gives a table writes whose revisions grow.
type writer struct {
	*Table
	revision int64
}

func newWriter() *writer {
	w := &writer{NewTable(), 10}
	w.Reset(w.revision, storetest.Listing(func(func(store.Write) bool) {}))
	return w
}

func own(resource, name string) store.Key {
	return store.Key{Space: "root", Group: "skerry.dev", Resource: resource, Name: name}
}

func (w *writer) put(k store.Key, o map[string]any) {
	w.revision++
	w.Apply(store.Write{Key: k, Revision: w.revision, Object: o})
}

// A claim keeps its size where its target says so of the class, and not where nobody knows.
func TestKeepsSize(t *testing.T) {
	w := newWriter()
	classes := map[string]any{"classes": []any{map[string]any{"kind": "StorageClass", "name": "local"},
		map[string]any{"kind": "StorageClass", "name": "disk", "allowVolumeExpansion": true}}}
	w.site("paris", "eu", "2026-01-01T00:00:00Z", map[string]any{"cluster": classes})
	w.site("eu", "eu", "2026-01-01T00:00:00Z", map[string]any{"cluster": classes, "relay": true})
	for _, c := range []struct {
		targets []string
		class   string
		want    string
	}{
		{[]string{"eu", "paris"}, "local", "paris"},
		{[]string{"paris"}, "disk", ""},
		{[]string{"paris"}, "unknown", ""},
		{[]string{"eu", "gone"}, "local", ""},
		{nil, "local", ""},
	} {
		if got := w.KeepsSize(c.targets, c.class); got != c.want {
			t.Errorf("%s at %v: kept by %q, want %q", c.class, c.targets, got, c.want)
		}
	}
}

// site puts a SyncTarget in a region.
func (w *writer) site(name, region, seen string, status map[string]any) {
	if status == nil {
		status = map[string]any{}
	}
	status["lastSeen"] = seen
	if status["conditions"] == nil {
		status["conditions"] = []any{map[string]any{"type": "Connected", "status": "True", "reason": "SessionOpen"}}
	}
	w.put(own("synctargets", name), map[string]any{
		"metadata": map[string]any{
			"name": name, "uid": "uid-" + name, "labels": map[string]any{"region": region},
			"annotations": map[string]any{"secret": "of the admin"},
		},
		"status": status,
	})
}

// limit has a space use the sites of one region.
func (w *writer) limit(space, region string) {
	spec := map[string]any{}
	if region != "" {
		spec["locationSelector"] = map[string]any{"matchLabels": map[string]any{"region": region}}
	}
	w.put(own("spaces", space), map[string]any{"spec": spec})
}

const noon, later = "2026-11-21T12:00:00Z", "2026-11-21T12:09:00Z"

func in(space string) context.Context { return request.WithSpace(context.Background(), space) }

func (w *writer) list(t *testing.T, space string, o *internalversion.ListOptions) *api.NodeList {
	t.Helper()
	list, err := NewNodes(w.Table).List(in(space), o)
	if err != nil {
		t.Fatal(err)
	}
	return list.(*api.NodeList)
}

func nodes(list *api.NodeList) (out string) {
	for _, n := range list.Items {
		out += n.Name + " "
	}
	return out
}

func TestASpaceSeesTheNodesOfItsTargetsAlone(t *testing.T) {
	w := newWriter()
	w.limit("shop", "eu")
	w.limit("bank", "us")
	w.limit("free", "")
	w.site("paris", "eu", noon, nil)
	w.site("nyc", "us", noon, nil)
	for space, want := range map[string]string{
		"shop": "paris ", "bank": "nyc ", "free": "nyc paris ", "root": "nyc paris ", "*": "", "": "", request.NoSpace: "",
	} {
		if got := nodes(w.list(t, space, nil)); got != want {
			t.Errorf("%q has %q", space, got)
		}
	}
	if _, err := NewNodes(w.Table).Get(in("shop"), "nyc", nil); !apierrors.IsNotFound(err) {
		t.Errorf("nyc in shop: %v", err)
	}
	free, _ := NewNodes(w.Table).Get(in("free"), "paris", nil)
	shop, _ := NewNodes(w.Table).Get(in("shop"), "paris", nil)
	n := shop.(*api.Node)
	if free.(*api.Node).UID == n.UID || len(n.Annotations) != 0 || n.Labels["region"] != "eu" ||
		n.Labels["kubernetes.io/hostname"] != "paris" {
		t.Errorf("paris: %+v", n.ObjectMeta)
	}
	w.put(own("spaces", "shop"), nil)
	if len(w.limits) != 2-1 {
		t.Errorf("limits are kept of %v", w.limits)
	}
	selector, _ := labels.Parse("region=us")
	if got := nodes(w.list(t, "free", &internalversion.ListOptions{LabelSelector: selector})); got != "nyc " {
		t.Errorf("by label: %q", got)
	}
}

func TestANodeTellsWhatItsSiteIs(t *testing.T) {
	w := newWriter()
	cluster := map[string]any{
		"operatingSystem": "linux", "architecture": "arm64",
	}
	capacity := map[string]any{"cpu": "8", "pods": "220"}
	allocatable := map[string]any{"cpu": "7500m"}
	condition := func(kind, status, reason string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "lastTransitionTime": later}
	}
	for _, c := range []struct {
		want       api.ConditionStatus
		conditions []any
	}{
		{api.ConditionTrue, []any{condition("Connected", "True", "SessionOpen")}},
		{api.ConditionUnknown, []any{condition("Connected", "True", v1alpha1.ReasonSilent)}},
		{api.ConditionUnknown, []any{condition("Connected", "False", "NoSession"),
			condition("TargetReachable", "False", "X")}},
		{api.ConditionFalse, []any{condition("TargetReachable", "False", "X"),
			condition("Connected", "True", "SessionOpen")}},
		{api.ConditionUnknown, []any{condition("Synced", "True", "UpToDate")}},
	} {
		w.site("paris", "eu", noon, map[string]any{
			"kubernetesVersion": "v1.31.2+k3s1", "cluster": cluster,
			"capacity": capacity, "allocatable": allocatable, "conditions": c.conditions,
		})
		n := w.list(t, "shop", nil).Items[0]
		is := n.Status.Conditions[0]
		if is.Status != c.want || is.LastHeartbeatTime.UTC().Format(time.RFC3339) != noon {
			t.Errorf("%v: %+v", c.conditions, is)
		}
		if n.Status.NodeInfo.KubeletVersion != "v1.31.2+k3s1" || n.Labels["kubernetes.io/arch"] != "arm64" ||
			n.Status.Capacity.CPU().String() != "8" || n.Status.Allocatable.CPU().String() != "7500m" {
			t.Errorf("node %+v %v", n.Status, n.Labels)
		}
	}
}

// A relay is as ready as the sites below it: with none that is heard nothing can run there.
func TestARelayWithoutSitesIsNotReady(t *testing.T) {
	w := newWriter()
	for _, c := range []struct {
		below  map[string]any
		want   api.ConditionStatus
		reason string
	}{
		{nil, api.ConditionTrue, "SiteConnected"},
		{map[string]any{"troubled": int64(1)}, api.ConditionTrue, "SiteConnected"},
		{map[string]any{"targets": int64(0), "connected": int64(0)}, api.ConditionFalse, "NoSites"},
		{map[string]any{"targets": float64(2), "connected": float64(0)}, api.ConditionUnknown, "NodeStatusUnknown"},
		{map[string]any{"targets": int64(2), "connected": int64(1)}, api.ConditionTrue, "SiteConnected"},
	} {
		status := map[string]any{"relay": true, "conditions": []any{
			map[string]any{"type": "Connected", "status": "True", "reason": "SessionOpen", "lastTransitionTime": noon},
			map[string]any{"type": "SubtreeHealthy", "status": "False", "lastTransitionTime": later}}}
		if c.below != nil {
			status["below"] = c.below
		}
		w.site("nordic", "eu", noon, status)
		is := w.list(t, "shop", nil).Items[0].Status.Conditions[0]
		if is.Status != c.want || is.Reason != c.reason {
			t.Errorf("%v: %+v", c.below, is)
		}
		if since := is.LastTransitionTime.UTC().Format(time.RFC3339); (since == later) != (c.want != api.ConditionTrue) {
			t.Errorf("%v: since %s", c.below, since)
		}
	}
}

func (w *writer) watch(t *testing.T, space, from string) watch.Interface {
	t.Helper()
	in, err := NewNodes(w.Table).Watch(in(space), &internalversion.ListOptions{ResourceVersion: from})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Stop)
	return in
}

func next(t *testing.T, w watch.Interface) string {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			return "closed"
		}
		if n, ok := e.Object.(*api.Node); ok {
			return fmt.Sprint(e.Type, " ", n.Name)
		}
		return fmt.Sprint(e.Type, " ", e.Object.(*metav1.Status).Code)
	case <-time.After(10 * time.Second):
		return "nothing"
	}
}

func TestAWatchHasTheChangesOfItsSpacesNodes(t *testing.T) {
	w := newWriter()
	w.limit("shop", "eu")
	w.site("paris", "eu", noon, nil)
	began := w.list(t, "shop", nil).ResourceVersion
	all, shop := w.watch(t, "free", ""), w.watch(t, "shop", began)
	expect := func(in watch.Interface, want string) {
		t.Helper()
		if got := next(t, in); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
	expect(all, "ADDED paris")
	w.site("paris", "eu", "2026-11-21T12:01:00Z", nil) // its heartbeat alone
	w.site("nyc", "us", noon, nil)
	expect(all, "ADDED nyc")
	w.site("paris", "eu", later, nil)
	expect(all, "MODIFIED paris")
	expect(shop, "MODIFIED paris")
	w.site("nyc", "eu", noon, nil)
	expect(all, "MODIFIED nyc")
	expect(shop, "ADDED nyc")
	w.site("nyc", "us", noon, nil)
	expect(shop, "DELETED nyc")
	w.put(own("synctargets", "paris"), nil)
	expect(shop, "DELETED paris")

	again := w.watch(t, "shop", began)
	for _, want := range []string{"MODIFIED paris", "ADDED nyc", "DELETED nyc", "DELETED paris"} {
		expect(again, want)
	}
	w.limit("shop", "us")
	expect(shop, "ERROR 410")
	expect(shop, "closed")
	_, err := NewNodes(w.Table).Watch(in("shop"), &internalversion.ListOptions{ResourceVersion: began})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before the space's targets changed: %v", err)
	}
	again.Stop()
	shop.Stop()
	all.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.watches) != 0 {
		t.Errorf("%d watches are left", len(w.watches))
	}
}

func TestAWatchFromTooFarBackIsToldToListAgain(t *testing.T) {
	w := newWriter()
	began := w.list(t, "shop", nil).ResourceVersion
	lazy := w.watch(t, "shop", began)
	for i := range 3 * pending {
		w.site("paris", fmt.Sprint(i), noon, nil)
	}
	if _, err := NewNodes(w.Table).Watch(in("shop"),
		&internalversion.ListOptions{ResourceVersion: began}); !apierrors.IsResourceExpired(err) {
		t.Errorf("from before what is remembered: %v", err)
	}
	last := ""
	for got := next(t, lazy); got != "closed" && got != "nothing"; got = next(t, lazy) {
		last = got
	}
	if last != "ERROR 410" {
		t.Errorf("a watch that took nothing ended with %q", last)
	}
	if len(w.history) != remembered {
		t.Errorf("%d changes are remembered", len(w.history))
	}
}

func TestClassesAreJoined(t *testing.T) {
	w := newWriter()
	class := func(kind, name, by string, isDefault bool) map[string]any {
		return map[string]any{"kind": kind, "name": name, "provider": by, "default": isDefault, "reclaimPolicy": "Delete"}
	}
	offer := func(name, region string, classes ...any) {
		w.site(name, region, noon, map[string]any{"cluster": map[string]any{"classes": classes}})
	}
	offer("a", "eu", class("StorageClass", "local", "x", true), class("StorageClass", "fast", "x", false))
	offer("b", "eu", class("StorageClass", "local", "x", true), class("StorageClass", "fast", "y", false))
	offer("c", "us", class("StorageClass", "ours", "z", true), class("IngressClass", "nginx", "n", false))
	w.limit("shop", "eu")
	s := &Classes{table: w.Table, kind: "StorageClass"}
	shop := s.offered(in("shop"))
	local, fast := shop["local"].(*storage.StorageClass), shop["fast"].(*storage.StorageClass)
	if len(shop) != 2 || local.Annotations[defaultStorage] != "true" ||
		local.Annotations[v1alpha1.AnnotationOfferedBy] != "a,b" ||
		fast.Provisioner != "x" || fast.Annotations[v1alpha1.AnnotationOffersDiffer] != "b" ||
		fast.Annotations[defaultStorage] != "" ||
		string(*fast.ReclaimPolicy) != "Delete" {
		t.Errorf("in shop: %v", shop)
	}
	free := s.offered(in("free"))
	if len(free) != 3 || free["local"].GetAnnotations()[defaultStorage] != "" {
		t.Errorf("in free: %v", free)
	}
}

// A class may be a target's unless each target of the space tells its classes, and not this one.
func TestAClassMayBeATargets(t *testing.T) {
	w := newWriter()
	class := func(kind, name string) any { return map[string]any{"kind": kind, "name": name} }
	offer := func(name, region string, classes ...any) {
		w.site(name, region, noon, map[string]any{"cluster": map[string]any{"classes": classes}})
	}
	w.limit("shop", "eu")
	expect := func(when, space, name string, want bool) {
		t.Helper()
		if got := w.MayHave(in(space), "PriorityClass", name); got != want {
			t.Errorf("%s: a class %s in %s: %v", when, name, space, got)
		}
	}
	expect("without targets", "shop", "high", true)
	offer("c", "us", class("PriorityClass", "high"), class("StorageClass", "low"))
	expect("with another space's target", "shop", "low", true)
	offer("a", "eu", class("StorageClass", "high"))
	expect("with a class of another kind", "shop", "high", false)
	expect("with a target that has it", "free", "high", true)
	expect("with targets that have it not", "free", "low", false)
	offer("b", "eu")
	expect("with a target that tells nothing", "shop", "high", true)
	var many []any
	for i := range tunnel.MaxClasses {
		many = append(many, class("StorageClass", fmt.Sprint("c", i)))
	}
	offer("b", "eu", many...)
	expect("with a target that cannot tell all", "shop", "high", true)
	offer("b", "eu", many[1:]...)
	expect("with one that does", "shop", "high", false)
}
