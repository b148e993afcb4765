package delivery

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// mounts writes a workload whose Pods mount the claim data.
func (c *center) mounts(group, resource, kind, name, target string) store.Key {
	k, of := key(group, resource, name), meta(name)
	of["namespace"], of["generation"] = "app", 1
	if target != "" {
		of["labels"] = m{v1alpha1.LabelTarget: target}
	}
	pod := m{"spec": m{"volumes": []any{m{"name": "data", "persistentVolumeClaim": m{"claimName": "data"}}}}}
	spec := m{"template": pod}
	if resource == "cronjobs" {
		spec = m{"schedule": "0 3 * * *", "jobTemplate": m{"spec": m{"template": pod}}}
	}
	c.put(k, obj(group+"/v1", kind, of, "spec", spec))
	return k
}

// Two workloads with one claim on different targets do not share its data. Both say so, for as long as that is so.
func TestAVolumeThatIsElsewhereIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		claim := key("", "persistentvolumeclaims", "data")
		c.put(claim, obj("v1", "PersistentVolumeClaim", m{"name": "data", "namespace": "app"}))
		db := c.mounts("apps", "deployments", "Deployment", "db", "a")
		c.eventually("the database is on a", func() bool { return c.has("a", db) && c.has("a", claim) })
		if s := c.saidScheduled(db); s.Reason == catalog.VolumeElsewhere {
			t.Fatalf("it is alone, and says: %+v", s)
		}
		backup := c.mounts("batch", "cronjobs", "CronJob", "backup", "")
		says := func(k store.Key, other string) bool {
			s := c.saidScheduled(k)
			return !s.Status && s.Reason == catalog.VolumeElsewhere && strings.Contains(s.Message, "data, which "+other)
		}
		c.eventually("both say so", func() bool {
			return c.has("b", backup) && says(backup, "deployments/db mounts on a") && says(db, "cronjobs/backup mounts on b")
		})
		c.restart()
		if !says(backup, "deployments/db mounts on a") || len(c.d.catalog.PlaceNotes) != 2 {
			t.Errorf("after a restart: %v", c.d.catalog.PlaceNotes)
		}
		c.put(backup, nil)
		c.eventually("the database says so no more", func() bool { return c.saidScheduled(db).Status })
	})
}
