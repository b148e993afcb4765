package summary

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// TestClaimsThatAreBeingDeleted: a claim that something uses stays at its target while it is being
// deleted, and the space shows that, until it has gone or another one has its name.
func TestClaimsThatAreBeingDeleted(t *testing.T) {
	devices := podReport("")
	devices.Object = json.RawMessage(strings.Replace(string(devices.Object), `"name":"web-0"`, `"uid":"there"`, 1))
	for name, claim := range map[string]struct {
		key    store.Key
		report *store.Report
	}{
		"of a volume": {dataOf, claimReport("db")},
		"of devices":  {key("resource.k8s.io", "resourceclaims", "web-0-gpu"), devices},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCenter(t)
				defer c.stop()
				c.place(db, "apps/v1", "StatefulSet", "a")
				c.place(web, "apps/v1", "Deployment", "a")
				says := func(uid string) {
					r := *claim.report
					r.Object = json.RawMessage(strings.Replace(string(r.Object), `"uid":"there"`, uid, 1))
					c.says("a", claim.key, &r)
				}
				going := func() bool {
					o, err := c.Get(t.Context(), claim.key, "")
					return err == nil && fields.String(fields.Map(o, "metadata"), "deletionTimestamp") != ""
				}
				says(`"uid":"there"`)
				c.eventually("it is mirrored", func() bool { return c.exists(claim.key) })
				uid := c.uidOf(claim.key)
				if going() {
					t.Error("it is being deleted already")
				}
				says(`"uid":"there","deletionTimestamp":"t","deletionGracePeriodSeconds":0`)
				c.eventually("it is being deleted", func() bool { return going() && c.uidOf(claim.key) == uid })
				says(`"uid":"next"`)
				c.eventually("the next one is shown", func() bool {
					return c.exists(claim.key) && c.uidOf(claim.key) != uid && !going()
				})
				c.says("a", claim.key, nil)
				c.eventually("it goes", func() bool { return !c.exists(claim.key) })
			})
		})
	}
}
