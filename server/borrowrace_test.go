package server_test

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/store/storetest"
)

// sharedRace is one round: a lender that defines boats, and a borrower. What is done at one moment
// is done through different replicas.
type sharedRace struct {
	*testing.T
	replicas         [2]*center
	lender, borrower string
}

func TestBorrowRacesOnPostgres(t *testing.T) { borrowRaces(t, storetest.StartPostgres(t).Endpoint) }

func TestBorrowRacesOnEtcd(t *testing.T) { borrowRaces(t, storetest.StartEtcd(t, 3).Endpoint) }

// borrowRaces asks two replicas of a center on one datastore at the same moment for what does not
// go together. Whatever is refused, no object is left without its definition, and no space is
// served with what nobody lends.
func borrowRaces(t *testing.T, endpoint string) {
	ca := newAuthority(t)
	var replicas [2]*center
	for i := range replicas {
		st, err := kine.Open(t.Context(), kine.Config{Endpoint: endpoint})
		must(t, err)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		replicas[i] = startStored(t, l, st, ca, nil)
		replicas[i].busy = true // the other one's goroutines run while it stops
	}
	rounds := 1
	if os.Getenv("SKERRY_POSTGRES")+os.Getenv("SKERRY_ETCD") != "" {
		rounds = 5
	}
	var done []*sharedRace
	granted := map[string]int{}
	for round := range rounds {
		for _, race := range []struct {
			name     string
			borrowed bool // when it begins
			one, two func(*sharedRace, *center) error
		}{
			{"borrow, and the definition goes", false, (*sharedRace).borrow, (*sharedRace).undefine},
			{"borrow, and the word is taken back", false, (*sharedRace).borrow, (*sharedRace).unshare},
			{"borrow, and the lender goes", false, (*sharedRace).borrow, (*sharedRace).leave},
			{"an object, and the definition goes", true, (*sharedRace).build, (*sharedRace).undefine},
			{"an object, and the word is taken back", true, (*sharedRace).build, (*sharedRace).unshare},
			{"an object, and the group is given back", true, (*sharedRace).build, (*sharedRace).giveBack},
			{"the group is given back, and the lender goes", true, (*sharedRace).giveBack, (*sharedRace).leave},
		} {
			r := &sharedRace{t, replicas, fmt.Sprintf("lender-%d", len(done)), fmt.Sprintf("borrower-%d", len(done))}
			r.prepare(race.borrowed)
			var errs [2]error
			var both sync.WaitGroup
			begin := make(chan struct{})
			for i, do := range []func(*sharedRace, *center) error{race.one, race.two} {
				at := replicas[(round+i)%2]
				both.Go(func() {
					<-begin
					errs[i] = do(r, at)
				})
			}
			close(begin)
			both.Wait()
			for i, err := range errs {
				if err == nil {
					granted[fmt.Sprintf("%s (%d)", race.name, i+1)]++
				} else if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
					t.Errorf("%s: the request of replica %d ends with %v", race.name, i, err)
				}
			}
			within(t, time.Minute, race.name+": what is left goes together", func() bool { return r.orphan() == "" })
			done = append(done, r)
		}
	}
	for _, r := range done { // also after all that takes time has been done
		if orphan := r.orphan(); orphan != "" {
			t.Error(orphan)
		}
	}
	t.Logf("%d rounds, granted %v", rounds, granted)
}

const boatsName, boatsGroup = "boats.stable.example.com", "stable.example.com"

// prepare makes both spaces, and waits until both replicas serve boats where they are to be served.
func (r *sharedRace) prepare(borrowed bool) {
	r.replicas[0].createSpace(r.lender, "Delete")
	r.replicas[0].createSpace(r.borrower, "Delete")
	def := sharedDefinition("boats", "Boat", "name")
	def.SetAnnotations(map[string]string{"skerry.dev/shared": "true"})
	served := func(space string) {
		for _, c := range r.replicas {
			within(r.T, time.Minute, "boats in "+space, func() bool {
				_, err := dyn(r.T, c.admin(space)).Resource(boatsV1).List(r.Context(), metav1.ListOptions{})
				return err == nil
			})
		}
	}
	within(r.T, time.Minute, "the definition", func() bool {
		_, err := dyn(
			r.T,
			r.replicas[1].admin(r.lender),
		).Resource(
			crdsGVR,
		).Create(
			r.Context(),
			def,
			metav1.CreateOptions{},
		)
		return err == nil
	})
	served(r.lender)
	if borrowed {
		must(r.T, r.borrow(r.replicas[0]))
		served(r.borrower)
	}
}

func (r *sharedRace) borrow(c *center) error {
	return r.patchBorrower(c, fmt.Sprintf(`{"spec":{"apis":[{"fromSpace":%q,"group":%q}]}}`, r.lender, boatsGroup))
}

func (r *sharedRace) giveBack(c *center) error {
	return r.patchBorrower(c, `{"spec":{"apis":null}}`)
}

func (r *sharedRace) patchBorrower(c *center, body string) error {
	_, err := dyn(
		r.T,
		c.admin("root"),
	).Resource(
		spacesGVR,
	).Patch(
		r.Context(),
		r.borrower,
		types.MergePatchType,
		[]byte(body),
		metav1.PatchOptions{},
	)
	return err
}

func (r *sharedRace) leave(c *center) error {
	return dyn(r.T, c.admin("root")).Resource(spacesGVR).Delete(r.Context(), r.lender, metav1.DeleteOptions{})
}

func (r *sharedRace) undefine(c *center) error {
	return dyn(r.T, c.admin(r.lender)).Resource(crdsGVR).Delete(r.Context(), boatsName, metav1.DeleteOptions{})
}

func (r *sharedRace) unshare(c *center) error {
	_, err := dyn(
		r.T,
		c.admin(r.lender),
	).Resource(
		crdsGVR,
	).Patch(
		r.Context(),
		boatsName,
		types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"skerry.dev/shared":null}}}`),
		metav1.PatchOptions{},
	)
	return err
}

func (r *sharedRace) build(c *center) error {
	_, err := dyn(
		r.T,
		c.admin(r.borrower),
	).Resource(
		boatsV1,
	).Namespace(
		"default",
	).Create(
		r.Context(),
		object("stable.example.com/v1", "Boat", "", "one"),
		metav1.CreateOptions{},
	)
	return err
}

// orphan tells what stands in the datastore without what it needs, or nothing.
func (r *sharedRace) orphan() string {
	ctx := r.Context()
	objects, err := r.replicas[0].store.Client().Client.Get(
		ctx,
		"/registry/"+boatsGroup+"/boats/"+r.borrower+"/",
		clientv3.WithPrefix(),
		clientv3.WithKeysOnly(),
	)
	must(r.T, err)
	root := dyn(r.T, r.replicas[0].admin("root")).Resource(spacesGVR)
	borrower, err := root.Get(ctx, r.borrower, metav1.GetOptions{})
	must(r.T, err)
	apis, _, err := unstructured.NestedSlice(borrower.Object, "spec", "apis")
	must(r.T, err)
	_, noLender := root.Get(ctx, r.lender, metav1.GetOptions{})
	definition, err := dyn(
		r.T,
		r.replicas[0].admin(r.lender),
	).Resource(
		crdsGVR,
	).Get(
		ctx,
		boatsName,
		metav1.GetOptions{},
	)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		r.Fatal(err)
	case noLender != nil && !apierrors.IsNotFound(noLender):
		r.Fatal(noLender)
	case len(apis) > 0 && noLender != nil:
		return fmt.Sprintf("%s borrows of %s, which is gone", r.borrower, r.lender)
	case len(objects.Kvs) > 0 && len(apis) == 0:
		return fmt.Sprintf("%s holds %s and does not borrow the group", r.borrower, objects.Kvs[0].Key)
	case len(objects.Kvs) > 0 && err != nil:
		return fmt.Sprintf(
			"%s holds %s, of which %s has no definition any more",
			r.borrower,
			objects.Kvs[0].Key,
			r.lender,
		)
	case len(apis) > 0 && err == nil && definition.GetAnnotations()["skerry.dev/shared"] != "true":
		return fmt.Sprintf("%s borrows of %s, which does not lend", r.borrower, r.lender)
	}
	return ""
}
