package storage

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	"k8s.io/metrics/pkg/apis/metrics/install"
)

func init() { install.Install(legacyscheme.Scheme) }

// TestPrefixStaysWithItsResource: a resource that is served and not stored, and has the name of
// another, does not take its keys away. Changes would hand Pods on as metrics.
func TestPrefixStaysWithItsResource(t *testing.T) {
	config := serverstorage.NewResourceConfig()
	factory := serverstorage.NewDefaultStorageFactory(*storagebackend.NewDefaultConfig("/registry", nil),
		"application/json",
		legacyscheme.Codecs, serverstorage.NewDefaultResourceEncodingConfig(legacyscheme.Scheme), config, nil)
	s := ForSpaces(Config{Factory: factory})
	pods, events := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "events"}
	for _, stored := range []schema.GroupResource{pods, events} {
		if _, err := s.GetRESTOptions(stored, &api.Pod{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.GetRESTOptions(schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"},
		nil); !errors.Is(err, errPrefixTaken) {
		t.Errorf("metrics of pods have keys: %v", err)
	}
	if k, ok := s.parse("/pods/shop/web/one"); !ok || k.Group != "" {
		t.Errorf("the key of a Pod is one of %v, %v", k, ok)
	}
	if _, err := s.GetRESTOptions(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, nil); err != nil {
		t.Errorf("Events are the same in two groups: %v", err)
	}
}
