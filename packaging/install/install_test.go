package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// someMachine is one with systemd, below a directory. What is run on it is recorded.
func someMachine(t *testing.T) (m *machine, out *bytes.Buffer, ran *[]string) {
	t.Helper()
	out, ran = &bytes.Buffer{}, &[]string{}
	m = &machine{root: t.TempDir(), out: out, access: writable, self: os.Executable,
		version: func(context.Context, string) string { return "" },
		run: func(_ context.Context, name string, args ...string) error {
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
	out.Reset()
	if err := m.uninstall(t.Context(), someApp(), false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ", /usr/share/man/man1/skerry*.1") || strings.Contains(out.String(), "skerry-space.1") {
		t.Errorf("man pages are not one word of %s", out)
	}
	if !strings.Contains(out.String(), "skerry agent rbac | kubectl delete -f -") {
		t.Errorf("it does not say what stays at the cluster: %s", out)
	}
	if exists(m.path("/usr/bin/skerry")) || exists(m.path(manDir+"skerry-space.1")) || !exists(data) || !exists(m.path("/etc/skerry/agent.yaml")) {
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

// readOnly has directories of a machine that cannot be written.
func (m *machine) readOnly(dirs ...string) {
	m.access = func(path string) error {
		for _, dir := range dirs {
			if path == m.path(dir) || strings.HasPrefix(path, m.path(dir)+"/") {
				return syscall.EROFS
			}
		}
		return writable(path)
	}
}

// everything lists what is on a machine.
func (m *machine) everything(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(m.root, func(path string, d os.DirEntry, err error) error {
		text := ""
		if d.Type().IsRegular() {
			read, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(read)
		}
		all = append(all, strings.TrimPrefix(path, m.root)+"\n"+text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A machine whose /usr is read-only has the program in /opt, and all else in /etc.
func TestReadOnlyUsr(t *testing.T) {
	m, out, _ := someMachine(t)
	for _, dir := range []string{"/usr/bin", "/opt"} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.readOnly("/usr")
	before := m.everything(t)
	m.dryRun = true
	if err := m.install(t.Context(), someApp(), agentRequest()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "read-only file system") || !strings.Contains(out.String(), "goes to /opt/bin/skerry") {
		t.Errorf("a dry run does not say where the program goes: %s", out)
	}
	if after := m.everything(t); !slices.Equal(before, after) {
		t.Errorf("a dry run changes %q", after)
	}
	m.dryRun = false
	if err := m.install(t.Context(), someApp(), agentRequest()); err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(m.path("/etc/systemd/system/skerry-agent.service"))
	if err != nil || !strings.Contains(string(unit), "\nExecStart=/opt/bin/skerry agent ") {
		t.Errorf("the unit runs another program: %v", err)
	}
	if entries, err := os.ReadDir(m.path("/usr/bin")); err != nil || len(entries) > 0 || exists(m.path("/usr/share")) {
		t.Errorf("/usr has %v, %v", entries, err)
	}
	for _, path := range []string{"/opt/bin/skerry", "/opt/bin/kubectl-skerry", "/etc/sysusers.d/skerry.conf",
		"/etc/sysctl.d/60-skerry.conf"} {
		if !exists(m.path(path)) {
			t.Errorf("%s is missing", path)
		}
	}
	if err := os.Remove(m.path("/opt/bin/kubectl-skerry")); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := m.uninstall(t.Context(), someApp(), true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "not there: /opt/bin/kubectl-skerry\n") {
		t.Errorf("it does not say what was missing: %s", out)
	}
	for _, path := range []string{"/opt/bin/skerry", "/etc/sysusers.d/skerry.conf", "/etc/skerry"} {
		if exists(m.path(path)) {
			t.Errorf("%s stays", path)
		}
	}
	if err := m.uninstall(t.Context(), someApp(), true); err != nil {
		t.Errorf("twice: %v", err)
	}
}

// Where nothing but /etc and /var can be written the program runs from where it lies, if services see it.
func TestProgramRunsWhereItLies(t *testing.T) {
	m, out, _ := someMachine(t)
	m.readOnly("", "/usr", "/opt")
	if err := m.install(t.Context(), someApp(), agentRequest()); err == nil {
		t.Error("installed on a machine that takes nothing")
	}
	for _, dir := range []string{"/etc", "/var/lib", "/usr", "/opt"} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.readOnly("/usr", "/opt")
	m.self = func() (string, error) { return "/home/me/skerry", nil }
	before := m.everything(t)
	err := m.install(t.Context(), someApp(), agentRequest())
	if err == nil || !strings.Contains(err.Error(), "a service cannot run /home/me/skerry: copy it") {
		t.Errorf("a program in a home: %v", err)
	}
	if after := m.everything(t); !slices.Equal(before, after) {
		t.Errorf("a refusal leaves %q", after)
	}
	m.self = func() (string, error) { return "/var/lib/skerry-bin/skerry", nil }
	if err := m.install(t.Context(), someApp(), agentRequest()); err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(m.path("/etc/systemd/system/skerry-agent.service"))
	if err != nil || !strings.Contains(string(unit), "\nExecStart=/var/lib/skerry-bin/skerry agent ") ||
		!strings.Contains(out.String(), "runs from where it lies") {
		t.Errorf("%v: %s", err, out)
	}
}

// A step that fails takes back those before it, over an earlier installation too.
func TestFailedInstallLeavesNothing(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		m, _, ran := someMachine(t)
		r := agentRequest()
		if earlier {
			if err := m.install(t.Context(), someApp(), r); err != nil {
				t.Fatal(err)
			}
			if err := put(m.path(usual), "an older program", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := put(m.path("/etc/skerry/agent.yaml.old"), "an admin's copy", 0o644); err != nil {
				t.Fatal(err)
			}
		}
		before := m.everything(t)
		works := m.run
		for _, fails := range []string{"systemd-sysusers", "systemctl enable"} {
			m.run = func(ctx context.Context, name string, args ...string) error {
				if strings.HasPrefix(strings.Join(append([]string{name}, args...), " "), fails) {
					return errors.New("no")
				}
				return works(ctx, name, args...)
			}
			r.keys["name"], r.credentials["token"] = "rome", "another"
			*ran = nil
			err := m.install(t.Context(), someApp(), r)
			if err == nil || !strings.Contains(err.Error(), "taken back") ||
				strings.Contains(err.Error(), "not all") {
				t.Fatalf("%s: %v", fails, err)
			}
			if after := m.everything(t); !slices.Equal(before, after) {
				t.Errorf("%s, earlier %v: it leaves %d files of %d", fails, earlier, len(after), len(before))
			}
			if slices.Contains(*ran, "systemctl restart skerry-agent.service") {
				t.Error("a service is started")
			}
		}
	}
}

// What an admin's file does not take is refused before anything is written.
func TestInstallChecksFirst(t *testing.T) {
	m, _, ran := someMachine(t)
	if err := put(m.path("/etc/skerry/agent.yaml"), "{name: x}", 0o644); err != nil {
		t.Fatal(err)
	}
	before := m.everything(t)
	if err := m.install(t.Context(), someApp(), agentRequest()); err == nil {
		t.Error("a file that is not written key by key is changed")
	}
	if after := m.everything(t); !slices.Equal(before, after) || len(*ran) > 0 {
		t.Errorf("it leaves %q and ran %v", after, *ran)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
