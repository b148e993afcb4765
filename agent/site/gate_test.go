package site

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel"
)

type noDisk struct{}

func (noDisk) Piggyback(func() bolt.Pending)                      {}
func (noDisk) Commit() error                                      { return nil }
func (noDisk) Each(func(store.Key, inventory.Record) error) error { return nil }

// rules are an owner's.
type rules struct{ policy *policy.Policy }

func (r rules) Policy() *policy.Policy  { return r.policy }
func (rules) Owner() target.SpacesOwner { return target.SpacesOwner{} }

// desired is a copy.
type desired map[store.Key]store.Entry

func (d desired) Get(k store.Key) (store.Entry, bool, error) {
	e, ok := d[k]
	return e, ok, nil
}

// newGate is the gate of a site without objects, whose owner allows this.
func newGate(t *testing.T, allow tunnel.Allow) *Gate {
	t.Helper()
	known, err := inventory.Open(noDisk{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Compile(allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Rules: rules{p}, Desired: desired{}, Inventory: known, Log: slog.New(slog.DiscardHandler)})
}

func at(group, resource, namespace, name string) store.Key {
	return store.Key{Space: "shop", Group: group, Resource: resource, Namespace: namespace, Name: name}
}

// object is what a space wishes, as the target would get it.
func object(k store.Key, body string) *Object {
	return &Object{Entry: store.Entry{Key: k, Body: []byte(body)}, Head: &target.Object{}, At: k}
}

// reasonOf is why something is not permitted.
func reasonOf(err error) string {
	var refused *policy.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Reason
	}
	return err.Error()
}

func TestPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, tunnel.Allow{})
		settings, web := at("", "configmaps", "app", "settings"), at("apps", "deployments", "app", "web")
		hooks := at("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "checks")
		namespace := inventory.NamespaceKey("shop", "app")
		permit := func(k store.Key, want string) {
			t.Helper()
			body := fmt.Sprintf(`{"metadata":{"name":%q}}`, k.Name)
			if got := reasonOf(g.Permit(t.Context(), object(k, body))); got != want {
				t.Errorf("%s: %q, want %q", k, got, want)
			}
		}
		permit(settings, ErrNoNamespace.Error())
		g.Denials.Set(namespace, &policy.Refusal{Reason: policy.ReasonTaken})
		permit(settings, policy.ReasonTaken)
		g.Denials.Clear(namespace)
		permit(settings, ErrNoNamespace.Error())
		g.Inventory.Put(namespace, inventory.Record{UID: "1", Created: true})
		permit(settings, "")
		permit(at("", "nodes", "", "n"), policy.ReasonKind)
		permit(at("", "namespaces", "", "kube-app"), policy.ReasonNamespace)

		g.Mirrors.Add(hooks)
		permit(web, ErrWebhooks.Error())
		permit(settings, "") // it makes no Pods
		g.Mirrors.Settled(hooks)
		permit(web, "")
		if keys := g.Mirrors.Changed("shop"); len(keys) != 1 || keys[0] != hooks {
			t.Errorf("what changes concerns %v", keys)
		}
		permit(web, ErrWebhooks.Error())
		g.Mirrors.Drop(hooks)
		permit(web, "")

		g.Rules = nil // a relay's sites decide
		permit(at("", "nodes", "", "n"), "")
	})
}

func TestNamespaceBody(t *testing.T) {
	g := newGate(t, tunnel.Allow{PodSecurity: []string{"restricted"}})
	o := object(at("", "namespaces", "", "app"), `{"metadata":{"name":"app","labels":{"team":"a"}}}`)
	o.Head.Metadata.Labels = map[string]string{"team": "a"}
	if err := g.Permit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"annotations":{},"labels":{"pod-security.kubernetes.io/enforce":"restricted","team":"a"},"name":"app"}}`
	if string(o.Body) != want {
		t.Errorf("%s, want %s", o.Body, want)
	}
	o.Existed = true
	if err := g.Permit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	const found = `{"metadata":{"annotations":{"skerry.dev/existed":"true"},` +
		`"labels":{"pod-security.kubernetes.io/enforce":"restricted"},"name":"app"}}`
	if string(o.Body) != found {
		t.Errorf("%s, want %s", o.Body, found)
	}
}

func TestTakeOver(t *testing.T) {
	settings, api := at("", "configmaps", "app", "settings"), at("", "services", "default", "kubernetes")
	for name, c := range map[string]struct {
		takeOver, relay bool
		k               store.Key
		want            string
	}{
		"closed":             {false, false, settings, policy.ReasonTakeOver},
		"open":               {true, false, settings, ""},
		"the cluster's API":  {true, false, api, policy.ReasonTakeOver},
		"a Secret":           {true, false, at("", "secrets", "app", "s"), policy.ReasonTakeOver},
		"closed, at a relay": {false, true, api, ""},
	} {
		g := newGate(t, tunnel.Allow{TakeOver: c.takeOver})
		if c.relay {
			g.Rules = nil
		}
		if got := reasonOf(g.TakeOver(c.k, c.k)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestDefinitions(t *testing.T) {
	g := newGate(t, tunnel.Allow{})
	d, crds := g.Definitions(), "customresourcedefinitions"
	mine := at("apiextensions.k8s.io", crds, "", "widgets.example.com")
	other := mine
	other.Space = "bank"
	if d.defined(at("example.com", "widgets", "app", "w")) || d.defineGroup("example.com") {
		t.Error("it is defined before it is there")
	}
	g.Inventory.Put(mine, inventory.Record{UID: "1", Created: true})
	g.Inventory.Put(other, inventory.Record{UID: "1"})
	if !d.defined(at("example.com", "widgets", "app", "w")) || !d.defineGroup("example.com") || d.defineGroup("ample.com") ||
		d.defined(at("", "widgets", "app", "w")) {
		t.Error("what is defined is not known")
	}
	if sharing := d.Sharing(mine); len(sharing) != 1 || sharing[0] != other {
		t.Errorf("it is shared with %v", sharing)
	}
	if heir, found := d.Heir(mine, "1"); !found || heir != other {
		t.Errorf("the heir is %s", heir)
	}
	if heir, found := d.Heir(mine, "2"); found {
		t.Errorf("%s inherits another definition", heir)
	}
	if _, found := d.Heir(other, "1"); found {
		t.Error("the owner inherits from who shares with it")
	}
}

// Of two spaces that want one host, the first has it.
func TestHosts(t *testing.T) {
	h := &Hosts{}
	web, api := at("networking.k8s.io", "ingresses", "a", "web"), at("networking.k8s.io", "ingresses", "b", "api")
	is := policy.Exposed{Hosts: []string{"shop.example.com"}}
	if _, other, _, _ := h.claim(web, "shop", is, is.Hosts); other != (store.Key{}) {
		t.Fatalf("%s has it", other)
	}
	if _, other, c, host := h.claim(api, "bank", is, is.Hosts); other != web || c.owner != "shop" || host != is.Hosts[0] {
		t.Errorf("%s of %q has %q", other, c.owner, host)
	}
	if _, other, _, _ := h.claim(api, "shop", is, is.Hosts); other != (store.Key{}) {
		t.Errorf("%s of the same space has it", other)
	}
	wide := policy.Exposed{Hosts: []string{"*.example.com"}}
	if _, other, _, _ := h.claim(at("", "x", "c", "c"), "bank", wide, wide.Hosts); other == (store.Key{}) {
		t.Error("a wildcard takes a host that another space has")
	}
	h.forget(web)
	h.forget(api)
	if _, other, _, _ := h.claim(api, "bank", is, is.Hosts); other != (store.Key{}) {
		t.Errorf("%s has it, though it is gone", other)
	}
}
