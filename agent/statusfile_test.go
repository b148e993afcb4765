package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/agent/uplink"
	"skerry.dev/skerry/tunnel"
)

// What only the agent knows stands in the file while it runs, and after its end.
func TestStatusFile(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), filepath.Join(t.TempDir(), "agent")
	if _, err := ReadStatus(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	w := c.agent(dir, api, c.token.String())
	eventually(t, "the session is in the file", func() bool {
		s, err := ReadStatus(dir)
		return err == nil && s.Running && s.Connected != nil && s.Transport == "quic" && s.Process == os.Getpid()
	})
	if info, err := os.Stat(filepath.Join(dir, StatusFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	w.stop()
	s, err := ReadStatus(dir)
	if err != nil || s.Running || s.Connected != nil {
		t.Errorf("after the end: %+v %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, StatusFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadStatus(dir); err == nil {
		t.Error("half a file was read")
	}
}

func TestStatusFileCountsReplacements(t *testing.T) {
	dir := t.TempDir()
	s := newStatusFile("v1")
	for range maxReplaced + 2 {
		s.session(uplink.Route{}, true, nil)
		s.session(uplink.Route{}, false, tunnel.ErrReplaced)
	}
	s.session(uplink.Route{}, true, nil)
	s.session(uplink.Route{}, false, context.Canceled)
	said := tunnel.ChildStatus{Conditions: []tunnel.Condition{{Type: tunnel.CenterTrusted, Status: tunnel.False}},
		Withheld: &tunnel.Withheld{Deletions: 7}}
	if err := s.write(dir, true, said); err != nil {
		t.Fatal(err)
	}
	got, err := ReadStatus(dir)
	if err != nil || len(got.Replaced) != maxReplaced || got.Ended != context.Canceled.Error() ||
		got.Withheld.Deletions != 7 || got.Conditions[0].Status != tunnel.False {
		t.Errorf("%+v %v", got, err)
	}
}
