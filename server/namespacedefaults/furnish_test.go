package namespacedefaults

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// cluster is a kube API as far as a Controller sees one. It hands every write on, in order.
type cluster struct {
	mu          sync.Mutex
	furnisher   *Controller
	objects     map[store.Key]map[string]any
	terminating map[string]bool
	deleted     map[string]bool // spaces that are going
	bundle      string
	writes      int
}

func newCluster() *cluster {
	c := &cluster{
		objects:     map[store.Key]map[string]any{},
		terminating: map[string]bool{},
		deleted:     map[string]bool{},
		bundle:      "one",
	}
	c.furnisher = New(
		Config{API: c, Log: slog.New(slog.DiscardHandler), Bundle: func() []byte { return []byte(c.bundle) },
			Has: func(space string) bool { return !c.deleted[space] },
			Namespaces: func(_ context.Context, space string) (names []string, err error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				for k := range c.objects {
					if isNamespace(k) && k.Space == space {
						names = append(names, k.Name)
					}
				}
				return names, nil
			}},
	)
	return c
}

func (c *cluster) put(k store.Key, obj map[string]any) {
	c.writes++
	if obj == nil {
		delete(c.objects, k)
	} else {
		c.objects[k] = obj
	}
	c.furnisher.Apply(store.Write{Key: k, Object: obj})
}

// Create implements API.
func (c *cluster) Create(_ context.Context, k store.Key, _ string, obj map[string]any) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, has := c.objects[k]; has {
		return nil, spaceapitest.AlreadyExists(k)
	}
	if c.terminating[k.Namespace] {
		err := apierrors.NewForbidden(corev1.Resource(k.Resource), k.Name, nil)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return nil, err
	}
	c.put(k, obj)
	return obj, nil
}

// Patch implements API.
func (c *cluster) Patch(_ context.Context, k store.Key, _, _ string, patch []byte) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var p map[string]any
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	obj, has := c.objects[k]
	if !has {
		return nil, spaceapitest.NotFound(k)
	}
	if data := obj["data"].(map[string]any); data[caKey] == p["data"].(map[string]any)[caKey] {
		return obj, nil
	}
	obj = maps.Clone(obj)
	obj["data"] = p["data"]
	c.put(k, obj)
	return obj, nil
}

func (c *cluster) set(resource, space, ns, name string, obj map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(store.Key{Space: space, Resource: resource, Namespace: ns, Name: name}, obj)
}

// authentication tells which of the two objects of kube-system a space has.
func (c *cluster) authentication(space string) (out [2]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, out[0] = c.objects[store.Key{
		Space: space, Resource: "configmaps", Namespace: "kube-system", Name: "extension-apiserver-authentication"}]
	_, out[1] = c.objects[store.Key{Space: space, Group: "rbac.authorization.k8s.io", Resource: "roles",
		Namespace: "kube-system", Name: "extension-apiserver-authentication-reader"}]
	return out
}

// has tells which of the two a namespace has, and what the second says.
func (c *cluster) has(space, ns string) [2]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out [2]string
	if _, ok := c.objects[store.Key{Space: space, Resource: "serviceaccounts", Namespace: ns, Name: Account}]; ok {
		out[0] = "yes"
	}
	if m, ok := c.objects[store.Key{Space: space, Resource: "configmaps", Namespace: ns, Name: RootCA}]; ok {
		out[1] = m["data"].(map[string]any)[caKey].(string)
	}
	return out
}

func TestFurnish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { c.furnisher.Run(ctx) })
		defer func() { cancel(); run.Wait() }()
		c.furnisher.Reset(1, storetest.Listing(func(func(store.Write) bool) {}))
		want := func(when, space, ns string, want [2]string) {
			t.Helper()
			synctest.Wait()
			if got := c.has(space, ns); got != want {
				t.Errorf("%s: %s/%s has %v, want %v", when, space, ns, got, want)
			}
		}
		c.set("namespaces", "a", "", "default", map[string]any{})
		c.set("namespaces", "b", "", "default", map[string]any{})
		want("nobody asked", "a", "default", [2]string{})
		if err := c.furnisher.Use(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		if got := c.has("a", "default"); got != [2]string{"yes", "one"} { // before Use returns
			t.Errorf("somebody asked: %v", got)
		}
		want("somebody asked another space", "b", "default", [2]string{})
		c.set("namespaces", "a", "", "web", map[string]any{})
		want("a new namespace", "a", "web", [2]string{"yes", "one"})
		c.set("serviceaccounts", "a", "web", "default", nil)
		c.set("configmaps", "a", "web", RootCA, map[string]any{"data": map[string]any{caKey: "mine"}})
		want("deleted and changed", "a", "web", [2]string{"yes", "one"})
		before := c.writes
		c.set("namespaces", "a", "", "web", map[string]any{})
		synctest.Wait()
		if c.writes != before+1 {
			t.Errorf("a write of a Namespace that lacks nothing made %d more", c.writes-before-1)
		}
		c.bundle = "two"
		c.furnisher.Renew(ctx)
		want("other authorities", "a", "default", [2]string{"yes", "two"})
		c.mu.Lock()
		c.terminating["web"] = true
		c.mu.Unlock()
		c.set("serviceaccounts", "a", "web", "default", nil)
		want("a namespace that goes", "a", "web", [2]string{"", "two"})
		c.deleted["a"] = true
		c.set("configmaps", "a", "default", RootCA, nil)
		want("a space that goes", "a", "default", [2]string{"yes", ""})
	})
}

// TestAuthenticationOfASpace: kube-system has what servers read that delegate authentication. It is
// made again, and stays as it is when somebody fills it.
func TestAuthenticationOfASpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { c.furnisher.Run(ctx) })
		defer func() { cancel(); run.Wait() }()
		c.set("namespaces", "a", "", "kube-system", map[string]any{})
		c.set("namespaces", "a", "", "web", map[string]any{})
		synctest.Wait()
		if got := c.authentication("a"); got != [2]bool{} {
			t.Errorf("nobody asked: %v", got)
		}
		if err := c.furnisher.Use(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		if got := c.authentication("a"); got != [2]bool{true, true} {
			t.Errorf("somebody asked: %v", got)
		}
		const name = "extension-apiserver-authentication"
		k := store.Key{Space: "a", Resource: "configmaps", Namespace: "kube-system", Name: name}
		if c.objects[k]["data"] != nil {
			t.Errorf("it names authorities: %v", c.objects[k])
		}
		if _, wrong := c.objects[store.Key{Space: "a", Resource: "configmaps", Namespace: "web", Name: name}]; wrong {
			t.Error("another namespace has it")
		}
		c.set("configmaps", "a", "kube-system", name, nil)
		synctest.Wait()
		if got := c.authentication("a"); got != [2]bool{true, true} {
			t.Errorf("deleted: %v", got)
		}
		c.set("configmaps", "a", "kube-system", name, map[string]any{"data": map[string]any{"client-ca-file": "mine"}})
		c.furnisher.Renew(ctx)
		synctest.Wait()
		if data, _ := c.objects[k]["data"].(map[string]any); data["client-ca-file"] != "mine" {
			t.Errorf("what somebody put there is gone: %v", c.objects[k])
		}
	})
}

func TestResetKnowsWhatIsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		all := []store.Write{}
		add := func(resource, space, ns, name string, obj map[string]any) {
			k := store.Key{Space: space, Resource: resource, Namespace: ns, Name: name}
			c.objects[k] = obj
			all = append(all, store.Write{Key: k, Object: obj})
		}
		for _, space := range []string{"used", "unused"} {
			add("namespaces", space, "", "default", map[string]any{})
			add("namespaces", space, "", "web", map[string]any{})
			add("namespaces", space, "", "kube-system", map[string]any{})
		}
		add("serviceaccounts", "used", "kube-system", Account, map[string]any{})
		add("configmaps", "used", "kube-system", RootCA, map[string]any{"data": map[string]any{caKey: "one"}})
		add("serviceaccounts", "used", "default", Account, map[string]any{})
		add("configmaps", "used", "default", RootCA, map[string]any{"data": map[string]any{caKey: "old"}})
		c.furnisher.Reset(9, storetest.Listing(slices.Values(all)))
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { c.furnisher.Run(ctx) })
		synctest.Wait()
		for _, x := range []struct {
			space, ns string
			want      [2]string
		}{
			{"used", "default", [2]string{"yes", "one"}},
			{"used", "web", [2]string{"yes", "one"}},
			{"unused", "web", [2]string{}},
			{"unused", "kube-system", [2]string{}},
		} {
			if got := c.has(x.space, x.ns); got != x.want {
				t.Errorf("%s/%s has %v, want %v", x.space, x.ns, got, x.want)
			}
		}
		if used, unused := c.authentication("used"), c.authentication("unused"); !used[0] || !used[1] || unused[0] {
			t.Errorf("a space of before has %v of kube-system, one that nobody uses %v", used, unused)
		}
		cancel()
		run.Wait()
	})
}
