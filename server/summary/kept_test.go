package summary

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

var (
	db      = key("apps", "statefulsets", "db")
	dataOf  = key("", "persistentvolumeclaims", "data-db-0")
	storing = namespaceKey(dataOf)
)

// claimReport is the report of a claim of the template of a StatefulSet; an empty name is that of one
// whose StatefulSet is gone.
func claimReport(set string) *store.Report {
	refs := []string{fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","name":%q,"uid":%q}`, dataOf.Namespace, "uid-"+storing.Name)}
	origin := "uid-" + storing.Name
	if set != "" {
		refs = append([]string{fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"StatefulSet","name":%q,"uid":%q}`, set, "uid-"+set)}, refs...)
		origin = "uid-" + set
	}
	return &store.Report{OriginUID: origin, Status: status(`{"phase":"Bound"}`), Object: json.RawMessage(
		`{"metadata":{"uid":"there","ownerReferences":[` + strings.Join(refs, ",") + `]},"spec":{"volumeName":"pv"}}`)}
}

// forget deletes an object that was placed.
func (c *center) forget(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.placed, k)
	c.commit(k, nil)
}

// leave takes an object off all targets.
func (c *center) leave(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.placed, k)
}

// settle makes the claim in the space what is reported of it now.
func (c *center) settle() {
	c.t.Helper()
	c.eventually("the claim is mirrored", func() bool {
		err := c.s.mirror(c.t.Context(), dataOf)
		if err != nil && !apierrors.IsConflict(err) { // a worker may be at it, too
			c.t.Fatal(err)
		}
		return err == nil
	})
}

// ownerless reports whether the space has a claim to which nobody is an owner.
func (c *center) ownerless(k store.Key) bool {
	o, err := c.Get(c.t.Context(), k, "")
	return err == nil && len(fields.List(fields.Map(o, "metadata"), "ownerReferences")) == 0
}

// TestClaimsStayInTheirSpace: the claim of a template has no owner in the space. It stays as it is
// when its StatefulSet goes, before its target has said anything, and goes when the target has
// deleted it.
func TestClaimsStayInTheirSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(storing, "v1", "Namespace", "a")
		c.place(db, "apps/v1", "StatefulSet", "a")
		c.says("a", dataOf, claimReport("db"))
		c.eventually("it is shown without an owner", func() bool { return c.ownerless(dataOf) })
		uid, writes := c.uidOf(dataOf), c.count()
		c.forget(db)
		c.settle()
		c.says("a", dataOf, claimReport(""))
		c.settle()
		if c.uidOf(dataOf) != uid || c.count() != writes {
			t.Errorf("it is another one: %s, was %s; %d writes", c.uidOf(dataOf), uid, c.count()-writes)
		}
		c.says("a", dataOf, nil)
		c.eventually("it goes", func() bool { return !c.exists(dataOf) })
	})
}

// TestClaimsOfATargetThatTheirNamespaceHasLeft: what was shown stays for as long as the Namespace is
// that of the report. A target that the Namespace never had shows nothing.
func TestClaimsOfATargetThatTheirNamespaceHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(storing, "v1", "Namespace", "a")
		c.place(db, "apps/v1", "StatefulSet", "a")
		c.says("a", dataOf, claimReport("db"))
		c.eventually("it is shown", func() bool { return c.ownerless(dataOf) })
		namespace := func(uid string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.commit(storing, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
				"name": storing.Name, "uid": uid}})
		}
		namespace("uid-" + storing.Name)
		c.forget(db)
		c.leave(storing)
		c.says("a", dataOf, claimReport(""))
		c.says("b", dataOf, claimReport(""))
		c.settle()
		if c.from(dataOf) != "a" || c.exists(key("", "persistentvolumeclaims", "data-db-0.b")) {
			t.Errorf("shown from %q; of b: %v", c.from(dataOf), c.exists(key("", "persistentvolumeclaims", "data-db-0.b")))
		}
		namespace("another")
		c.says("a", dataOf, claimReport(""))
		c.eventually("the claims of another Namespace of that name are not shown", func() bool { return !c.exists(dataOf) })
	})
}

// TestClaimsBesideThoseOfANewPlace: a StatefulSet that is elsewhere now has the plain names.
func TestClaimsBesideThoseOfANewPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(storing, "v1", "Namespace", "a", "b")
		c.place(db, "apps/v1", "StatefulSet", "b")
		c.says("a", dataOf, claimReport(""))
		c.eventually("it is alone", func() bool { return c.from(dataOf) == "a" })
		c.says("b", dataOf, claimReport("db"))
		c.eventually("it steps back", func() bool {
			return c.from(dataOf) == "b" && c.from(key("", "persistentvolumeclaims", "data-db-0.a")) == "a"
		})
	})
}

// TestClaimsOfSitesOfBefore: their reports call the StatefulSet a controller, and nothing else.
func TestClaimsOfSitesOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(db, "apps/v1", "StatefulSet", "a")
		r := claimReport("db")
		r.Object = json.RawMessage(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db",
		"uid":"uid-db","controller":true}]}}`)
		c.says("a", dataOf, r)
		c.eventually("shown with its owner", func() bool { return c.owner(dataOf) == "StatefulSet/db uid-db" })
		c.forget(db)
		c.eventually("and goes with it", func() bool { return !c.exists(dataOf) })
	})
}
