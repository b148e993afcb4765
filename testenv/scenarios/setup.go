package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	// readyTimeout bounds the start of a center.
	readyTimeout = 30 * time.Second
	// joinTimeout bounds the time from an agent's start to its first session.
	joinTimeout = 30 * time.Second
)

// setup is the script command of that name: a center, a site for each NAME=CLUSTER, and the space
// shop.
func (r *runner) setupAll(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! setup")
	}
	r.startCenter(ts, false, nil)
	for _, site := range args {
		r.joinSite(ts, false, []string{site})
	}
	createSpace(ts, false, []string{"shop"})
}

// startCenter is the script command center.
func (r *runner) startCenter(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! center")
	}
	argv := []string{"skerry", "center", "--data-dir", "center", "--listen", ts.Getenv("CENTER")}
	background(ts, false, append([]string{"center"}, append(argv, args...)...))
	waitFor(ts, "center", readyTimeout, func() error {
		if !strings.Contains(readLog(ts, "center"), "center ready") {
			return fmt.Errorf("the center is not ready")
		}
		return nil
	})
	ts.Setenv("KUBECONFIG", ts.MkAbs("center/admin.kubeconfig"))
}

// joinSite is the script command site. The token is in a file, as the documentation says.
func (r *runner) joinSite(ts *testscript.TestScript, neg bool, args []string) {
	name, cluster, found := "", "", false
	if len(args) > 0 {
		name, cluster, found = strings.Cut(args[0], "=")
	}
	if neg || !found {
		ts.Fatalf("usage: site NAME=CLUSTER [FLAGS]")
	}
	r.cluster(ts, false, []string{"use", cluster})
	token := name + ".token"
	ts.Check(os.WriteFile(ts.MkAbs(token), []byte(run(ts, "skerry", "token", "create", "-o", "token")), 0o600))
	kubeconfig := run(ts, "testenv", "kubeconfig", cluster)
	setenv(ts, strings.ToUpper(name), kubeconfig)
	argv := []string{"skerry", "agent", "--data-dir", name, "--parent", "https://" + ts.Getenv("CENTER"),
		"--token-file", token, "--name", name, "--kubeconfig", kubeconfig}
	background(ts, false, append([]string{name}, append(argv, args[1:]...)...))
	waitFor(ts, name, joinTimeout, func() error {
		connected := `{.status.conditions[?(@.type=="Connected")].status}`
		argv := []string{"kubectl", "get", "synctarget", name, "-o", "jsonpath=" + connected}
		if stdout, stderr, err := capture(ts, argv); err != nil || stdout != "True" {
			return fmt.Errorf("condition Connected of the SyncTarget is %q: %s", stdout, stderr)
		}
		return nil
	})
}

// createSpace is the script command space. The kubeconfig is of a cluster-admin of that space.
func createSpace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: space NAME [FLAGS]")
	}
	ts.Check(ts.Exec("skerry", append([]string{"space", "create"}, args...)...))
	kubeconfig := run(ts, "skerry", "space", "kubeconfig", args[0], "--role", "cluster-admin")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".kubeconfig"), []byte(kubeconfig+"\n"), 0o600))
}

// run runs a program that must succeed, and returns its standard output without white space around.
func run(ts *testscript.TestScript, argv ...string) string {
	stdout, stderr, err := capture(ts, resolve(ts, argv))
	if err != nil {
		ts.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, stderr)
	}
	return strings.TrimSpace(stdout)
}

// waitFor waits until check returns nil. It fails with the last error, or when the process ends.
func waitFor(ts *testscript.TestScript, process string, limit time.Duration, check func() error) {
	limit *= patience
	for end := time.Now().Add(limit); ; time.Sleep(pollInterval) {
		err := check()
		switch {
		case err == nil:
			return
		case ts.Value(processesKey{}).(*processes).find(process) == nil:
			ts.Fatalf("process %s ended: %v\n%s", process, err, readLog(ts, process))
		case time.Now().After(end):
			ts.Fatalf("not after %s: %v\n%s", limit, err, readLog(ts, process))
		}
	}
}

func readLog(ts *testscript.TestScript, process string) string {
	log, err := os.ReadFile(filepath.Clean(ts.MkAbs(process + ".log")))
	if err != nil {
		return ""
	}
	return string(log)
}
