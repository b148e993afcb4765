package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// mapped is an entry of a space whose namespaces have a prefix at sites.
func mapped(prefix string, e store.Entry) store.Entry {
	o := map[string]any{}
	if err := json.Unmarshal(e.Body, &o); err != nil {
		panic(err)
	}
	annotations := o["metadata"].(map[string]any)["annotations"].(map[string]any)
	annotations[target.AnnotationNamespacePrefix] = prefix
	e.Body, _ = json.Marshal(o)
	e.Hash = store.HashBody(e.Generation, e.Body)
	return e
}

// bank is a space with the prefix "bank-", beside "shop", which has none.
func bank(e store.Entry) store.Entry { return mapped("bank-", of("bank", e)) }

// there is what the target has for an entry of bank.
func (s *site) there(e store.Entry) map[string]any {
	k := target.Mapping("bank-").KeyThere(e.Key)
	return s.api.Object(k.Group, k.Resource, k.Namespace, k.Name)
}

func (s *site) applied(e store.Entry) {
	s.t.Helper()
	eventually(s.t, e.Key.String()+" is reported as applied", func() bool {
		r := s.report(e.Key)
		return r != nil && r.Error == nil && r.Applied == e.Hash.String()
	})
}

func TestTwoSpacesHaveNamespacesOfOneNameAtASite(t *testing.T) {
	inBubble(t, twoSpacesHaveNamespacesOfOneNameAtASite)
}

func twoSpacesHaveNamespacesOfOneNameAtASite(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.agent.applier.Gate.Impersonate = true
	web := deployment(1, "default", "web", 1)
	shop := []store.Entry{
		spaceNamespace("shop", "u1", "default"), configMap("default", "c", "shop"), web,
	}
	theirs := []store.Entry{
		bank(spaceNamespace("bank", "u2", "default")), bank(configMap("default", "c", "bank")), bank(web),
	}
	s.desire(append(shop, theirs...)...)
	s.settled()
	for _, e := range append(shop, theirs...) {
		s.applied(e)
	}
	for _, e := range theirs {
		if s.there(e) == nil {
			t.Errorf("%s is not there", e.Key)
		}
	}
	if data := dump(s.api.Object("", "configmaps", "default", "c")["data"]); data != "map[value:shop]" {
		t.Errorf("the other space's ConfigMap is %v", data)
	}
	const rbac, account = "rbac.authorization.k8s.io", "system:serviceaccount:skerry-spaces:bank"
	if s.api.Object(rbac, "rolebindings", "bank-default", "skerry-space") == nil {
		t.Error("the space's account has no rights in its namespace")
	}
	for _, w := range s.api.Writes() {
		if strings.HasSuffix(w.Path, "/namespaces/bank-default/configmaps/c") && w.User != account {
			t.Errorf("written as %q", w.User)
		}
	}

	// Each has its own Pods alone, under its own names.
	<-s.observer.Ready()
	for _, ns := range []string{"default", "bank-default"} {
		above := owned(s.uid("apps", "deployments", ns, "web"))
		set := s.api.Put("apps/v1", "ReplicaSet", ns, "web-1", above)
		s.api.Put("v1", "Pod", ns, "web-1-"+ns[:1], owned(set))
	}
	pod := func(space, name string) *store.Report {
		return s.report(store.Key{Space: space, Resource: "pods", Namespace: "default", Name: name})
	}
	eventually(t, "both have their Pod", func() bool {
		return pod("shop", "web-1-d") != nil && pod("bank", "web-1-b") != nil
	})
	if !strings.Contains(string(pod("bank", "web-1-b").Object), `"namespace":"default"`) {
		t.Errorf("the Pod is told as %s", pod("bank", "web-1-b").Object)
	}
	if pod("shop", "web-1-b") != nil || pod("bank", "web-1-d") != nil {
		t.Error("a space sees the Pod of another one")
	}

	// What somebody changes there is set back there.
	writes := s.writesTo("c")
	other := map[string]any{"data": map[string]any{"value": "other"}}
	s.api.PutAs("kubectl", "", "v1", "ConfigMap", "bank-default", "c", other)
	eventually(t, "the drift is set back", func() bool {
		return dump(s.there(theirs[1])["data"]) == "map[value:bank]" && s.writesTo("c") > writes
	})
	s.api.Remove("", "configmaps", "bank-default", "c")
	eventually(t, "what was deleted is made", func() bool { return s.there(theirs[1]) != nil })
	s.settled()

	// A restart and a crash write and delete nothing.
	before := len(s.api.Writes())
	for _, crash := range []bool{false, true} {
		s.restart(crash)
		s.agent.applier.Gate.Impersonate = true
		<-s.applier.Compared()
		<-s.observer.Ready()
		s.settled()
	}
	if n := len(s.api.Writes()); n != before {
		t.Errorf("%d writes by restarts: %+v", n-before, s.api.Writes()[before:])
	}

	// One space leaves, with all that it has, and nothing else goes. Its "default" is no name of
	// Kubernetes' there.
	var leave []store.Entry
	for _, e := range theirs {
		leave = append(leave, gone(e))
	}
	s.api.Remove("apps", "replicasets", "bank-default", "web-1")
	s.api.Remove("", "pods", "bank-default", "web-1-b")
	s.desire(leave...)
	s.settled()
	for _, e := range theirs {
		if s.there(e) != nil || s.report(e.Key) != nil {
			t.Errorf("%s is still there: %v", e.Key, s.there(e))
		}
	}
	for _, e := range shop {
		if !s.exists(e) {
			t.Errorf("%s of the other space is gone", e.Key)
		}
		s.applied(e)
	}
}

// A Namespace waits for what is in it by the names at the site, and names what is not from here.
func TestMappedNamespaceIsNotRemovedWithWhatOthersHaveInIt(t *testing.T) {
	inBubble(t, mappedNamespaceIsNotRemovedWithWhatOthersHaveInIt)
}

func mappedNamespaceIsNotRemovedWithWhatOthersHaveInIt(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	ns, c := bank(spaceNamespace("bank", "u2", "app")), bank(configMap("app", "c", "1"))
	shop := spaceNamespace("shop", "u1", "app")
	s.desire(shop, configMap("app", "c", "1"), ns, c)
	s.settled()
	s.api.Put("v1", "ConfigMap", "bank-app", "mine", map[string]any{"data": map[string]any{}})
	held := map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/hold"}}}
	s.api.PutAs("holder", "", "v1", "ConfigMap", "bank-app", "c", held)
	s.desire(gone(ns), gone(c))
	s.reported(c, "WaitingForFinalizers")
	if r := s.report(ns.Key); r != nil && r.Error != nil {
		t.Errorf("what the space itself has in it is told as %s", dump(r.Error))
	}
	s.api.Remove("", "configmaps", "bank-app", "c") // the finalizer is taken off
	if m := s.reported(ns, "NotEmpty"); m == "" || strings.Contains(m, "configmaps/c") ||
		!strings.Contains(m, "configmaps/mine") {
		t.Errorf("message %q", m)
	}
	s.api.Remove("", "configmaps", "bank-app", "mine")
	s.applier.Retry()
	eventually(t, "it goes", func() bool { return s.there(ns) == nil })
	if !s.exists(shop) {
		t.Error("the other space's namespace is gone")
	}
}

// What a space's names become at a site is refused in the words of both.
func TestMappedNamesAreRefusedInWords(t *testing.T) { inBubble(t, mappedNamesAreRefusedInWords) }

func mappedNamesAreRefusedInWords(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	long := strings.Repeat("n", 60)
	taken := spaceNamespace("shop", "u1", "bank-app")
	s.desire(taken)
	s.settled()
	for _, test := range []struct {
		prefix, name, reason string
		words                []string
	}{
		{"bank-", "app", "NamespaceTaken",
			[]string{`"app" is "bank-app" at the site`, `belongs to space "shop"`}},
		{"bank-", long, "NamespaceNotAllowed", []string{`"bank-` + long + `"`, "at most 58"}},
		{"kube-", "app1", "NamespaceNotAllowed", []string{`"kube-app1"`}},
		{"skerry-", "spaces", "NamespaceNotAllowed", []string{`"skerry-spaces"`}},
		{"../x-", "app2", "NamespaceNotAllowed", []string{`"../x-"`, "ends with '-'"}},
	} {
		ns := mapped(test.prefix, spaceNamespace("bank", "u2", test.name))
		c := mapped(test.prefix, of("bank", configMap(test.name, "c", "1")))
		writes := len(s.api.Writes())
		s.desire(ns, c)
		for _, e := range []store.Entry{ns, c} {
			m := s.reported(e, test.reason)
			for _, w := range test.words {
				if !strings.Contains(m, w) {
					t.Errorf("%s%s: %q does not say %s", test.prefix, test.name, m, w)
				}
			}
		}
		for _, w := range s.api.Writes()[writes:] {
			if w.Changed {
				t.Errorf("%s%s: written %s", test.prefix, test.name, w.Path)
			}
		}
		s.desire(gone(ns), gone(c))
		s.settled()
	}
}

// The cluster speaks of its own names, the report of the space's.
func TestRefusalsSpeakOfTheSpacesNames(t *testing.T) { inBubble(t, refusalsSpeakOfTheSpacesNames) }

func refusalsSpeakOfTheSpacesNames(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.api.Refuse(func(_, plural, _ string) *targettest.Refusal {
		if plural != "configmaps" {
			return nil
		}
		why := `no "c" in the namespace "bank-app"`
		return &targettest.Refusal{Code: 422, Reason: "Invalid", Message: why}
	})
	c := bank(configMap("app", "c", "1"))
	s.desire(bank(spaceNamespace("bank", "u2", "app")), c)
	if m := s.reported(c, "Invalid"); m != `no "c" in the namespace "app"` {
		t.Errorf("message %q", m)
	}
}

// A namespace that is there under one name keeps it, until it is made anew.
func TestANamespaceKeepsItsNameAtASite(t *testing.T) { inBubble(t, aNamespaceKeepsItsNameAtASite) }

func aNamespaceKeepsItsNameAtASite(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	ns, c := of("bank", spaceNamespace("bank", "u2", "app")), of("bank", configMap("app", "c", "1"))
	s.desire(ns, c)
	s.settled()
	later, d := bank(spaceNamespace("bank", "u3", "app")), bank(configMap("app", "d", "1"))
	s.desire(later, d)
	s.settled()
	if !s.exists(c) || !s.exists(d) || s.there(later) != nil || s.there(d) != nil {
		t.Error("one namespace of a space has two names at the site")
	}
	_, marks := s.metadataOf(ns)
	if marks[target.AnnotationSpaceUID] != "u3" || marks[target.AnnotationNamespacePrefix] != nil {
		t.Errorf("it is marked %v", marks)
	}
	s.desire(gone(later), gone(c), gone(d))
	s.settled()
	s.desire(later, d)
	s.settled()
	if s.exists(ns) || s.there(d) == nil {
		t.Error("made anew it does not have its new name")
	}
}

// What is read again is looked for where it is: what was written while its kind was being listed,
// and the Pods of an object that was made anew in the space.
func TestMappedObjectsAreReadAgainWhereTheyAre(t *testing.T) {
	inBubble(t, mappedObjectsAreReadAgainWhereTheyAre)
}

func mappedObjectsAreReadAgainWhereTheyAre(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.desire(bank(spaceNamespace("bank", "u2", "app")))
	s.settled()
	<-s.observer.Ready()
	s.api.Pause(true)
	s.desire(bank(configMap("app", "first", "1")))
	waited := func(n int) func() bool {
		return func() bool { return s.api.Waited("/api/v1/configmaps") == n }
	}
	eventually(t, "it is asked where the kind is", waited(1))
	s.api.Pass("/api/v1/configmaps")
	eventually(t, "the kind is being listed", waited(2))
	second := bank(configMap("app", "second", "1"))
	s.desire(second)
	s.settled()
	reads := s.api.Reads()
	s.api.Pause(false)
	eventually(t, "it is read again", func() bool { return s.api.Reads() > reads })

	web := bank(deployment(1, "app", "web", 1))
	s.desire(web)
	s.settled()
	set := s.api.Put("apps/v1", "ReplicaSet", "bank-app", "r",
		owned(s.uid("apps", "deployments", "bank-app", "web")))
	s.api.Put("v1", "Pod", "bank-app", "p", owned(set))
	pod := store.Key{Space: "bank", Resource: "pods", Namespace: "app", Name: "p"}
	eventually(t, "the Pod is told", func() bool { return s.report(pod) != nil })
	if n := s.writesTo("second"); n != 1 {
		t.Errorf("%d writes of what is there", n)
	}

	anew := web
	anew.Body = bytes.ReplaceAll(anew.Body, []byte("source-deployments-web"), []byte("source-anew"))
	anew.Hash = store.HashBody(1, anew.Body)
	s.desire(anew)
	eventually(t, "the Pod belongs to it", func() bool {
		r := s.report(pod)
		return r != nil && r.OriginUID == "source-anew"
	})
}

// A crash that loses all records leaves nothing: a tombstone says where what it names is.
func TestMappedNamesAfterACrash(t *testing.T) { inBubble(t, mappedNamesAfterACrash) }

func mappedNamesAfterACrash(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	ns, c := bank(spaceNamespace("bank", "u2", "app")), bank(configMap("app", "c", "1"))
	s.desire(ns, c)
	eventually(t, "it is there", func() bool { return s.there(c) != nil && s.applier.Pending() == 0 })
	writes := len(s.api.Writes())
	s.restart(true)
	<-s.applier.Compared()
	s.settled()
	for _, w := range s.api.Writes()[writes:] {
		if w.Changed {
			t.Errorf("after a crash %s %s", w.Method, w.Path)
		}
	}
	for _, e := range []store.Entry{ns, c} {
		s.inventory.Delete(e.Key) // as a crash loses them
	}
	s.desire(gone(c))
	s.settled()
	s.desire(gone(ns))
	s.settled()
	if s.there(c) != nil || s.there(ns) != nil {
		t.Error("what was written before the crash is still there")
	}
}

// A site that has lost its file finds what is its own by the space's names.
func TestMappedNamesAfterALostFile(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	all := []store.Entry{spaceNamespace("shop", "u1", "default"), configMap("default", "c", "shop")}
	for i := range 20 {
		all = append(all, configMap("default", fmt.Sprint("c", i), "shop"))
	}
	ns, mine := bank(spaceNamespace("bank", "u2", "default")), bank(configMap("default", "c", "bank"))
	removed := bank(configMap("default", "old", "bank"))
	all = append(all, ns, mine, removed)
	w := c.agent(dir, api, c.token.String())
	c.place(all...)
	c.eventuallyApplied(all)
	w.stop()
	if err := os.Remove(filepath.Join(dir, cacheFile)); err != nil {
		t.Fatal(err)
	}
	writes := len(api.Writes())
	c.place(gone(removed))
	w = c.agent(dir, api, "")
	eventually(t, "what was deleted meanwhile goes", func() bool {
		return api.Object("", "configmaps", "bank-default", "old") == nil
	})
	c.eventuallyApplied(all[:len(all)-1])
	w.stop()
	for _, write := range api.Writes()[writes:] {
		if write.Changed && !strings.HasSuffix(write.Path, "/bank-default/configmaps/old") {
			t.Errorf("%s %s", write.Method, write.Path)
		}
	}
	for _, at := range []string{"default", "bank-default"} {
		if api.Object("", "configmaps", at, "c") == nil {
			t.Errorf("the ConfigMap in %s is gone", at)
		}
	}
}
