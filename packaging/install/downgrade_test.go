package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script writes a program that answers `version` as an installed one does.
func script(t *testing.T, path, answer string) {
	t.Helper()
	if err := put(path, "#!/bin/sh\n[ \"$1\" = version ] && "+answer+"\n", 0o755); err != nil {
		t.Fatal(err)
	}
}

// An older program does not replace a newer one, and nothing is changed then.
func TestDowngradeIsRefused(t *testing.T) {
	for _, c := range []struct {
		answer, own string
		refused     bool
	}{
		{"echo 'skerry 0.0.1140 (commit x)'", "0.0.1139", true},
		{"echo 'skerry 1.10.0 (commit x)'", "1.9.0", true},
		{"echo 'skerry 1.10.0 (commit x)'", "1.10.0-rc.1", true},
		{"echo 'skerry 0.0.1139 (commit x)'", "0.0.1139", false},
		{"echo 'skerry 0.0.1138 (commit x)'", "0.0.1139", false},
		{"echo 'skerry 5f8ec19d (commit x)'", "0.0.1139", false},
		{"echo 'skerry 0.0.1140 (commit x)'", "unknown", false},
		{"exit 1", "0.0.1139", false},
	} {
		m, _, ran := someMachine(t)
		m.version = programVersion
		script(t, m.path("/usr/bin/skerry"), c.answer)
		before := m.everything(t)
		app := someApp()
		app.Version = c.own
		err := m.install(t.Context(), app, agentRequest())
		if c.refused != (err != nil) {
			t.Errorf("%s over %q: %v", c.own, c.answer, err)
		}
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "which is older: it may not read the data") {
			t.Errorf("%s over %q: %v", c.own, c.answer, err)
		}
		if after := m.everything(t); !slices.Equal(before, after) || len(*ran) > 0 {
			t.Errorf("%s over %q changed something: %v", c.own, c.answer, *ran)
		}
	}
}

func TestProgramVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skerry")
	script(t, path, "echo 'skerry 1.2.3 (commit x)'")
	if v := programVersion(t.Context(), path); v != "1.2.3" {
		t.Errorf("version %q", v)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if v := programVersion(t.Context(), path); v != "" {
		t.Errorf("of nothing: %q", v)
	}
}
