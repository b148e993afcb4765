package install

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

// A new program for one service does not replace that of another which would not start with it.
func TestInstallChecksTheOtherService(t *testing.T) {
	m, _, ran := someMachine(t)
	app := someApp()
	app.Command("center").Before = commandline.FromFile
	m.checks = Checks{"center": func(c *cli.Context) error {
		if c.String("name") == "nowhere" {
			return errors.New("name: nobody is called so")
		}
		return nil
	}}
	starts := m.path("/etc/systemd/system/multi-user.target.wants")
	if err := errors.Join(put(m.path("/etc/skerry/center.yaml"), "name: nowhere\n", 0o644),
		put(filepath.Join(starts, "skerry-center.service"), "", 0o644)); err != nil {
		t.Fatal(err)
	}
	before := m.everything(t)
	err := m.install(t.Context(), app, agentRequest())
	if err == nil || !strings.Contains(err.Error(), "called so; skerry-center.service runs the same program") {
		t.Errorf("%v", err)
	}
	if after := m.everything(t); !slices.Equal(before, after) || len(*ran) > 0 {
		t.Errorf("it leaves %d files of %d and ran %v", len(after), len(before), *ran)
	}
	if err := os.RemoveAll(starts); err != nil {
		t.Fatal(err)
	}
	if err := m.install(t.Context(), app, agentRequest()); err != nil {
		t.Errorf("a service that does not start with the machine: %v", err)
	}
}

// skerry install check says what the installed program says of a file.
func TestCheckCommand(t *testing.T) {
	run := func(args ...string) error {
		app := someApp()
		app.Commands = append(app.Commands, Command(commandline.Usage, nil))
		app.ExitErrHandler = func(*cli.Context, error) {}
		return app.Run(append([]string{"skerry", "install", "check"}, args...))
	}
	for _, args := range [][]string{nil, {"relay"}} {
		err := run(args...)
		if !errors.Is(err, commandline.ErrUsage) || !strings.Contains(err.Error(), "center (a relay is one) or agent") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// upgraded runs the script of deb and rpm after an upgrade of a machine where both services run. The new program ends
// with a code when it is asked for the agent's file, whose unit has an environment, and more arguments than as shipped.
// It returns what was said, and what systemctl was told.
func upgraded(t *testing.T, code, environment, arguments string) (said, told string) {
	t.Helper()
	script, err := os.ReadFile("../deb/postinstall.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := strings.NewReplacer("/etc/", dir+"/etc/", "/run/", dir+"/run/", "/usr/", dir+"/usr/", "/lib/", dir+"/lib/")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "run/systemd/system"), 0o755),
		os.MkdirAll(filepath.Join(dir, "etc/skerry/credentials"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"usr/bin/skerry":       "[ $3 = center ] || { echo 'configuration agent.yaml: name: x' >&2; exit " + code + "; }",
		"bin/systemd-sysusers": "exit 0",
		"bin/systemctl": strings.NewReplacer("ENVIRONMENT", environment, "ARGUMENTS", arguments, "ROOT", dir).Replace(
			"case \"$1 $2\" in\n" +
				"'show --property=Environment') echo 'ENVIRONMENT'; echo ;;\n" +
				"'show --property=ExecStart') echo '{ path=ROOT/usr/bin/skerry ; argv[]=ROOT/usr/bin/skerry agent " +
				"--config ROOT/etc/skerry/agent.yaml --data-dir ${STATE_DIRECTORY}ARGUMENTS ; ignore_errors=no }' ;;\n" +
				"*) echo $* >>ROOT/told ;; esac"),
	} {
		if err := put(filepath.Join(dir, path), "#!/bin/sh\n"+text+"\n", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "/bin/sh", "-s", "configure", "0.0.1")
	c.Stdin, c.Env = strings.NewReader(at.Replace(string(script))), []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH")}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Errorf("%v: %s", err, &out)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), string(calls)
}

// An upgrade starts services again, but for one whose file the new program refuses.
func TestUpgradeOfRefusedFile(t *testing.T) {
	for _, c := range []struct {
		code, environment, arguments string
		goesOn                       bool
	}{
		{"0", "", "", false},
		{"2", "", "", true},
		{"2", "SKERRY_PARENT=https://center:7443", "", false}, // which the file lacks
		{"2", "", " --parent https://center:7443", false},
		{"1", "", "", false}, // it could not look
	} {
		said, told := upgraded(t, c.code, c.environment, c.arguments)
		if !strings.Contains(told, "restart skerry-center\n") ||
			strings.Contains(told, "restart skerry-agent\n") == c.goesOn {
			t.Errorf("%+v: systemctl was told %q", c, told)
		}
		if c.goesOn != strings.Contains(said, "skerry-agent goes on with the old program, because the new one refuses its "+
			"file:\nconfiguration agent.yaml: name: x\nskerry: mend the file") {
			t.Errorf("%+v: it says %q", c, said)
		}
	}
}
