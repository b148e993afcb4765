package agent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/store/bolt"
)

func check(t *testing.T, c CheckConfig) *Checked {
	t.Helper()
	c.Log = discard()
	r, err := Check(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckOfASoundSite(t *testing.T) {
	t.Parallel()
	c, api, dir, all := full(t, 20)
	r := check(t, CheckConfig{DataDir: dir})
	if r.Err() != nil || r.Objects != len(all) || r.Records != len(all) || r.Position == "" {
		t.Errorf("%+v", r)
	}
	w := c.agent(dir, api, "")
	next := configMap("app", "next", "1")
	c.place(next)
	c.eventuallyApplied(append(all, next))
	if _, err := Check(CheckConfig{DataDir: dir, Repair: true, Log: discard()}); !errors.Is(err, bolt.ErrLocked) ||
		!strings.Contains(err.Error(), "the agent runs") {
		t.Errorf("a repair while the agent runs: %v", err)
	}
	var text bytes.Buffer
	running := check(t, CheckConfig{DataDir: dir})
	if err := running.Print(&text); err != nil || running.Err() != nil || !running.Running ||
		!strings.Contains(text.String(), "in use: the agent runs") || strings.Contains(text.String(), "objects wanted") {
		t.Errorf("while the agent runs: %+v, %v: %s", running, err, &text)
	}
	w.stop()
	text.Reset()
	if err := check(t, CheckConfig{DataDir: dir}).Print(&text); err != nil || !strings.Contains(text.String(), "none") {
		t.Errorf("%s %v", &text, err)
	}
}

// What a check finds a repair mends, as far as the file alone can: the rest is asked of the parent.
func TestCheckFindsAndRepairs(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api, dir, all := full(t, 40)
			damage(t, filepath.Join(dir, cacheFile))
			before, _ := os.ReadFile(filepath.Join(dir, cacheFile))
			r := check(t, CheckConfig{DataDir: dir})
			if !errors.Is(r.Err(), ErrUnsound) || len(r.Findings) == 0 || r.Findings[0].Do == "" {
				t.Fatalf("%+v", r)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, cacheFile)); !bytes.Equal(before, after) {
				t.Error("looking has changed the file")
			}
			if r := check(t, CheckConfig{DataDir: dir, Repair: true}); r.Err() != nil || !r.Repaired {
				t.Errorf("after the repair: %+v", r)
			}
			w := c.agent(dir, api, "")
			c.eventuallyApplied(all)
			eventually(t, "all is known again", func() bool {
				for _, e := range all {
					if objectOf(api, e) == nil {
						return false
					}
				}
				return true
			})
			w.stop()
		})
	}
}

func TestCheckRotatesTheKey(t *testing.T) {
	t.Parallel()
	c, api, dir, all := full(t, 2)
	path := filepath.Join(dir, sealFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if r := check(t, CheckConfig{DataDir: dir, RotateKey: true}); r.Err() != nil {
		t.Errorf("%+v", r)
	}
	if after, err := os.ReadFile(path); err != nil || bytes.Equal(before, after) {
		t.Errorf("the key is the same, %v", err)
	}
	w := c.agent(dir, api, "")
	c.eventuallyApplied(all)
	w.stop()
}

// The directory of the service is looked at where there is one, and that of other agents elsewhere.
func TestCheckedDir(t *testing.T) {
	t.Parallel()
	service := t.TempDir()
	if got := checkedDir(service); got != service {
		t.Errorf("on a machine with the service: %s", got)
	}
	if got := checkedDir(filepath.Join(service, "none")); got != plainData {
		t.Errorf("on a machine without it: %s", got)
	}
	unit, err := os.ReadFile("../packaging/systemd/skerry-agent.service")
	if err != nil || !strings.Contains(string(unit), "\nStateDirectory="+filepath.Base(serviceData)+"\n") {
		t.Errorf("the unit keeps its data elsewhere than %s: %v", serviceData, err)
	}
}
