package agent

import (
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

func crd(plural, kind string) store.Entry {
	return live(
		"apiextensions.k8s.io",
		"customresourcedefinitions",
		"apiextensions.k8s.io/v1",
		"CustomResourceDefinition",
		"",
		plural+".example.com",
		map[string]any{"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{"name": "v1"}},
		}},
	)
}

func TestAppliesInOrderOfKinds(t *testing.T) { inBubble(t, appliesInOrderOfKinds) }

func appliesInOrderOfKinds(t *testing.T) {
	s := newSite(t)
	widget := live("example.com", "widgets", "example.com/v1", "Widget", "app", "w", nil)
	s.desire(widget, configMap("app", "c", "1"), namespace("app"), crd("widgets", "Widget"))
	s.settled()
	var order []string
	for _, w := range s.api.Writes() {
		order = append(order, w.Path[strings.LastIndex(w.Path, "/")+1:])
	}
	at := map[string]int{}
	for i, name := range order {
		at[name] = i
	}
	if len(order) != 4 || at["widgets.example.com"] > at["w"] || at["app"] > at["c"] || at["app"] > at["w"] {
		t.Errorf("written in the order %v", order)
	}
	if r := s.report(widget.Key); r == nil || r.Applied != widget.Hash.String() || r.Error != nil ||
		r.OriginUID != "source-widgets-w" {
		t.Errorf("report of the widget: %s", dump(r))
	}
}

func TestWaitsForWhatComesLater(t *testing.T) { inBubble(t, waitsForWhatComesLater) }

func waitsForWhatComesLater(t *testing.T) {
	s := newSite(t)
	c := configMap("late", "c", "1")
	w := live("example.com", "widgets", "example.com/v1", "Widget", "late", "w", nil)
	s.desire(c, w)
	eventually(t, "the missing namespace is reported", func() bool {
		r := s.report(c.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "NamespaceMissing" &&
			strings.Contains(r.Error.Message, `namespaces "late" not found`)
	})
	eventually(t, "the missing kind is reported", func() bool {
		r := s.report(w.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "NotServed"
	})
	s.desire(namespace("late"), crd("widgets", "Widget"))
	s.settled()
	for _, e := range []store.Entry{c, w} {
		if r := s.report(e.Key); !s.exists(e) || r.Error != nil || r.Applied != e.Hash.String() {
			t.Errorf("%s: %s", e.Key, dump(r))
		}
	}
}

func TestUpdateRemovesFieldsAndIsOneWrite(t *testing.T) {
	inBubble(t, updateRemovesFieldsAndIsOneWrite)
}

func updateRemovesFieldsAndIsOneWrite(t *testing.T) {
	s := newSite(t)
	c := live(
		"",
		"configmaps",
		"v1",
		"ConfigMap",
		"default",
		"c",
		map[string]any{"data": map[string]any{"a": "1", "b": "2"}},
	)
	s.desire(c)
	s.settled()
	s.desire(
		live("", "configmaps", "v1", "ConfigMap", "default", "c", map[string]any{"data": map[string]any{"a": "3"}}),
	)
	s.settled()
	data := s.api.Object("", "configmaps", "default", "c")["data"].(map[string]any)
	if len(data) != 1 || data["a"] != "3" || s.writesTo("c") != 2 {
		t.Errorf("data %v after %d writes", data, s.writesTo("c"))
	}
}

func TestForeignObjectIsNotTouched(t *testing.T) { inBubble(t, foreignObjectIsNotTouched) }

func foreignObjectIsNotTouched(t *testing.T) {
	s := newSite(t)
	s.api.Put("v1", "ConfigMap", "default", "c", map[string]any{"data": map[string]any{"value": "theirs"}})
	c := configMap("default", "c", "ours")
	s.desire(c)
	eventually(t, "it is reported", func() bool {
		r := s.report(c.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "AlreadyExists"
	})
	s.desire(gone(c))
	s.settled()
	if o := s.api.Object("", "configmaps", "default", "c"); o["data"].(map[string]any)["value"] != "theirs" ||
		len(s.api.Writes()) != 0 {
		t.Errorf("a foreign object was touched: %v %v", o, s.api.Writes())
	}
	if r := s.report(c.Key); r != nil {
		t.Errorf("still reported after the tombstone: %s", dump(r))
	}
}

func TestObjectReplacedByAnotherHandIsNotOurs(t *testing.T) {
	inBubble(t, objectReplacedByAnotherHandIsNotOurs)
}

func objectReplacedByAnotherHandIsNotOurs(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	s.desire(gone(deployment(1, "default", "other", 1))) // nothing: only a later revision
	s.api.Refuse(func(method, plural, name string) *targettest.Refusal {
		return &targettest.Refusal{Code: 403, Reason: "Forbidden", Message: "not now"}
	})
	s.api.Remove("", "configmaps", "default", "c")
	s.api.Put("v1", "ConfigMap", "default", "c", map[string]any{"data": map[string]any{"value": "theirs"}})
	s.api.Refuse(nil)
	s.desire(configMap("default", "c", "2"))
	eventually(t, "it is reported", func() bool {
		r := s.report(c.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "AlreadyExists"
	})
	s.desire(gone(c))
	s.settled()
	if o := s.api.Object("", "configmaps", "default", "c"); o == nil ||
		o["data"].(map[string]any)["value"] != "theirs" {
		t.Errorf("the other's object: %v", o)
	}
}

func TestRefusalIsReportedInTheTargetsWordsAndOthersGoOn(t *testing.T) {
	cases := []struct {
		code            int
		reason, message string
		want            string
	}{
		{
			403,
			"Forbidden",
			`configmaps "bad" is forbidden: exceeded quota: q, requested: configmaps=1`,
			"QuotaExceeded",
		},
		{403, "Forbidden", `admission webhook "policy" denied the request`, "Forbidden"},
		{422, "Invalid", `ConfigMap "bad" is invalid: data: too long`, "Invalid"},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				s.api.Refuse(func(_, _, name string) *targettest.Refusal {
					if name == "bad" {
						return &targettest.Refusal{Code: c.code, Reason: c.reason, Message: c.message}
					}
					return nil
				})
				bad, good := configMap("default", "bad", "1"), configMap("default", "good", "1")
				s.desire(bad, good)
				eventually(t, "the good one is applied", func() bool { return s.exists(good) })
				eventually(
					t,
					"the refusal is reported",
					func() bool { r := s.report(bad.Key); return r != nil && r.Error != nil },
				)
				if r := s.report(bad.Key); r.Error.Reason != c.want || r.Error.Message != c.message || r.Applied != "" ||
					r.OriginUID != "source-configmaps-bad" {
					t.Errorf("report: %s %+v", dump(r), r.Error)
				}
				s.api.Refuse(nil)
				s.desire(configMap("default", "bad", "2"))
				s.settled()
				if r := s.report(bad.Key); r.Error != nil || r.Applied == "" {
					t.Errorf("report after the refusal was lifted: %s", dump(r))
				}
			})
		})
	}
}

func TestTombstonesDeleteOnlyOurs(t *testing.T) { inBubble(t, tombstonesDeleteOnlyOurs) }

func tombstonesDeleteOnlyOurs(t *testing.T) {
	s := newSite(t)
	var all []store.Entry
	for i := range 20 {
		all = append(all, configMap("app", fmt.Sprint("c", i), "1"))
	}
	all = append(
		all,
		namespace("app"),
		crd("widgets", "Widget"),
		live("example.com", "widgets", "example.com/v1", "Widget", "app", "w", nil),
	)
	s.desire(all...)
	s.settled()
	var tombstones []store.Entry
	for _, e := range all {
		tombstones = append(tombstones, gone(e))
	}
	s.desire(tombstones...)
	s.settled()
	for _, e := range all {
		if s.exists(e) {
			t.Errorf("%s is still there", e.Key)
		}
	}
	eventually(t, "tombstones are forgotten", func() bool {
		left := 0
		if err := s.desired.Each(func(store.Entry) error { left++; return nil }); err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	if n := s.observer.Feed().Len(); n != 0 {
		t.Errorf("%d reports left", n)
	}
}

func TestNamespaceWithForeignContentStays(t *testing.T) {
	inBubble(t, namespaceWithForeignContentStays)
}

func namespaceWithForeignContentStays(t *testing.T) {
	s := newSite(t)
	s.desire(namespace("app"), configMap("app", "c", "1"))
	s.settled()
	s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-0", nil)
	s.desire(gone(namespace("app")), gone(configMap("app", "c", "1")))
	eventually(t, "the config map goes, the namespace is reported", func() bool {
		r := s.report(namespace("app").Key)
		return !s.exists(configMap("app", "c", "1")) && r != nil && r.Error != nil && r.Error.Reason == "NotEmpty" &&
			strings.Contains(r.Error.Message, "persistentvolumeclaims/data-db-0")
	})
	if !s.exists(namespace("app")) || s.api.Object("", "persistentvolumeclaims", "app", "data-db-0") == nil {
		t.Error("the namespace or the foreign volume is gone")
	}
}

func TestNamespaceOfOthersAndProtectedNamesAreNeverDeleted(t *testing.T) {
	inBubble(t, namespaceOfOthersAndProtectedNamesAreNeverDeleted)
}

func namespaceOfOthersAndProtectedNamesAreNeverDeleted(t *testing.T) {
	s := newSite(t)
	s.api.Put("v1", "Namespace", "", "theirs", nil)
	role := live(
		"rbac.authorization.k8s.io",
		"clusterroles",
		"rbac.authorization.k8s.io/v1",
		"ClusterRole",
		"",
		"system:ours",
		nil,
	)
	all := []store.Entry{namespace("theirs"), namespace("default"), namespace("kube-ours"), role}
	s.desire(all...)
	s.settled()
	for _, e := range all {
		if r := s.report(e.Key); r == nil || r.Error != nil || r.Applied == "" {
			t.Errorf("%s: %s", e.Key, dump(r))
		}
	}
	if n := s.writesTo("theirs") + s.writesTo("default"); n != 0 {
		t.Errorf("%d writes to namespaces of others", n)
	}
	s.desire(gone(all[0]), gone(all[1]), gone(all[2]), gone(all[3]))
	s.settled()
	for _, e := range all {
		if !s.exists(e) {
			t.Errorf("%s was deleted", e.Key)
		}
	}
}

func TestTombstoneWaitsForFinalizers(t *testing.T) { inBubble(t, tombstoneWaitsForFinalizers) }

func tombstoneWaitsForFinalizers(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	s.api.Put(
		"v1",
		"ConfigMap",
		"default",
		"c",
		map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/slow"}}},
	)
	s.desire(gone(c))
	eventually(t, "deletion was asked for", func() bool {
		o := s.api.Object("", "configmaps", "default", "c")
		return o["metadata"].(map[string]any)["deletionTimestamp"] != nil
	})
	if _, ok, err := s.desired.Get(c.Key); err != nil || !ok || s.report(c.Key) == nil {
		t.Errorf("the tombstone or its report is gone before the object is: %v", err)
	}
	s.api.Remove("", "configmaps", "default", "c")
	s.settled()
	eventually(t, "the tombstone is forgotten", func() bool { _, ok, _ := s.desired.Get(c.Key); return !ok })
}

func TestBurstIsParallel(t *testing.T) { inBubble(t, burstIsParallel) }

func burstIsParallel(t *testing.T) {
	s := newSite(t)
	var all []store.Entry
	for i := range 100 {
		all = append(all, configMap("default", fmt.Sprint("c", i), "1"))
	}
	s.desire(all...)
	s.settled()
	if n := s.api.Changes(); n != 100 {
		t.Errorf("%d changes for 100 objects", n)
	}
}

func TestObjectTakenOverIsNotDeleted(t *testing.T) { inBubble(t, objectTakenOverIsNotDeleted) }

func objectTakenOverIsNotDeleted(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	s.api.Put(
		"v1",
		"ConfigMap",
		"default",
		"c",
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/origin-uid": "another"}}},
	)
	s.desire(gone(c))
	s.settled()
	if !s.exists(c) {
		t.Error("an object that somebody else took over was deleted")
	}
}

func TestTheSameAgainIsNoWrite(t *testing.T) { inBubble(t, theSameAgainIsNoWrite) }

func theSameAgainIsNoWrite(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	s.desire(c)
	s.applier.Changed([]store.Key{c.Key})
	s.settled()
	if n := s.writesTo("c"); n != 1 {
		t.Errorf("%d writes of the same object", n)
	}
}
