package install

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// someMachine is one with systemd, below a directory. What is run on it is recorded.
func someMachine(t *testing.T) (m *machine, out *bytes.Buffer, ran *[]string) {
	t.Helper()
	out, ran = &bytes.Buffer{}, &[]string{}
	m = &machine{root: t.TempDir(), out: out, run: func(_ context.Context, name string, args ...string) error {
		*ran = append(*ran, strings.Join(append([]string{name}, args...), " "))
		return nil
	}}
	if err := os.MkdirAll(m.path("/run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	return m, out, ran
}

func agentRequest() request {
	return request{"agent", map[string]any{"name": "paris"}, map[string]string{"token": "secret-token"}, true}
}

func TestInstallAndUninstall(t *testing.T) {
	m, out, ran := someMachine(t)
	if err := m.install(t.Context(), someApp(), agentRequest()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(*ran, "systemctl restart skerry-agent.service") {
		t.Errorf("not started: %v", *ran)
	}
	if strings.Contains(out.String(), "secret-token") || !strings.Contains(out.String(), "Next:") {
		t.Errorf("says %s", out)
	}
	for path, mode := range map[string]os.FileMode{
		"/etc/skerry/credentials": os.ModeDir | 0o700, "/etc/skerry/credentials/token": 0o600,
		"/usr/bin/skerry": 0o755, "/etc/systemd/system/skerry-agent.service": 0o644,
	} {
		if info, err := os.Stat(m.path(path)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	before, _ := os.ReadFile(m.path("/etc/skerry/agent.yaml"))
	if err := m.install(t.Context(), someApp(), agentRequest()); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(m.path("/etc/skerry/agent.yaml")); !bytes.Equal(before, after) ||
		!bytes.Contains(after, []byte("\nname: paris\n")) {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	data := m.path("/var/lib/skerry-agent/agent.db")
	if err := put(data, "", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.uninstall(t.Context(), someApp(), false); err != nil {
		t.Fatal(err)
	}
	if exists(m.path("/usr/bin/skerry")) || !exists(data) || !exists(m.path("/etc/skerry/agent.yaml")) {
		t.Error("uninstall removes the program, and neither data nor configuration")
	}
	if err := m.uninstall(t.Context(), someApp(), true); err != nil {
		t.Fatal(err)
	}
	if exists(data) || exists(m.path("/etc/skerry")) {
		t.Error("--purge leaves data")
	}
}

func TestInstallIntoAnImage(t *testing.T) {
	m, out, ran := someMachine(t)
	if err := os.RemoveAll(m.path("/run/systemd")); err != nil {
		t.Fatal(err)
	}
	r := agentRequest()
	if err := m.install(t.Context(), someApp(), r); err == nil || !strings.Contains(err.Error(), "--no-start") {
		t.Errorf("without systemd: %v", err)
	}
	if err := m.uninstall(t.Context(), someApp(), false); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("uninstall without systemd: %v", err)
	}
	r.start = false
	if err := m.install(t.Context(), someApp(), r); err != nil {
		t.Fatal(err)
	}
	if !exists(m.path("/etc/skerry/credentials/token")) || !slices.Contains(*ran, "systemctl enable skerry-agent.service") {
		t.Errorf("not all is in place: %v", *ran)
	}
	for _, needsSystemd := range []string{"systemctl restart skerry-agent.service", "systemctl daemon-reload"} {
		if slices.Contains(*ran, needsSystemd) {
			t.Errorf("%s in an image", needsSystemd)
		}
	}
	if !strings.Contains(out.String(), "next boot") {
		t.Errorf("says %s", out)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	m, out, ran := someMachine(t)
	m.dryRun, m.euid = true, 1000
	if err := m.install(t.Context(), someApp(), agentRequest()); err != nil {
		t.Fatal(err)
	}
	if exists(m.path("/etc")) || exists(m.path("/usr")) || len(*ran) > 0 {
		t.Errorf("it changed something: %v", *ran)
	}
	if strings.Contains(out.String(), " runs.") || !strings.Contains(out.String(), "nothing was changed") {
		t.Errorf("it claims more than it did: %s", out)
	}
	if !strings.Contains(out.String(), "systemctl enable skerry-agent.service") {
		t.Errorf("it does not say what it would do: %s", out)
	}
}

func TestInstallRefuses(t *testing.T) {
	m, _, _ := someMachine(t)
	m.euid = 1000
	if err := m.install(t.Context(), someApp(), agentRequest()); err == nil ||
		!strings.Contains(err.Error(), "sudo skerry install agent") {
		t.Errorf("without root: %v", err)
	}
	m.euid = 0
	if err := os.RemoveAll(m.path("/run/systemd")); err != nil {
		t.Fatal(err)
	}
	if err := m.install(t.Context(), someApp(), agentRequest()); err == nil ||
		!strings.Contains(err.Error(), "systemd does not run") {
		t.Errorf("without systemd: %v", err)
	}
	packaged, _, _ := someMachine(t)
	if err := put(packaged.path(filepath.Join(packageUnits, "skerry-center.service")), "", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := packaged.uninstall(t.Context(), someApp(), false); err == nil ||
		!strings.Contains(err.Error(), "apt-get remove skerry") {
		t.Errorf("of a package: %v", err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
