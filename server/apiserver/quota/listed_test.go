package quota

import (
	"testing"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"

	"skerry.dev/skerry/store"
)

// TestListed: what a list decodes is counted by space and resource, through every change.
func TestListed(t *testing.T) {
	u := NewUsage()
	widget := store.Key{Space: "shop", Group: "example.com", Resource: "widgets", Namespace: "app", Name: "a"}
	other, twin := widget, widget
	other.Name, twin.Space = "b", "team"
	event := store.Key{Space: "shop", Resource: "events", Namespace: "app", Name: "e"}
	cached := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "a"}
	for i, w := range []struct {
		key            store.Key
		size           int // 0 deletes
		objects, bytes int64
	}{
		{widget, 100, 1, 100}, {other, 50, 2, 150}, {twin, 7, 2, 150}, {widget, 300, 2, 350}, {event, 9, 2, 350},
		{cached, 1000, 2, 350}, {widget, 0, 1, 50}, {other, 0, 0, 0},
	} {
		write := store.Write{Key: w.key, Size: w.size, Revision: int64(i + 1)}
		if w.size > 0 {
			write.Object = map[string]any{}
		}
		u.Apply(write)
		if objects, bytes := u.Listed("shop", "example.com", "widgets"); objects != w.objects || bytes != w.bytes {
			t.Errorf("after write %d: %d objects of %d bytes", i, objects, bytes)
		}
	}
	if objects, bytes := u.Listed("shop", "events.k8s.io", "events"); objects != 1 || bytes != 9 {
		t.Errorf("%d events of %d bytes", objects, bytes)
	}
	if objects, _ := u.Listed("shop", "apps", "deployments"); objects != 0 {
		t.Errorf("%d deployments, which have a cache", objects)
	}
	if len(u.listed) != 2 {
		t.Errorf("%v", u.listed)
	}
}
