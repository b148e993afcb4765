package crd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/cache"

	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store/kine"
)

// TestHold: a request for a resource whose definition is stored waits until the server of its space
// serves it. It does not wait for a definition that will not be served, and no longer than the
// definition is there.
func TestHold(t *testing.T) {
	st, err := kine.Open(t.Context(), kine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	key := registrykey.CRDPrefix + "team/boats.example.com"
	crd := described("Boat", "v1")
	crd.Name, crd.Spec.Group, crd.Spec.Names.Plural = "boats.example.com", "example.com", "boats"
	put := func(at int64) int64 {
		t.Helper()
		data, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		r, err := st.Client().OptimisticPut(t.Context(), key, data, at, kubernetes.PutOptions{})
		if err != nil || !r.Succeeded {
			t.Fatal(r, err)
		}
		return r.Revision
	}
	revision := put(0)

	all := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	s := NewServers(Config{}, st.Client().Client, borrow.NewTable())
	s.ctx, s.known["team"] = t.Context(), map[string]bool{crd.Name: true}
	s.server["team"] = &Server{
		known: listers.NewCustomResourceDefinitionLister(all),
		handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if known, err := s.server["team"].known.Get(crd.Name); err == nil && isServed(known) {
				w.WriteHeader(http.StatusOK)
				return
			}
			s.unserved(w, r)
		}),
	}
	ask := func(version string) chan int {
		r := httptest.NewRequest(http.MethodGet, "/apis/example.com/"+version+"/namespaces/default/boats", nil)
		ctx := request.WithSpace(r.Context(), "team")
		ctx = apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{IsResourceRequest: true, Verb: "list",
			APIGroup: "example.com", APIVersion: version, Resource: "boats", Namespace: "default"})
		code := make(chan int, 1)
		go func() {
			w := httptest.NewRecorder()
			s.Serve(w, r.WithContext(ctx))
			code <- w.Code
		}()
		return code
	}
	answers := func(what string, code chan int, want int) {
		t.Helper()
		select {
		case got := <-code:
			if got != want {
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		case <-time.After(holdTime / 2):
			t.Errorf("%s: no answer", what)
		}
	}
	waits := func(what string, code chan int) {
		t.Helper()
		select {
		case got := <-code:
			t.Fatalf("%s: answered with %d", what, got)
		case <-time.After(100 * time.Millisecond):
		}
	}
	// knows is what the informer of the server does.
	knows := func(revision int64, accepted, established apiextensionsv1.ConditionStatus) {
		one := crd.DeepCopy()
		one.ResourceVersion = strconv.FormatInt(revision, 10)
		one.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.NamesAccepted, Status: accepted},
			{Type: apiextensionsv1.Established, Status: established, Reason: "Installing"},
		}
		if err := all.Update(one); err != nil {
			t.Fatal(err)
		}
		s.config.changes.announce()
	}

	answers("a version that is not served", ask("v2"), http.StatusNotFound)
	held := ask("v1")
	waits("a new definition", held)
	knows(revision-1, apiextensionsv1.ConditionFalse, apiextensionsv1.ConditionFalse)
	waits("an older state of it", held)
	knows(revision+1, apiextensionsv1.ConditionTrue, apiextensionsv1.ConditionFalse)
	waits("its names accepted", held)
	knows(revision+2, apiextensionsv1.ConditionTrue, apiextensionsv1.ConditionTrue)
	answers("served", held, http.StatusOK)

	if err := all.Delete(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: crd.ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	held = ask("v1")
	waits("a definition that the server does not know", held)
	knows(revision+1, apiextensionsv1.ConditionFalse, apiextensionsv1.ConditionFalse)
	answers("refused", held, http.StatusNotFound)

	if err := all.Delete(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: crd.ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	held = ask("v1")
	waits("a definition that the server does not know", held)
	if _, err := st.Client().OptimisticDelete(
		t.Context(),
		key,
		revision,
		kubernetes.DeleteOptions{GetOnFailure: true},
	); err != nil {
		t.Fatal(err)
	}
	s.config.changes.announce()
	answers("deleted", held, http.StatusNotFound)
}
