package agent

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

// A full disk: what is known is enforced, what is new is made from memory and not acknowledged, the
// parent is told; and a crash then leaves nothing on the target that nobody wants.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := storetest.SmallDisk(t, "1m")
	c, api := newCenter(t), targettest.NewInMemory(t)
	w := c.agent(dir, api, c.token.String())
	kept := configMap("default", "kept", "1")
	c.place(kept)
	c.eventuallyApplied([]store.Entry{kept})
	w.stop()

	s := &site{t: t, api: api, access: target.Cluster(api.Config())}
	s.start(dir)
	fill := func() {
		if err := os.WriteFile(filepath.Join(dir, "ballast"), bytes.Repeat([]byte{1}, 1<<20), 0o600); err == nil {
			t.Fatal("the disk is not full")
		}
	}
	fill()
	at := s.desired.Position()
	at.Revision++
	var coming []store.Entry
	for _, name := range []string{"a", "b", "c", "d"} {
		e := configMap("default", name, strings.Repeat(name+"-0123456789", 4000)+time.Now().String())
		e.Revision = at.Revision
		coming = append(coming, e)
	}
	for i := range 300 { // more than the free pages of the file hold
		e := configMap("elsewhere", "x"+time.Now().String()[:10]+string(rune('a'+i%26))+string(rune('a'+i/26)), "1")
		e.Revision = at.Revision
		coming = append(coming, e)
	}
	ctx, crash := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.desired.Commit(ctx, store.Batch{Entries: coming, Through: at}) }()
	eventually(t, "what is new is on the target", func() bool { return s.exists(coming[0]) && s.exists(coming[3]) })
	eventually(t, "the site says that its disk is full", func() bool {
		condition, _ := s.conditions.Get(tunnel.StoreHealthy)
		return condition.Status == tunnel.False && condition.Reason == "DiskRefuses"
	})
	s.api.Remove("", "configmaps", "default", "kept")
	eventually(t, "what was known before is enforced", func() bool { return s.exists(kept) })
	if s.desired.Position().Revision == at.Revision {
		t.Error("what is not durable counts as stored")
	}
	crash()
	if err := <-done; err == nil {
		t.Error("the commit succeeded")
	}
	s.stop()
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	w = c.agent(dir, api, "") // its center never wanted them
	eventually(t, "what nobody wants is gone", func() bool {
		for _, e := range coming[:4] {
			if objectOf(api, e) != nil {
				return false
			}
		}
		return true
	})
	if objectOf(api, kept) == nil {
		t.Error("what is wanted is gone")
	}
	w.stop()
}
