package server_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// storeWatches counts the goroutines of upstream's watches of the store, which are one watch's
// each, and of those that watches share.
func storeWatches() (own, shared int) {
	stacks := make([]byte, 64<<20)
	all := string(stacks[:runtime.Stack(stacks, true)])
	return strings.Count(all, "etcd3.(*watchChan).startWatching("),
		strings.Count(all, "apiserver/storage.(*storeWatches).run(")
}

// watched is a watch and what it must be told.
type watched struct {
	name string
	w    watch.Interface
	want []string
}

// next reads as many events as are wanted, bookmarks left out.
func (w *watched) next(n int) (got []string) {
	for e := range w.w.ResultChan() {
		if e.Type == watch.Bookmark {
			continue
		}
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return append(got, fmt.Sprintf("%s %v", e.Type, e.Object))
		}
		if got = append(got, told(e.Type, o)); len(got) == n {
			return got
		}
	}
	return append(got, "ended")
}

// told is an event in words. The revision of a deletion is not known to who deletes.
func told(typ watch.EventType, o *unstructured.Unstructured) string {
	if typ == watch.Deleted {
		return string(typ) + " " + o.GetNamespace() + "/" + o.GetName()
	}
	return string(typ) + " " + o.GetNamespace() + "/" + o.GetName() + "@" + o.GetResourceVersion()
}

// TestSharedWatches: the watches of a definition's objects in a space share one watch of the store,
// however they have begun. Each is told all that it has asked for, in order, and nothing of another
// space whose definition has the same name. The last one to end ends the watch of the store.
func TestSharedWatches(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	ctx := t.Context()
	def, gvr := gadgets("shared.example.com")
	def.Object["spec"].(map[string]any)["scope"] = "Namespaced"
	var ownBefore, sharedBefore int // caches and the center have such watches, too
	var all []*watched
	var begun sync.Mutex
	apis := map[string]dynamic.Interface{}
	for _, space := range []string{"team", "team-b"} {
		c.createSpace(space, "Retain")
		d := dyn(t, c.admin(space))
		apis[space] = d
		_, err := d.Resource(crdsGVR).Create(ctx, def.DeepCopy(), metav1.CreateOptions{})
		must(t, err)
		first, err := d.Resource(gvr).Namespace("default").Create(ctx, labelled(gvr, "first"), metav1.CreateOptions{})
		must(t, err)
		list, err := d.Resource(gvr).List(ctx, metav1.ListOptions{})
		must(t, err)
		if space == "team" {
			ownBefore, sharedBefore = storeWatches()
		}
		yes := true
		var open sync.WaitGroup
		for name, how := range map[string]metav1.ListOptions{
			"from a list":    {ResourceVersion: list.GetResourceVersion()},
			"with bookmarks": {ResourceVersion: list.GetResourceVersion(), AllowWatchBookmarks: true},
			"of all":         {},
			"of any":         {ResourceVersion: "0"},
			"as events": {SendInitialEvents: &yes, AllowWatchBookmarks: true,
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			"of one":       {ResourceVersion: list.GetResourceVersion(), FieldSelector: "metadata.name=x1"},
			"of blue ones": {ResourceVersion: list.GetResourceVersion(), LabelSelector: "color=blue"},
		} {
			for i := range 4 {
				open.Go(func() {
					w, err := d.Resource(gvr).Namespace("default").Watch(ctx, how)
					if err != nil {
						t.Error(err)
						return
					}
					one := &watched{name: fmt.Sprintf("%s %s %d", space, name, i), w: w}
					if how.ResourceVersion == "" || how.ResourceVersion == "0" {
						one.want = []string{told(watch.Added, first)}
					}
					begun.Lock()
					all = append(all, one)
					begun.Unlock()
				})
			}
		}
		open.Wait()
	}
	within(t, time.Minute, "one watch of the store a space", func() bool {
		own, shared := storeWatches()
		return own <= ownBefore && shared == sharedBefore+2
	})

	var writing sync.WaitGroup
	for space, d := range apis {
		mine := slices.DeleteFunc(slices.Clone(all), func(w *watched) bool {
			return !strings.HasPrefix(w.name, space+" ")
		})
		writing.Go(func() { writeGadgets(t, d, gvr, mine) })
	}
	writing.Wait()
	var reading sync.WaitGroup
	for _, w := range all {
		reading.Go(func() {
			if got := w.next(len(w.want)); !slices.Equal(got, w.want) {
				t.Errorf("the watch %s is told\n%v, want\n%v", w.name, got, w.want)
			}
		})
	}
	reading.Wait()
	changedMeanwhile(t, apis["team"], gvr, all)
	for _, w := range all {
		w.w.Stop()
	}
	within(t, time.Minute, "the end of the watches of the store", func() bool {
		own, shared := storeWatches()
		return own <= ownBefore && shared == sharedBefore
	})
	must(t, apis["team-b"].Resource(crdsGVR).Delete(ctx, def.GetName(), metav1.DeleteOptions{}))
}

// changedMeanwhile changes a definition and deletes it, of which open watches are told no less than
// what becomes of the objects.
func changedMeanwhile(t *testing.T, d dynamic.Interface, gvr schema.GroupVersionResource,
	all []*watched) {
	ctx, name := t.Context(), gvr.GroupResource().String()
	_, err := d.Resource(crdsGVR).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"spec":{"names":{"shortNames":["gg"]}}}`), metav1.PatchOptions{})
	must(t, err)
	within(t, time.Minute, "the change of the definition", func() bool {
		def, err := d.Resource(crdsGVR).Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		short, _, _ := unstructured.NestedStringSlice(def.Object, "status", "acceptedNames", "shortNames")
		return len(short) > 0
	})
	later, err := d.Resource(gvr).Namespace("default").Create(ctx, labelled(gvr, "later"), metav1.CreateOptions{})
	must(t, err)
	must(t, d.Resource(crdsGVR).Delete(ctx, name, metav1.DeleteOptions{}))
	for _, w := range all {
		if strings.HasPrefix(w.name, "team of all ") {
			got := w.next(3)
			slices.Sort(got[1:])
			want := []string{told(watch.Added, later), "DELETED default/first", "DELETED default/later"}
			if !slices.Equal(got, want) {
				t.Errorf("the watch %s is told %v while its definition changes, want %v", w.name, got, want)
			}
		}
	}
}

func labelled(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	return object(gvr.GroupVersion().String(), "Gadget", "default", name)
}

// writeGadgets creates, paints and deletes objects, and notes what watches must be told of that.
func writeGadgets(t *testing.T, d dynamic.Interface, gvr schema.GroupVersionResource,
	watches []*watched) {
	ctx, api := t.Context(), d.Resource(gvr).Namespace("default")
	tell := func(typ watch.EventType, o *unstructured.Unstructured, blue watch.EventType) {
		for _, w := range watches {
			switch {
			case strings.Contains(w.name, "blue"):
				if blue != "" {
					w.want = append(w.want, told(blue, o))
				}
			case !strings.Contains(w.name, "of one") || o.GetName() == "x1":
				w.want = append(w.want, told(typ, o))
			}
		}
	}
	for i := range 5 {
		o, err := api.Create(ctx, labelled(gvr, fmt.Sprint("x", i)), metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		tell(watch.Added, o, "")
		for _, color := range []string{"red", "blue", "blue2", "green", "blue"} {
			was := o.GetLabels()["color"]
			o, err = api.Patch(ctx, o.GetName(), types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"color":"`+color+`"}}}`), metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			var blue watch.EventType
			switch {
			case color == "blue":
				blue = watch.Added
			case was == "blue":
				blue = watch.Deleted
			}
			tell(watch.Modified, o, blue)
		}
		if err := api.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
			return
		}
		tell(watch.Deleted, o, watch.Deleted)
	}
}
