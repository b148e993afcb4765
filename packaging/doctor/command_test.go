package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/packaging/doctor/bundle/bundletest"
	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// daemons have the flags that the daemons of the real program have, as far as they matter here.
func daemons() Daemons {
	text := func(names ...string) (out []cli.Flag) {
		for _, n := range names {
			out = append(out, &cli.StringFlag{Name: n, EnvVars: []string{"SKERRY_" + strings.ToUpper(strings.ReplaceAll(n, "-", "_"))}})
		}
		return out
	}
	flags := append(text("config", "token", "token-file", "proxy", "proxy-file", "name", "metrics-listen", "kubeconfig",
		"datastore-endpoint", "datastore-secret-file", "listen", "future-secret"),
		&cli.StringFlag{Name: "data-dir", Value: "/var/lib/skerry"}, &cli.StringSliceFlag{Name: "parent"},
		&cli.StringSliceFlag{Name: "labels"})
	return Daemons{Center: append(text(), flags...), Agent: append(agent.AllowFlags(), flags...), Version: "v1.4.0",
		Keys: func(string) (time.Time, error) { return time.Now().Add(time.Hour), nil }}
}

// run runs a command line and returns what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	for _, v := range []string{"KUBECONFIG", "CREDENTIALS_DIRECTORY", "HTTPS_PROXY", "https_proxy"} {
		if v != "KUBECONFIG" || os.Getenv(v) == "" {
			t.Setenv(v, "")
		}
	}
	var out bytes.Buffer
	app := &cli.App{Name: "skerry", Writer: &out, ErrWriter: &out, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{Command(daemons()), BundleCommand(daemons())}}
	err := app.RunContext(t.Context(), commandline.FlagsFirst(app, append([]string{"skerry"}, args...)))
	return out.String(), err
}

// report reads what -o json has printed.
func report(t *testing.T, text string) *doctor.Report {
	t.Helper()
	r := &doctor.Report{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

func TestDoctorOfAJoin(t *testing.T) {
	l := tunneltest.ListenWhereUDPIsFree(t)
	l.Close()
	out, err := run(t, "doctor", "--parent", "https://"+l.Addr().String(), "--name", "paris", "-o", "json")
	if !errors.Is(err, doctor.ErrFaults) {
		t.Errorf("%v", err)
	}
	r := report(t, out)
	if n := r.Count(doctor.Failed); n != 1 {
		t.Errorf("%d failed: %s", n, out)
	}
	for _, f := range r.Findings {
		if f.Part != "join" || f.Verdict == doctor.Failed && f.Fault != "nothing-listens" ||
			strings.HasPrefix(f.Check, "target.") {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorOfAWorkstation(t *testing.T) {
	out, err := run(t, "doctor", "--kubeconfig", filepath.Join(t.TempDir(), "nosuch"), "-o", "yaml")
	if !errors.Is(err, doctor.ErrFaults) || !strings.Contains(out, "fault: kubeconfig-missing") {
		t.Errorf("%v %s", err, out)
	}
	if _, err := run(t, "doctor", "workstation", "-o", "xml"); !errors.Is(err, commandline.ErrUsage) {
		t.Errorf("-o xml: %v", err)
	}
}

// What has run on a machine is found, and configured by its file.
func TestFind(t *testing.T) {
	here := &machinePlaces{root: t.TempDir()}
	if got := here.daemons(); len(got) != 0 {
		t.Errorf("an empty machine has %v", got)
	}
	for _, dir := range []string{centerData + "/pki", agentData, "/etc/skerry"} {
		if err := os.MkdirAll(here.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"center": "listen: 127.0.0.1:17443\n", "agent": "parent: https://center.example:7443\nallow: {takeOver: true}\n"} {
		if err := os.WriteFile(here.path("/etc/skerry/"+name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := daemons()
	var parts []part
	app := &cli.App{Name: "skerry", Commands: []*cli.Command{Command(d)}, Writer: io.Discard}
	app.Commands[0].Action = func(c *cli.Context) (err error) {
		parts, err = d.find(c, here)
		return err
	}
	if err := app.RunContext(t.Context(), []string{"skerry", "doctor"}); err != nil {
		t.Fatal(err)
	}
	if len(parts) != 2 || parts[0].name != "center" || parts[1].name != "agent" {
		t.Fatalf("found %+v", parts)
	}
	if got := parts[0].context.String("listen"); got != "127.0.0.1:17443" {
		t.Errorf("the center listens at %q", got)
	}
	if c := parts[1].context; len(c.StringSlice("parent")) != 1 || !c.Bool("allow-take-over") ||
		agentDir(c, here) != here.path(agentData) {
		t.Errorf("the agent is configured with %v in %s", c.StringSlice("parent"), agentDir(c, here))
	}
}

const canary = "c4n4ry-0123456789abcdef"

// seeded is an agent's machine with a canary in each place that holds a secret.
func seeded(t *testing.T) (args []string, hidden []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agent")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tunneltest.NewCenter(t).Enrol(t, dir, "paris")
	secret := "00112233445566778899aabbccddeeff"
	token := "skt1.01234567." + secret + "." + strings.Repeat("ab", 32)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("agent.db", strings.Repeat(canary+"-in-a-secret ", 1000))
	write("seal.keys", canary+"-seal")
	write(agent.StatusFile, `{"running":true,"ended":"dial http://u:`+canary+`-url@proxy: `+token+`"}`)
	kubeconfig := write("kubeconfig", `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"users":[{"name":"u","user":{"token":"`+canary+`-bearer","exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/false",
		"env":[{"name":"X","value":"`+canary+`-exec"}]}}}]}`)
	proxyFile := write("proxy", "http://user:"+canary+"-proxy@127.0.0.1:1")
	tokenFile := write("token", token)
	key, err := os.ReadFile(filepath.Join(dir, "agent.key"))
	if err != nil {
		t.Fatal(err)
	}
	// The log has all of them.
	bin := t.TempDir()
	script := "#!/bin/sh\ncat <<'END'\njoined with " + token + "\nkubeconfig " + canary + "-bearer and " + canary + "-exec\n" +
		"proxy http://user:" + canary + "-proxy@127.0.0.1:1\npassword=" + canary + "-log\n" + string(key) + "\nthe last line\nEND\n"
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("SKERRY_FUTURE_SECRET", canary+"-env")
	t.Setenv("SKERRY_DATASTORE_ENDPOINT", "postgres://u:"+canary+"-db@127.0.0.1:1/x")
	args = []string{"--data-dir", dir, "--parent", "https://127.0.0.1:1", "--kubeconfig", kubeconfig,
		"--proxy-file", proxyFile, "--token-file", tokenFile, "--name", "paris"}
	return args, []string{canary, secret, strings.TrimSpace(strings.Split(string(key), "\n")[1])}
}

// No secret is in a bundle or in the words of the doctor, wherever it stands.
func TestNoSecretIsShown(t *testing.T) {
	args, hidden := seeded(t)
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	progress, err := run(t, append(append([]string{"support-bundle", "agent"}, args...), "-f", path)...)
	if err != nil {
		t.Fatal(err)
	}
	texts := bundletest.Unpack(t, path)
	if !strings.Contains(texts["agent/journal.log"], "the last line") || !strings.Contains(texts["agent/config.txt"], "name: paris") ||
		!strings.Contains(texts["agent/config.txt"], "future-secret: (set, not shown)") ||
		!strings.Contains(texts["agent/files.txt"], "seal.keys") || !strings.Contains(texts["versions.txt"], "SKERRY_FUTURE_SECRET") ||
		texts["doctor.json"] == "" || texts["agent/status.json"] == "" {
		t.Errorf("something is missing: %v", texts)
	}
	texts["progress"] = progress
	for _, format := range []string{"wide", "json"} {
		texts["doctor -o "+format], err = run(t, append(append([]string{"doctor", "agent"}, args...), "-o", format)...)
		if !errors.Is(err, doctor.ErrFaults) {
			t.Errorf("%v", err)
		}
	}
	for name, text := range texts {
		for _, secret := range hidden {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s shows a secret: ...%.80s", name, text[max(0, i-30):])
			}
		}
	}
	if _, err := run(t, append(append([]string{"support-bundle", "agent"}, args...), "-f", path)...); err == nil ||
		!strings.Contains(err.Error(), "exists already") {
		t.Errorf("over a bundle: %v", err)
	}
}
