package failpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// TestKilledWhileRenaming kills the center after it has stored a site by its new name and before it has
// deleted the old one. The next start ends the rename: there is one site, with its UID, and what was
// there stays. The command, given again, changes what names the site.
func TestKilledWhileRenaming(t *testing.T) {
	if os.Getenv("SKERRY_SCENARIOS") != "1" {
		t.Skip("this test starts a cluster: run it with SKERRY_SCENARIOS=1 (make scenarios)")
	}
	ctx := t.Context()
	s := start(ctx, t)
	admin := filepath.Join(s.Dir, "center", "admin.kubeconfig")
	root, err := drive.OpenKube(admin)
	must(t, err)
	const (
		targets = "/apis/skerry.dev/v1alpha1/synctargets"
		maps    = "/api/v1/namespaces/kept/configmaps"
		ns      = "/api/v1/namespaces/kept"
	)
	must(t, s.space.Create(ctx, "/api/v1/namespaces", namespace("kept", "site")))
	must(t, s.space.Create(ctx, maps, configMap("stays", "1")))
	must(t, s.arrives(ctx, maps+"/stays", "1"))
	before := uid(ctx, t, root, targets+"/site")
	atSite := uid(ctx, t, s.edge, maps+"/stays")

	const point = "renamedBeforeDelete"
	must(t, s.points["center"].arm(ctx, point))
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx, s.Skerry, "target", "rename", "site", "rome", "--kubeconfig", admin)
		ended <- err
	}()
	must(t, s.points["center"].reached(ctx, point, time.Minute))
	if both := uid(ctx, t, root, targets+"/rome"); both != before {
		t.Fatalf("the site by its new name has UID %s, not %s", both, before)
	}
	must(t, s.kill(ctx, "center"))
	if err := <-ended; err != nil { // it may have waited for the next start
		t.Logf("the command, while the center died: %v", err)
	}

	must(t, drive.Until(ctx, arrival, "there is one site, connected by its new name", func(ctx context.Context) error {
		if o, err := get(ctx, root, targets+"/site"); err != nil || o != nil {
			return fmt.Errorf("the old name is there, or the center does not answer: %v", err)
		}
		o, err := get(ctx, root, targets+"/rome")
		if err != nil || o == nil {
			return fmt.Errorf("the new name is not there: %v", err)
		}
		if now := o["metadata"].(object)["uid"]; now != before {
			return fmt.Errorf("it has UID %v, not %s", now, before)
		}
		return connected(o)
	}))
	must(t, s.space.MergePatch(ctx, ns, namespace("kept", "site")))
	out, err := s.Run(ctx, s.Skerry, "target", "rename", "site", "rome", "--kubeconfig", admin)
	if err != nil {
		t.Fatalf("the command, given again: %v: %s", err, out)
	}
	o, err := get(ctx, s.space, ns)
	must(t, err)
	if label := o["metadata"].(object)["labels"].(object)["skerry.dev/target"]; label != "rome" {
		t.Errorf("the namespace wishes %v", label)
	}
	must(t, s.space.MergePatch(ctx, maps+"/stays", configMap("stays", "2")))
	must(t, s.arrives(ctx, maps+"/stays", "2"))
	if now := uid(ctx, t, s.edge, maps+"/stays"); now != atSite {
		t.Errorf("the object was made anew at the site: UID %s, was %s", now, atSite)
	}
}

func uid(ctx context.Context, t *testing.T, k *drive.Kube, path string) string {
	t.Helper()
	o, err := get(ctx, k, path)
	must(t, err)
	if o == nil {
		t.Fatalf("there is no %s", path)
	}
	return fmt.Sprint(o["metadata"].(object)["uid"])
}

// connected returns an error unless the condition Connected of a SyncTarget is True.
func connected(o object) error {
	status, _ := o["status"].(object)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if is, _ := c.(object); is["type"] == "Connected" && is["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("conditions %v", conditions)
}
