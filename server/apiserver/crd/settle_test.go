package crd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"

	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store/kine"
)

// asked counts how often a server's definitions are looked at.
type asked struct {
	listers.CustomResourceDefinitionLister
	first chan struct{}
	times atomic.Int32
}

func (a *asked) Get(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if a.times.Add(1) == 1 {
		close(a.first)
	}
	return a.CustomResourceDefinitionLister.Get(name)
}

// TestAwaitDiscovery: a request waits until discovery has what is established. It looks once, and
// again when something has changed, never in between.
func TestAwaitDiscovery(t *testing.T) {
	st, err := kine.Open(t.Context(), kine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	crd := described("Boat", "v1")
	crd.Status.AcceptedNames = crd.Spec.Names
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	data, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	put, err := st.Client().OptimisticPut(
		t.Context(),
		registrykey.CRDPrefix+"team/"+crd.Name,
		data,
		0,
		kubernetes.PutOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServers(Config{}, st.Client().Client, borrow.NewTable())
	crd.ResourceVersion = strconv.FormatInt(put.Revision, 10)
	known := &asked{onlyDefinition{crd: crd}.Lister(), make(chan struct{}), atomic.Int32{}}
	kinds := newServedKinds(s.config.changes.announce)
	s.ctx = t.Context()
	s.known["team"], s.wrote["team"] = map[string]bool{
		crd.Name: false,
	}, time.Now().Add(
		time.Minute,
	) // fresh for as long as this takes
	s.server["team"] = &Server{discovery: kinds, known: known}

	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequest(http.MethodGet, "/apis", nil)
		s.AwaitDiscovery(r.WithContext(request.WithSpace(r.Context(), "team")))
	}()
	<-known.first
	select {
	case <-done:
		t.Fatal("the request does not wait")
	case <-time.After(200 * time.Millisecond): // time enough to look again
	}
	if n := known.times.Load(); n != 1 {
		t.Errorf("the definition is looked at %d times although nothing changes", n)
	}
	begin := time.Now()
	kinds.AddGroupVersion("example.com", apidiscovery.APIVersionDiscovery{Version: "v1",
		Resources: []apidiscovery.APIResourceDiscovery{{Resource: "boats"}}})
	<-done
	if took := time.Since(begin); took > holdTime/2 {
		t.Errorf("the request waits for %s after the change", took)
	}
	if n := known.times.Load(); n != 2 {
		t.Errorf("the definition is looked at %d times for one change", n)
	}
}
