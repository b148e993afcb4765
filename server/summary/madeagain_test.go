package summary

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// An object that is deleted, made again and refused again is told about, though the site says the same as
// of the one before.
func TestARefusalOfWhatWasMadeAgainIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		refused := func(uid string) *store.Report {
			return &store.Report{OriginUID: uid, Error: &store.ReportError{Reason: "QuotaExceeded", Message: "exceeded quota: pods"}}
		}
		synced := func() map[string]any {
			return byType(ours, c.status(web)["conditions"])[v1alpha1.ConditionObjectSynced]
		}
		told := func(uid string) bool {
			for event := range c.happenings() {
				if strings.Contains(event, " "+uid+" x1 QuotaExceeded ") {
					return true
				}
			}
			return false
		}
		c.place(web, "apps/v1", "Deployment", "a")
		c.says("a", web, refused("uid-web"))
		c.eventually("the condition", func() bool { return synced()["status"] == "False" && told("uid-web") })
		c.mu.Lock()
		c.commit(web, nil)
		c.commit(web, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": web.Name, "uid": "uid-2"}})
		again := c.placed[web]
		again.UID = "uid-2"
		c.placed[web] = again
		c.mu.Unlock()
		c.says("a", web, refused("uid-2"))
		c.eventually("the condition of the new one", func() bool { return fmt.Sprint(synced()["status"]) == "False" })
		c.eventually("the event about the new one", func() bool { return told("uid-2") })
	})
}
