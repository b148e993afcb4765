package placement

import (
	"testing"

	"skerry.dev/skerry/store"
)

func TestHeld(t *testing.T) {
	deployment := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "web"}
	secret := store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: "key"}
	claim := store.Key{Space: "shop", Resource: "persistentvolumeclaims", Namespace: "app", Name: "data"}
	namespace := store.Key{Space: "shop", Resource: "namespaces", Name: "app"}
	pod := store.Key{Space: "shop", Resource: "pods", Namespace: "app", Name: "web-0"}
	definition := store.Key{
		Space: "shop", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "x.example.com"}
	for name, c := range map[string]struct {
		key        store.Key
		finalizers []any
		want       bool
	}{
		"none":                                   {key: secret},
		"an operator's":                          {key: secret, finalizers: []any{"example.com/keep"}, want: true},
		"ours":                                   {key: secret, finalizers: []any{"skerry.dev/detach"}},
		"of a cluster's controllers":             {key: claim, finalizers: []any{"kubernetes.io/pvc-protection"}},
		"of both":                                {key: claim, finalizers: []any{"kubernetes.io/pvc-protection", "example.com/keep"}, want: true},
		"in the foreground":                      {key: secret, finalizers: []any{"foregroundDeletion"}},
		"in the foreground, and an operator's":   {key: secret, finalizers: []any{"foregroundDeletion", "example.com/keep"}, want: true},
		"its pods go first":                      {key: deployment, finalizers: []any{"foregroundDeletion", "example.com/keep"}},
		"its pods stay":                          {key: deployment, finalizers: []any{"orphan", "example.com/keep"}},
		"a workload":                             {key: deployment, finalizers: []any{"example.com/keep"}, want: true},
		"a definition whose objects are going":   {key: definition, finalizers: []any{"customresourcecleanup.apiextensions.k8s.io"}, want: true},
		"a Pod":                                  {key: pod, finalizers: []any{"example.com/keep"}},
		"a Namespace":                            {key: namespace, finalizers: []any{"example.com/keep"}},
		"something that is no name of finalizer": {key: secret, finalizers: []any{1}},
	} {
		if got := Held(c.key, c.finalizers); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
