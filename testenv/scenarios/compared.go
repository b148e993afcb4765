package scenarios

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/rogpeppe/go-internal/testscript"
)

// The two APIs at which Compare runs every script. The name is in the variable API of a script.
const (
	onControl = "control" // a plain cluster
	onSpace   = "space"   // a space with one site
)

// Compare runs every script of a directory twice, with the same steps: at a plain cluster, and at a
// space whose site is such a cluster. It prints a table with the first step that failed of each.
func Compare(t *testing.T, dir string) {
	r := newRunner(t)
	seen := &outcomes{steps: map[string]map[string]string{}}
	for _, api := range []string{onControl, onSpace} {
		t.Run(api, func(t *testing.T) {
			params := r.params(dir)
			params.Setup = func(env *testscript.Env) error {
				env.Setenv("API", api)
				return r.setup(env)
			}
			testscript.RunT(recorder{script: script{t}, api: api, seen: seen}, params)
		})
	}
	t.Logf("\n%s", seen)
}

// startAPI is the script command api. The flags are what the site's admin gives the agent.
func (r *runner) startAPI(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: api [FLAGS]")
	}
	admin := ts.MkAbs("api.kubeconfig")
	switch ts.Getenv("API") {
	case onControl:
		r.cluster(ts, false, []string{"use", "simulated-2"})
		setenv(ts, "SITE", "simulated-2")
		kubeconfig, err := os.ReadFile(run(ts, "testenv", "kubeconfig", "simulated-2"))
		ts.Check(err)
		ts.Check(os.WriteFile(admin, kubeconfig, 0o600))
	case onSpace:
		setenv(ts, "SITE", "simulated-1")
		r.startCenter(ts, false, nil)
		r.joinSite(ts, false, append([]string{"one=simulated-1"}, args...))
		createSpace(ts, false, []string{"shop"})
		ts.Check(os.Rename(ts.MkAbs("shop.kubeconfig"), admin))
	default:
		ts.Fatalf("api is for the scripts of Compare")
	}
	ts.Setenv("KUBECONFIG", admin)
	run(ts, "kubectl", "create", "namespace", ts.Getenv("NS"))
	run(ts, "kubectl", "config", "set-context", "--current", "--namespace="+ts.Getenv("NS"))
}

// conditions is a line for each object, with what its conditions say or what an event tells.
const conditions = `{range .items[*]}{.kind} {.metadata.name}: {.status.conditions}{.reason} {.message}{"\n"}{end}`

// startOperator is the script command operator. The process has a kubeconfig with a token of the
// ServiceAccount, and no other right.
func startOperator(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: operator ACCOUNT COMMAND [ARGUMENT...]")
	}
	admin, own := ts.Getenv("KUBECONFIG"), ts.MkAbs("operator.kubeconfig")
	token := run(ts, "kubectl", "create", "token", args[0], "--duration=1h")
	kubeconfig, err := os.ReadFile(admin)
	ts.Check(err)
	ts.Check(os.WriteFile(own, kubeconfig, 0o600))
	ts.Setenv("KUBECONFIG", own)
	defer ts.Setenv("KUBECONFIG", admin)
	run(ts, "kubectl", "config", "set-credentials", "operator", "--token="+token)
	run(ts, "kubectl", "config", "set-context", "--current", "--user=operator")
	background(ts, false, append([]string{"operator"}, args[1:]...))
	if one, ok := ts.Value(testKey{}).(recorder); ok {
		ts.Defer(func() {
			if one.Failed() {
				lines := strings.Split(readLog(ts, "operator"), "\n")
				one.T.Logf("the end of operator.log:\n%s", strings.Join(lines[max(0, len(lines)-15):], "\n"))
				stdout, stderr, _ := capture(ts, []string{"kubectl", "--kubeconfig", admin, "get",
					"statefulsets,deployments,jobs,pods,events", "-o", "jsonpath=" + conditions})
				one.T.Logf("conditions and events:\n%s%s", stdout, stderr)
			}
		})
	}
}

// install is the script command of that name. Roles of operators have common names, hence the prefix.
func install(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: install DIRECTORY [PREFIX]")
	}
	dir, err := os.MkdirTemp(ts.MkAbs("."), "install")
	ts.Check(err)
	from, err := filepath.Rel(dir, filepath.Join(ts.Getenv("SKERRY_OPERATORS"), args[0]))
	ts.Check(err)
	text := fmt.Sprintf("namespace: %s\nresources: [%s]\n", ts.Getenv("NS"), from)
	if len(args) == 2 {
		text += "namePrefix: " + args[1] + "\n"
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	// Kustomize leaves the namespaces of subjects that it does not find among the resources.
	objects := namespaceLine.ReplaceAllString(run(ts, "kubectl", "kustomize", dir), "${1}"+ts.Getenv("NS"))
	all := filepath.Join(dir, "objects.yaml")
	ts.Check(os.WriteFile(all, []byte(objects), 0o600))
	run(ts, "kubectl", "apply", "--server-side", "-f", all)
}

// define is the script command definitions: it applies the CustomResourceDefinitions of a directory
// and waits until they are served.
func define(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: definitions DIRECTORY")
	}
	files, err := filepath.Glob(filepath.Join(ts.Getenv("SKERRY_OPERATORS"), args[0], "*.yaml"))
	ts.Check(err)
	apply := []string{"kubectl", "apply", "--server-side", "-o", "name"}
	for _, file := range files {
		if filepath.Base(file) != "kustomization.yaml" {
			apply = append(apply, "-f", file)
		}
	}
	for _, name := range strings.Fields(run(ts, apply...)) {
		// kubectl wait fails when there is no condition yet.
		established := `{.status.conditions[?(@.type=="Established")].status}`
		eventually(ts, false, []string{"60s", "True", "kubectl", "get", name, "-o", "jsonpath=" + established})
	}
}

// namespaceLine is a namespace of an object or of the subject of a binding.
var namespaceLine = regexp.MustCompile(`(?m)^( +namespace: ).*$`)

// recorder is a test as scripts want it, and keeps what became of them.
type recorder struct {
	script
	api  string
	seen *outcomes
}

// Run runs a script.
func (r recorder) Run(name string, run func(testscript.T)) {
	r.T.Run(name, func(t *testing.T) {
		t.Cleanup(func() { r.seen.end(name, r.api, t) })
		run(recorder{script: script{t}, api: r.api, seen: r.seen})
	})
}

// failedAt is the line with which a script's log tells where it failed.
var failedAt = regexp.MustCompile(`(?m)^FAIL: (\S+):(\d+): (.*)$`)

// Log also keeps the step that failed.
func (r recorder) Log(args ...any) {
	r.Helper()
	r.script.Log(args...)
	if at := failedAt.FindStringSubmatch(fmt.Sprint(args...)); at != nil {
		script := strings.TrimSuffix(filepath.Base(at[1]), ".txt")
		r.seen.fail(script, r.api, fmt.Sprintf("%s: %s", at[2], stepAt(at[1], at[2])))
	}
}

// stepAt is a line of a script, shortened.
func stepAt(script, number string) string {
	text, err := os.ReadFile(filepath.Clean(script))
	if err != nil {
		return err.Error()
	}
	var n int
	lines := strings.Split(string(text), "\n")
	if _, err := fmt.Sscan(number, &n); err != nil || n < 1 || n > len(lines) {
		return "no line " + number
	}
	const longest = 70
	if line := []rune(lines[n-1]); len(line) > longest {
		return string(line[:longest]) + "..."
	}
	return lines[n-1]
}

// outcomes are what became of each script at each API.
type outcomes struct {
	mu    sync.Mutex
	steps map[string]map[string]string // by script and API: "ok", "skipped", or the step that failed
}

// fail keeps the step that failed. The first one stays.
func (o *outcomes) fail(script, api, step string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.steps[script] == nil {
		o.steps[script] = map[string]string{}
	}
	if o.steps[script][api] == "" {
		o.steps[script][api] = step
	}
}

func (o *outcomes) end(script, api string, t *testing.T) {
	switch {
	case t.Skipped():
		o.fail(script, api, "skipped")
	case t.Failed():
		o.fail(script, api, "failed")
	default:
		o.fail(script, api, "ok")
	}
}

// String is a table.
func (o *outcomes) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "operator\t%s\t%s\n", onControl, onSpace)
	for _, script := range slices.Sorted(maps.Keys(o.steps)) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", script, o.steps[script][onControl], o.steps[script][onSpace])
	}
	if err := table.Flush(); err != nil {
		return err.Error()
	}
	return text.String()
}
