package server_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// unwritten: who watches what nodes and allocators write sees that there is none, and nobody writes it.
func unwritten(t *testing.T, c *center) {
	ctx, user := t.Context(), dyn(t, c.admin("team"))
	for _, of := range []struct{ group, resource, kind string }{
		{"storage.k8s.io", "csinodes", "CSINode"}, {"storage.k8s.io", "volumeattachments", "VolumeAttachment"},
		{"storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity"}, {"networking.k8s.io", "ipaddresses", "IPAddress"},
		{"networking.k8s.io", "servicecidrs", "ServiceCIDR"}, {"resource.k8s.io", "resourceslices", "ResourceSlice"},
	} {
		all := user.Resource(schema.GroupVersionResource{Group: of.group, Version: "v1", Resource: of.resource})
		list, err := all.List(ctx, metav1.ListOptions{})
		must(t, err)
		begin := true
		w, err := all.Watch(ctx, metav1.ListOptions{SendInitialEvents: &begin, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		must(t, err)
		if e := <-w.ResultChan(); len(list.Items) > 0 || e.Type != watch.Bookmark {
			t.Errorf("%s: %v, a watch begins with %v", of.resource, list.Items, e)
		}
		w.Stop()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.group + "/v1", "kind": of.kind,
			"metadata": map[string]any{"name": "of-a-node"}}}
		in := all.Namespace("")
		if of.resource == "csistoragecapacities" {
			in = all.Namespace("default")
		}
		if _, err = in.Create(ctx, o, metav1.CreateOptions{}); !apierrors.IsMethodNotSupported(err) {
			t.Errorf("%s: one is made: %v", of.resource, err)
		}
		_, err = in.Patch(ctx, "of-a-node", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		if !apierrors.IsMethodNotSupported(err) {
			t.Errorf("%s: one is changed: %v", of.resource, err)
		}
	}
}
