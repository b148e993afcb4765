package crd

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
)

// TestSharedDefinitions: equal definitions of different spaces share what is made of them, others
// do not, and what nobody serves is forgotten.
func TestSharedDefinitions(t *testing.T) {
	all := newSharedDefinitions(&Config{}, nil)
	space := func() *serving { return &serving{shared: all, byName: map[string]served{}} }
	keep := func(
		s *serving,
		change func(*apiextensionsv1.CustomResourceDefinition),
	) *apiextensionsv1.CustomResourceDefinition {
		crd := described("Boat", "v1")
		crd.UID = "of one space"
		crd.Labels = map[string]string{"of": "one space"}
		crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		}
		change(crd)
		kept, err := s.keep(crd)
		if err != nil || kept != any(crd) {
			t.Fatalf("kept %v: %v", kept, err)
		}
		return crd
	}
	a, b := space(), space()
	x := keep(a, func(*apiextensionsv1.CustomResourceDefinition) {})
	y := keep(b, func(crd *apiextensionsv1.CustomResourceDefinition) { slices.Reverse(crd.Status.Conditions) })
	if &x.Spec.Versions[0] != &y.Spec.Versions[0] || x.Labels["of"] == "" {
		t.Error("equal definitions are decoded twice, or lose what is theirs")
	}
	first, _ := a.of(x)
	if second, _ := b.of(y); first != second {
		t.Error("equal definitions share nothing")
	}
	if shared := first.crd; shared.UID == x.UID || len(shared.Labels) > 0 {
		t.Errorf("what is shared has something of a space: %v", shared.ObjectMeta)
	}
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"schema": func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["x"] = apiextensionsv1.JSONSchemaProps{}
		},
		"scope": func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Scope = apiextensionsv1.ClusterScoped },
		"names": func(c *apiextensionsv1.CustomResourceDefinition) { c.Status.AcceptedNames.Kind = "Ship" },
		"established": func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Status.Conditions[0].Status = apiextensionsv1.ConditionFalse
		},
		"terminating": func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Status.Conditions = append(
				c.Status.Conditions,
				apiextensionsv1.CustomResourceDefinitionCondition{
					Type:   apiextensionsv1.Terminating,
					Status: apiextensionsv1.ConditionTrue,
				},
			)
		},
	} {
		other := space()
		if shared, _ := other.of(keep(other, change)); shared == first {
			t.Errorf("definitions of another %s share", name)
		}
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	a, b, x, y, first = nil, nil, nil, nil, nil
	for end := time.Now().Add(time.Minute); ; {
		runtime.GC()
		all.mu.Lock()
		left := len(all.all)
		all.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d that nobody serves are kept", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, _, _, _, _ = a, b, x, y, first
}

// What serves equal definitions of several spaces is told by each request whose definition it
// stands for: what a borrower writes is judged by that.
func TestSharedDefinitionsAreSomebodys(t *testing.T) {
	definer := "nobody"
	handler := func() (http.Handler, error) {
		return http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) { definer = request.Definer(r.Context()) },
		), nil
	}
	crd := described("Boat", "v1")
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	shared := &sharedDefinition{crd: crd, handler: handler}
	for _, space := range []string{"lender", "other", ""} {
		s := &serving{space: space, byName: map[string]served{crd.Name: {crd, shared}}}
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r = r.WithContext(apirequest.WithRequestInfo(
			request.WithSpace(r.Context(), "borrower"),
			&apirequest.RequestInfo{
				IsResourceRequest: true,
				APIGroup:          crd.Spec.Group,
				Resource:          crd.Spec.Names.Plural,
			},
		))
		s.wrap(onlyDefinition{crd: crd}.Lister(), http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		if definer != space {
			t.Errorf("a request that is served with the definition of %q is said to be of %q", space, definer)
		}
	}
}

// No object is made of a definition before it is established: upstream would let the definition go
// without a look for objects, and these would stay in the store.
func TestNotServedBeforeEstablished(t *testing.T) {
	crd := described("Boat", "v1")
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse, Reason: "Installing"},
	}
	answered := ""
	by := func(who string) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { answered = who }
	}
	shared := &sharedDefinition{crd: crd, handler: func() (http.Handler, error) { return by("objects"), nil }}
	s := &serving{
		shared: &sharedDefinitions{unserved: by("unserved")},
		byName: map[string]served{crd.Name: {crd, shared}},
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r = r.WithContext(apirequest.WithRequestInfo(r.Context(), &apirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: crd.Spec.Group, Resource: crd.Spec.Names.Plural,
	}))
	for reason, want := range map[string]string{"Installing": "unserved", "InvalidCABundle": "objects"} {
		crd.Status.Conditions[1].Reason = reason
		s.wrap(onlyDefinition{crd: crd}.Lister(), by("own")).ServeHTTP(httptest.NewRecorder(), r)
		if answered != want {
			t.Errorf("%s: answered by %s, want %s", reason, answered, want)
		}
	}
}
