package agent

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// neighbours are agents of two centers at one cluster. The first has space shop in namespace app.
func neighbours(t *testing.T) (first, second *site) {
	api := targettest.NewInMemory(t)
	begin := func(name string) *site {
		s := &site{t: t, api: api, access: target.Cluster(api.Config()), center: store.NewIncarnation(),
			share: 100, allow: &tunnel.Allow{}, name: name, impersonate: true}
		s.start(t.TempDir())
		t.Cleanup(func() { s.stop() })
		return s
	}
	first = begin("paris")
	first.desire(spaceNamespace("shop", "u1", "app"), configMap("app", "c", "1"))
	first.settled()
	return first, begin("rome")
}

// The accounts of spaces are one center's. A second center's agent is told whose they are and how
// it gets its own, and until then writes nothing.
func TestTwoCentersAtOneCluster(t *testing.T) { inBubble(t, twoCentersAtOneCluster) }

func twoCentersAtOneCluster(t *testing.T) {
	first, second := neighbours(t)
	ns, c := spaceNamespace("shop", "u2", "other"), configMap("other", "d", "1")
	before := first.api.Changes()
	second.desire(ns, c)
	for _, e := range []store.Entry{ns, c} {
		m := second.reported(e, "AccountsTaken")
		for _, word := range []string{"site paris", first.center.String(), "--spaces-namespace skerry-NAME",
			"kubectl annotate namespace skerry-spaces skerry.dev/center-"} {
			if !strings.Contains(m, word) {
				t.Errorf("%q does not say %q", m, word)
			}
		}
	}
	if n := first.api.Changes(); n != before {
		t.Errorf("%d writes of a second center's agent", n-before)
	}
	first.desire(spaceNamespace("shop", "u1", "app2"), configMap("app2", "e", "1"))
	first.settled()

	second.spaces = "skerry-rome"
	second.restart(false)
	eventually(t, "it writes with accounts of its own", func() bool { return second.exists(c) })
	const own, theirs = "system:serviceaccount:skerry-rome:shop", "system:serviceaccount:skerry-spaces:shop"
	if by := writers(second.api); by["d"] != own || by["e"] != theirs {
		t.Errorf("written by %v", by)
	}
	binding := dump(second.api.Object("rbac.authorization.k8s.io", "rolebindings", "other", "skerry-space"))
	if !strings.Contains(binding, "skerry-rome") {
		t.Errorf("bound to %s", binding)
	}
}

// What the first center's spaces do not use any more is the next one's, without an admin's help.
func TestASecondCenterComesAfterTheFirst(t *testing.T) {
	first, second := neighbours(t)
	first.desire(gone(spaceNamespace("shop", "u1", "app")), gone(configMap("app", "c", "1")))
	first.settled()
	c := configMap("other", "d", "1")
	second.desire(spaceNamespace("shop", "u2", "other"), c)
	second.settled()
	if !second.exists(c) || accountsOf(second) != second.center.String() {
		t.Errorf("the mark is %q", accountsOf(second))
	}
	late := spaceNamespace("shop", "u1", "late")
	first.desire(late)
	if m := first.reported(late, "AccountsTaken"); !strings.Contains(m, "site rome") {
		t.Errorf("the first one, which had no spaces when the second came: %q", m)
	}
}

// A site does not lock itself out: not when it is removed and joins anew, not with another data
// directory, and not when its center has other data.
func TestASiteKeepsItsAccounts(t *testing.T) { inBubble(t, aSiteKeepsItsAccounts) }

func aSiteKeepsItsAccounts(t *testing.T) {
	first, _ := neighbours(t)
	next := func(what, dir, ns string) {
		t.Helper()
		first.stop()
		first.start(dir)
		c := configMap(ns, "c-"+ns, "1")
		first.desire(spaceNamespace("shop", "u1", ns), c)
		eventually(t, what, func() bool { return first.exists(c) })
		if accountsOf(first) != first.center.String() {
			t.Errorf("%s: the mark is %q", what, accountsOf(first))
		}
	}
	first.identity.welcomed("another-synctarget", 0)
	next("it joined anew, and is another SyncTarget", first.DataDir, "one")
	next("it lost its data directory", t.TempDir(), "two")

	first.identity.follows(first.desired.Position())
	first.center = store.NewIncarnation()
	at := store.Position{Incarnation: first.center}
	if err := first.desired.Accept(at); err != nil {
		t.Fatal(err)
	}
	next("an admin has accepted that its center has other data", first.DataDir, "three")
}

// accountsOf is the center that the namespace of accounts is marked with.
func accountsOf(s *site) string {
	o := s.api.Object("", "namespaces", "", target.DefaultSpaces)
	metadata, _ := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	center, _ := annotations[target.AnnotationCenter].(string)
	return center
}

// When the site's admin gives the accounts another namespace, what was bound to the old ones goes
// on with the new ones.
func TestAccountsMove(t *testing.T) {
	first, _ := neighbours(t)
	first.spaces = "skerry-paris"
	var rebound atomic.Bool
	first.api.Before(func(_, plural, name string) {
		if plural == "rolebindings" && name == "skerry-space" {
			rebound.Store(true)
		}
	})
	first.api.Refuse(func(_, plural, _ string) *targettest.Refusal {
		if plural != "configmaps" || rebound.Load() {
			return nil
		}
		return &targettest.Refusal{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: `configmaps "c" is forbidden: User "system:serviceaccount:skerry-paris:shop" cannot patch`}
	})
	first.restart(false)
	c := configMap("app", "c", "2")
	first.desire(c)
	first.settled()
	if by := writers(first.api); by["c"] != "system:serviceaccount:skerry-paris:shop" {
		t.Errorf("written by %v", by)
	}
	for _, role := range []string{"skerry-space", "skerry-space-definitions"} {
		binding := dump(first.api.Object("rbac.authorization.k8s.io", "rolebindings", "app", role))
		if !strings.Contains(binding, "skerry-paris") {
			t.Errorf("bound to %s", binding)
		}
	}
}

// The rights that are printed for another namespace of accounts are those for the default one, with
// its name.
func TestRightsForAnotherNamespaceOfAccounts(t *testing.T) {
	count := func(manifest, name string) (n int) {
		for _, document := range strings.Split(manifest, "\n---\n") {
			var o struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatal(err)
			}
			in := o.Metadata.Namespace == name && slices.Contains([]string{"Role", "RoleBinding"}, o.Kind)
			if in || o.Kind == "Namespace" && o.Metadata.Name == name {
				n++
			}
		}
		return n
	}
	if n := count(rbacFor(target.DefaultSpaces), target.DefaultSpaces); n != 3 {
		t.Fatalf("%d documents name the default", n)
	}
	other := rbacFor("skerry-rome")
	if mine, theirs := count(other, "skerry-rome"), count(other, target.DefaultSpaces); mine != 3 || theirs != 0 {
		t.Errorf("%d documents name the other one, %d the default", mine, theirs)
	}
}
