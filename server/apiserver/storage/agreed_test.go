package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/kine"
)

// agreements is a datastore with a Space "borrower" and a Space "lender" that defines boats.
type agreements struct {
	*testing.T
	client *kubernetes.Client
	known  *borrow.Table
	*Storages
}

func newAgreements(t *testing.T) *agreements {
	st, err := kine.Open(t.Context(), kine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	b := borrow.NewTable()
	borrower, err := json.Marshal(aSpace("borrower", true, false))
	if err == nil {
		err = b.Reset(
			0,
			[]*mvccpb.KeyValue{{Key: []byte(registrykey.SpacePrefix + "borrower"), Value: borrower}},
		) // known to the cache
	}
	if err != nil {
		t.Fatal(err)
	}
	a := &agreements{
		t,
		st.Client(),
		b,
		ForSpaces(Config{Client: st.Client(), Quota: noQuota{}, Lending: borrow.NewCheck(b, st.Client().Client)}),
	}
	a.spaceIs("lender", false, false)
	a.spaceIs("borrower", true, false)
	a.boatsAre(true, false)
	return a
}

// noQuota lets spaces hold anything.
type noQuota struct{}

func (noQuota) Reserve(context.Context, store.Key) (func(int64), error) { return func(int64) {}, nil }

func (noQuota) Grows(context.Context, store.Key, runtime.Object, runtime.Object) error { return nil }

func (noQuota) Size(store.Key) int64 { return 0 }

func (noQuota) Seen() int64 { return 0 }

// put writes as another replica does.
func (a *agreements) put(key string, value any) {
	a.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		a.Fatal(err)
	}
	a.remove(key)
	if _, err := a.client.OptimisticPut(a.Context(), key, data, 0, kubernetes.PutOptions{}); err != nil {
		a.Fatal(err)
	}
}

func (a *agreements) remove(key string) {
	a.Helper()
	got, err := a.client.Client.Get(a.Context(), key, clientv3.WithLimit(1))
	if err == nil && len(got.Kvs) > 0 {
		_, err = a.client.OptimisticDelete(
			a.Context(),
			key,
			got.Kvs[0].ModRevision,
			kubernetes.DeleteOptions{GetOnFailure: true},
		)
	}
	if err != nil {
		a.Fatal(err)
	}
}

func named(name string, going bool) map[string]any {
	m := map[string]any{"name": name}
	if going {
		m["deletionTimestamp"] = "2020-01-01T00:00:00Z"
	}
	return m
}

func aSpace(name string, borrows, going bool) *unstructured.Unstructured {
	s := &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "skerry.dev/v1alpha1",
			"kind":       "Space",
			"metadata":   named(name, going),
			"spec":       map[string]any{},
		},
	}
	if borrows {
		s.Object["spec"] = map[string]any{
			"apis": []any{map[string]any{"fromSpace": "lender", "group": "sea.example.com"}},
		}
	}
	return s
}

func (a *agreements) spaceIs(name string, borrows, going bool) {
	a.put(registrykey.SpacePrefix+name, aSpace(name, borrows, going).Object)
}

const boats = "boats.sea.example.com"

func (a *agreements) boatsAre(shared, going bool) {
	m := named(boats, going)
	if shared {
		m["annotations"] = map[string]any{v1alpha1.AnnotationShared: "true"}
	}
	a.put(
		registrykey.CRDPrefix+"lender/"+boats,
		map[string]any{
			"metadata": m,
			"spec":     map[string]any{"group": "sea.example.com", "names": map[string]any{"plural": "boats"}},
		},
	)
}

const aBoat = registrykey.Prefix + "/sea.example.com/boats/borrower/default/one"

func (a *agreements) boatIs() {
	a.put(aBoat, map[string]any{"metadata": named("one", false)})
}

func definition(shared bool) *apiextensions.CustomResourceDefinition {
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: boats}}
	crd.Spec.Group, crd.Spec.Names.Plural = "sea.example.com", "boats"
	if shared {
		crd.Annotations = map[string]string{v1alpha1.AnnotationShared: "true"}
	}
	return crd
}

// Each of two writes was judged before the other one was there. The later one is refused and taken
// back.
func TestAgreementIsLookedAtAgain(t *testing.T) {
	boat := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": named("one", false)},
	}
	for name, x := range map[string]struct {
		prefix, definer, space string
		before, write          runtime.Object // before is nil for a new one
		given                  func(a *agreements)
		beside                 func(a *agreements)
		says                   string // "" for what is agreed
	}{
		"an object of a definition that stays": {
			prefix:  "/sea.example.com/boats",
			definer: "lender",
			space:   "borrower",
			write:   boat,
		},
		"an object of a definition that is about to go": {
			prefix:  "/sea.example.com/boats",
			definer: "lender",
			space:   "borrower",
			write:   boat,
			beside:  func(a *agreements) { a.boatsAre(true, true) },
			says:    "is not served with the definition",
		},
		"an object of a definition that is gone": {
			prefix:  "/sea.example.com/boats",
			definer: "lender",
			space:   "borrower",
			write:   boat,
			beside: func(a *agreements) {
				a.remove(
					registrykey.CRDPrefix + "lender/" + boats,
				)
			},
			says: "is not served with the definition",
		},
		"an object of a definition that is not shared any more": {
			prefix:  "/sea.example.com/boats",
			definer: "lender",
			space:   "borrower",
			write:   boat,
			beside:  func(a *agreements) { a.boatsAre(false, false) },
			says:    "is not served with the definition",
		},
		"an object of a group that is given back": {
			prefix:  "/sea.example.com/boats",
			definer: "lender",
			space:   "borrower",
			write:   boat,
			beside:  func(a *agreements) { a.spaceIs("borrower", false, false) },
			says:    "is not served with the definition",
		},
		"a change of such an object": {
			prefix:  "/sea.example.com/boats",
			definer: "lender",
			space:   "borrower",
			before:  boat,
			write:   boat,
			beside:  func(a *agreements) { a.boatsAre(true, true) },
		},

		"a definition of the borrower's own": {
			prefix: "/apiextensions.k8s.io/customresourcedefinitions",
			space:  "borrower",
			write:  definition(true),
			given: func(a *agreements) {
				a.spaceIs(
					"borrower",
					false,
					false,
				)
			},
			beside: func(a *agreements) {
				a.spaceIs(
					"borrower",
					true,
					false,
				)
			},
			says: "served with the definitions of space lender",
		},
		"a definition without the word": {
			prefix: "/apiextensions.k8s.io/customresourcedefinitions",
			space:  "lender",
			write:  definition(false),
			given: func(a *agreements) {
				a.spaceIs(
					"borrower",
					false,
					false,
				)
			},
			beside: func(a *agreements) { a.spaceIs("borrower", true, false) },
			says:   "annotate this one",
		},
		"the word is taken back": {
			prefix: "/apiextensions.k8s.io/customresourcedefinitions",
			space:  "lender",
			before: definition(true),
			write:  definition(false),
			given: func(a *agreements) {
				a.spaceIs(
					"borrower",
					false,
					false,
				)
			},
			beside: func(a *agreements) { a.spaceIs("borrower", true, false) },
			says:   "annotate this one",
		},
		"the word is taken back, and nobody borrows": {
			prefix: "/apiextensions.k8s.io/customresourcedefinitions",
			space:  "lender",
			before: definition(true),
			write:  definition(false),
			given:  func(a *agreements) { a.spaceIs("borrower", false, false) },
		},

		"a group is borrowed": {
			prefix: registrykey.SpacesPath,
			space:  request.RootSpace,
			before: aSpace("borrower", false, false),
			write:  aSpace("borrower", true, false),
		},
		"a group is borrowed whose word is taken back": {
			prefix: registrykey.SpacesPath,
			space:  request.RootSpace,
			before: aSpace("borrower", false, false),
			write:  aSpace("borrower", true, false),
			beside: func(a *agreements) { a.boatsAre(false, false) },
			says:   "does not share",
		},
		"a new space borrows of one that is about to go": {
			prefix: registrykey.SpacesPath,
			space:  request.RootSpace,
			write:  aSpace("borrower", true, false),
			beside: func(a *agreements) { a.spaceIs("lender", false, true) },
			says:   "name another space",
		},
		"a group is given back of which there is an object": {
			prefix: registrykey.SpacesPath,
			space:  request.RootSpace,
			before: aSpace("borrower", true, false),
			write:  aSpace("borrower", false, false),
			beside: func(a *agreements) { a.boatIs() },
			says:   "the space holds " + boats,
		},
		"a group is given back": {
			prefix: registrykey.SpacesPath,
			space:  request.RootSpace,
			before: aSpace("borrower", true, false),
			write:  aSpace("borrower", false, false),
		},
	} {
		for _, own := range []bool{
			true,
			false,
		} { // the definition's server is its space's own, or equal ones are served together
			t.Run(fmt.Sprintf("%s, own server %v", name, own), func(t *testing.T) {
				a := newAgreements(t)
				if x.given != nil {
					x.given(a)
				}
				slow := &slowStorage{stored: x.before}
				if x.beside != nil {
					slow.beside = func() { x.beside(a) }
				}
				s := &spaceStorage{Interface: slow, raw: slow, prefix: x.prefix, all: a.Storages}
				ctx, out := request.WithSpace(t.Context(), x.space), x.write.DeepCopyObject()
				if own {
					s.only = x.definer
				} else {
					ctx = request.WithDefiner(ctx, x.definer)
				}
				var err error
				if x.before == nil {
					err = s.Create(ctx, x.prefix+"/one", x.write.DeepCopyObject(), out, 0)
				} else {
					err = s.GuaranteedUpdate(
						ctx,
						x.prefix+"/one",
						out,
						false,
						nil,
						func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) {
							return x.write.DeepCopyObject(), nil, nil
						},
						nil,
					)
				}
				if x.says == "" {
					if err != nil || slow.stored == nil {
						t.Errorf("agreed, and stored %v: %v", slow.stored, err)
					}
					return
				}
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), x.says) {
					t.Errorf("not agreed: %v", err)
				}
				was, _ := json.Marshal(x.before)
				is, _ := json.Marshal(slow.stored)
				if string(is) != string(was) {
					t.Errorf("what was\n%s\nis after it was taken back\n%s", was, is)
				}
			})
		}
	}
}

// Upstream lists what is made of a definition before it lets it go. It is told of a borrower that
// holds some, whatever the cache of borrowers knows.
func TestDefinitionInUseDoesNotGo(t *testing.T) {
	a := newAgreements(t)
	if err := a.known.Reset(0, nil); err != nil {
		t.Fatal(err)
	}
	a.boatIs()
	s := &spaceStorage{Interface: &slowStorage{}, prefix: "/sea.example.com/boats", only: "lender", all: a.Storages}
	err := s.GetList(t.Context(), "/sea.example.com/boats", storage.ListOptions{}, &unstructured.UnstructuredList{})
	if err == nil || !strings.Contains(err.Error(), "space borrower holds objects of it") {
		t.Errorf("a definition that a borrower uses may go: %v", err)
	}
	a.remove(aBoat)
	if err := a.config.Lending.Unused(t.Context(), "lender", s.resource()); err != nil {
		t.Errorf("a definition that nobody uses: %v", err)
	}
}
