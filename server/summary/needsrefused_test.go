package summary

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// TestARefusalStandsOnTheWorkloadThatNeedsIt refuses a Secret and a claim that a Deployment names
// at one of its two targets, and lets them in again. A class that is refused there is the site's to
// judge.
func TestARefusalStandsOnTheWorkloadThatNeedsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		secret, claim := key("", "secrets", "cert"), key("", "persistentvolumeclaims", "data")
		class := store.Key{Space: web.Space, Group: "scheduling.k8s.io", Resource: "priorityclasses", Name: "high"}
		c.mu.Lock()
		c.needs = map[store.Key][]store.Key{web: {secret, claim, class}}
		c.mu.Unlock()
		c.place(web, "apps/v1", "Deployment", "a", "b")
		c.place(secret, "v1", "Secret", "a", "b")
		c.place(claim, "v1", "PersistentVolumeClaim", "a", "b")
		c.place(class, "scheduling.k8s.io/v1", "PriorityClass", "a", "b")
		for _, target := range []string{"a", "b"} {
			c.says(target, web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":3}`)})
		}
		refuse := func(k store.Key, reason string) {
			r := &store.Report{OriginUID: "uid-" + k.Name}
			if reason != "" {
				r.Error = &store.ReportError{Reason: reason, Message: "not allowed here"}
			}
			c.says("b", k, r)
		}
		says := func(words ...string) {
			t.Helper()
			c.eventually(fmt.Sprint(words), func() bool {
				f := byType(ours, c.status(web)["conditions"])[v1alpha1.ConditionObjectSynced]
				message := fmt.Sprint(f["message"])
				for _, w := range words {
					if f["reason"] != NeedsRefused || !strings.Contains(message, w) {
						return false
					}
				}
				return len(words) > 0 || f == nil
			})
		}
		const needsClaim = "its pods need persistentvolumeclaims/data, which is refused: b: not allowed here"
		refuse(class, "KindNotAllowed")
		refuse(claim, "VolumeNotAllowed")
		says(needsClaim)
		refuse(secret, "NamespaceTaken")
		says(needsClaim, "its pods need secrets/cert, which is refused: b: not allowed here")
		refuse(claim, "")
		says("secrets/cert")
		refuse(secret, "")
		says() // though the class is still refused
	})
}
