package install

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/enroll"
)

// keysOf returns the keys that a command line of `skerry install center` sets.
func keysOf(t *testing.T, args ...string) (map[string]any, error) {
	t.Helper()
	app := someApp()
	var got request
	app.Commands = append(app.Commands, &cli.Command{Name: "install", Flags: []cli.Flag{
		&cli.GenericFlag{Name: "set", Value: &pairs{}}, &cli.StringSliceFlag{Name: "advertise"}, &cli.StringFlag{Name: "listen", Value: "0.0.0.0:7443"},
	}, Action: func(c *cli.Context) (err error) {
		got, err = requestOf(c, "center")
		return err
	}})
	app.ExitErrHandler = func(*cli.Context, error) {}
	err := app.Run(append([]string{"skerry", "install"}, args...))
	return got.keys, err
}

// A setting that is given once is its value, in place of a flag's default; given again it is a list, and
// so is what has commas where the key takes a list. Elsewhere a comma is part of the value.
func TestSettings(t *testing.T) {
	got, err := keysOf(t, "--set", "labels=a", "--set", "labels=b", "--set", "listen=127.0.0.1:1", "--set", "log-level=debug", "--set", "parent=https://a:1,https://b:1",
		"--set", "proxy=http://u:p,w@h:1", "--advertise", "a.example.com", "--advertise", "b.example.com")
	want := map[string]any{
		"advertise": []string{"a.example.com", "b.example.com"}, "labels": []string{"a", "b"}, "listen": "127.0.0.1:1", "log-level": "debug",
		"parent": []string{"https://a:1", "https://b:1"}, "proxy": "http://u:p,w@h:1",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := keysOf(t, "--set", "advertise"); err == nil || !strings.Contains(err.Error(), "write KEY=VALUE") {
		t.Errorf("without a value: %v", err)
	}
}

// What the daemon says of all its flags is said before they are written.
func TestFlagsThatTheServiceRefuses(t *testing.T) {
	t.Setenv("SKERRY_SHARE", "7") // of who installs; the service does not have it
	defer func() {
		if os.Getenv("SKERRY_SHARE") != "7" {
			t.Error("a variable is gone")
		}
	}()
	m, _, ran := someMachine(t)
	app := someApp()
	app.Command("agent").Before = commandline.FromFile
	m.checks = Checks{"agent": func(c *cli.Context) error {
		if c.String("name") != "paris" || c.Int("share") != 30 {
			t.Errorf("it sees the name %q and the share %d", c.String("name"), c.Int("share"))
		}
		return commandline.Usage("--parent is required")
	}}
	if err := m.install(t.Context(), app, agentRequest()); !errors.Is(err, commandline.ErrUsage) || len(*ran) > 0 ||
		exists(m.path("/etc")) {
		t.Errorf("%v, %v", err, *ran)
	}
}

// What the service would refuse is refused before anything is written, and named by the file's name.
func TestSettingsThatTheServiceRefuses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for text, keys := range map[string]map[string]any{
		`unknown key "shaer"; the keys are the flags of skerry agent; did you mean share?`: {"shaer": "3"},
		`share: "many": write a whole number`:                                              {"share": "many"},
		`name: takes one value, not a list`:                                                {"name": []string{"a", "b"}},
	} {
		m, _, ran := someMachine(t)
		app := someApp()
		app.Command("agent").Before = commandline.FromFile
		r := agentRequest()
		r.keys = keys
		err := m.install(t.Context(), app, r)
		if !errors.Is(err, commandline.ErrUsage) || err.Error() != "configuration /etc/skerry/agent.yaml: "+text {
			t.Errorf("%v: %v", keys, err)
		}
		if exists(m.path("/etc")) || exists(m.path("/usr")) || len(*ran) > 0 {
			t.Errorf("%v: something was written: %v", keys, *ran)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that is no token, or no kubeconfig, is refused by its name; the service would end by it.
func TestSecretsThatTheServiceRefuses(t *testing.T) {
	token := enroll.NewToken(strings.Repeat("a", 64)).String()
	const kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\n"
	for _, c := range []struct{ credential, text, refused string }{
		{"token", token + "\n", ""},
		{"token", " \n", "there is no token in it; make one at the center with: skerry token create"},
		{"token", "nonsense", enroll.ErrTokenFormat.Error()},
		{"kubeconfig", kubeconfig, ""},
		{"kubeconfig", "apiVersion: v1\nkind: Config\n", "this is no kubeconfig with a current context"},
		{"kubeconfig", "a: [", "this is no kubeconfig with a current context"},
	} {
		err := checkSecret(c.credential, c.text)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s %q: %v", c.credential, c.text, err)
		}
	}
}

// A center says by which address others will know it, and how to give it another one.
func TestAdvertised(t *testing.T) {
	for config, want := range map[string]struct {
		address string
		known   bool
	}{
		"listen: 0.0.0.0:7443\n": {"THIS-HOST:7443", false},
		"listen: 0.0.0.0:8443\nadvertise: [center.example.com, 10.0.0.5]\n": {"center.example.com:8443", true},
		"advertise: a.example.com, b.example.com\n":                         {"a.example.com:7443", true},
		"advertise: []\n": {"THIS-HOST:7443", false},
		"listen: 0.0.0.0:7443\nadvertise: 'fd00::1'\n": {"[fd00::1]:7443", true},
	} {
		if address, known := advertised(config); address != want.address || known != want.known {
			t.Errorf("%q: %s, %t", config, address, known)
		}
	}
	m, out, _ := someMachine(t)
	r := request{"center", map[string]any{"name": "x"}, nil, true}
	if err := m.install(t.Context(), someApp(), r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "default route") || !strings.Contains(out.String(), "skerry install center --advertise NAME") {
		t.Errorf("it says %s", out)
	}
}
