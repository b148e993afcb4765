// Package scenarios runs scripts over test clusters: each file of
// testdata/script is one scenario, readable from top to bottom, in the language
// of testscript (rogpeppe/go-internal) with a few commands more:
//
//	cluster use NAME...             wait for shared clusters: real-1, real-2, simulated-1, simulated-2
//	cluster up [FLAGS] NAME         start a cluster that only this script has
//	cluster down|stop|start ...     as on the command line of testenv
//	kubectl [@CLUSTER] ARGS         kubectl, as administrator of the cluster
//	skerry ARGS                     the product's binary, $SKERRY_BIN
//	testenv ARGS                    the test environment's binary, $TESTENV_BIN
//	eventually TIME REGEXP COMMAND  repeat a command until its output matches
//	capture VARIABLE COMMAND        run a command and keep its output in a variable
//	setup NAME=CLUSTER...           center, a site for each, and space shop
//	center [FLAGS]                  start a center at $CENTER, in center/; KUBECONFIG is its admin's
//	site NAME=CLUSTER [FLAGS]       start an agent beside a shared cluster, until it is connected;
//	                                the cluster's kubeconfig is in $NAME, in capitals
//	space NAME [FLAGS]              create a space; NAME.kubeconfig is of a cluster-admin of it
//	messages FILE                   run the commands of FILE, and look in what each says for its cause
//	                                and the next step, as the file has them
//	smalldisk DIRECTORY SIZE        make a directory that is a file system of its own, such as of 4m
//	machine boot NAME NETNS         boot a Debian with systemd in a network namespace; /dist has the
//	                                directory of $SKERRY_BIN
//	machine reboot NAME             and wait until it has booted again
//	machine kill NAME               the same after all its processes were killed at once
//	machine exec NAME COMMAND       run a shell's command in it, as root
//	page [@MACHINE] FILE[#SECTION] [FROM=TO...]
//	                                run the commands of a page of packaging/docs, here or in a
//	                                machine, with names and addresses replaced
//	noerrors LOG...                 the logs have no errors but those of Kubernetes' libraries
//	bg NAME COMMAND                 start a process; its output is in NAME.log
//	bgstop NAME, bgkill NAME        end it with SIGTERM, with SIGKILL
//
// Scripts of [Compare] run at a plain cluster and at a space, and have these commands for it:
//
//	api [FLAGS]                     KUBECONFIG is an admin's of the cluster or the space, $NS is its
//	                                namespace; pods run in kubectl @$SITE; FLAGS are
//	                                of the agent of the space's site
//	definitions DIRECTORY           apply the definitions of a directory of $SKERRY_OPERATORS
//	install DIRECTORY [PREFIX]      apply a kustomization of $SKERRY_OPERATORS to $NS
//	operator ACCOUNT COMMAND        start a process that acts as a ServiceAccount of $NS; its output
//	                                is in operator.log
//
// A script that uses a real cluster is skipped without root. Shared clusters start when the first
// script uses them and are taken down after the last one; a script leaves nothing of its own in
// them, which $NS, a name that no other script has, helps with. $CENTER and $OTHER are free
// addresses for centers, $PORTS eight free ports for other servers, $PORT and $PORT2 the first two of
// them. Processes end with their script.
//
// SKERRY_PATIENCE multiplies the limit of every wait, 3 unless it is set.
//
// Tests import it; [Run] and [Compare] do nothing unless SKERRY_SCENARIOS=1.
package scenarios

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/cluster"
	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/filelock"
)

// Run runs every script of a directory as a subtest.
func Run(t *testing.T, dir string) {
	r := newRunner(t)
	// Every script has its subtest inside this one, so the clusters go when all
	// scripts are done.
	t.Run("script", func(t *testing.T) {
		params := r.params(dir)
		params.Deadline, _ = t.Deadline()
		testscript.RunT(script{t}, params)
	})
	// Just above the result of the test, where those look who see an extract of the output.
	if summary := failed.summary(); summary != "" {
		t.Log(summary)
	}
}

// params are how scripts of a directory run.
func (r *runner) params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                dir,
		Setup:              r.setup,
		RequireUniqueNames: true,
		Condition:          condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cluster":     r.cluster,
			"kubectl":     program("kubectl"),
			"skerry":      program("skerry"),
			"testenv":     program("testenv"),
			"eventually":  eventually,
			"capture":     keepOutput,
			"setup":       r.setupAll,
			"center":      r.startCenter,
			"site":        r.joinSite,
			"space":       createSpace,
			"smalldisk":   smallDisk,
			"machine":     r.machineCommand,
			"page":        r.runPage,
			"bg":          background,
			"bgstop":      endBackground(false),
			"bgkill":      endBackground(true),
			"api":         r.startAPI,
			"definitions": define,
			"install":     install,
			"operator":    startOperator,
			"messages":    messages,
			"noerrors":    noErrors,
		},
	}
}

// runner is one run of all scripts.
type runner struct {
	shared *sharedClusters
	state  string // state directory of this run's clusters
	path   string // PATH of scripts
}

// newRunner makes a state directory of its own, so that this run's clusters are
// nobody else's, and a PATH on which the programs are.
func newRunner(t *testing.T) *runner {
	if os.Getenv("SKERRY_SCENARIOS") != "1" {
		t.Skip("scenarios start clusters: run them with SKERRY_SCENARIOS=1 (make scenarios)")
	}
	testenv := binary(t, "TESTENV_BIN", "testenv")
	removeStale(t, testenv)
	state, err := os.MkdirTemp("", statePrefix)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := filelock.Acquire(t.Context(), filepath.Join(state, ownerFile))
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(testenv, "tools").Output()
	if err != nil {
		t.Fatalf("testenv tools: %v", err)
	}
	bin := filepath.Join(state, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testenv, filepath.Join(bin, "testenv")); err != nil {
		t.Fatal(err)
	}
	if skerry := os.Getenv("SKERRY_BIN"); skerry != "" {
		if err := os.Symlink(absolute(t, skerry), filepath.Join(bin, "skerry")); err != nil {
			t.Fatal(err)
		}
	}
	r := &runner{
		shared: newSharedClusters(testenv, state),
		state:  state,
		path: strings.Join([]string{bin, strings.TrimSpace(string(output)), os.Getenv("PATH")},
			string(os.PathListSeparator)),
	}
	t.Cleanup(func() {
		defer owner.Release()
		if err := r.shared.down(); err != nil {
			t.Errorf("take clusters down: %v", err)
			return // what is left is found through the state directory
		}
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	return r
}

// binary finds a program of the repository: by a variable, else in bin/ beside
// the module.
func binary(t *testing.T, variable, name string) string {
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("..", "..", "bin", name)
	}
	path = absolute(t, path)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; build it, or set %s", err, variable)
	}
	return path
}

func absolute(t *testing.T, path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// setup prepares a script's environment.
func (r *runner) setup(env *testscript.Env) error {
	env.Setenv("PATH", r.path)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv(cluster.StateVariable, r.state)
	// Caches stay where they are although HOME changes.
	for _, name := range []string{"SKERRY_TESTENV_CACHE", "SKERRY_BIN", "SKERRY_OPERATORS"} {
		env.Setenv(name, os.Getenv(name))
	}
	source, err := artifact.SourceDir()
	if err != nil {
		return err
	}
	env.Setenv(artifact.SourceVariable, source)
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	env.Setenv("XDG_CACHE_HOME", cache)
	ns := namespaceFor(filepath.Base(env.WorkDir))
	env.Setenv("NS", ns)
	env.Setenv("SKERRY_SPACES_NAMESPACE", "skerry-"+ns) // the scripts' centers share clusters
	for _, name := range []string{"CENTER", "OTHER"} {  // HOST:PORT for two centers
		address, err := drive.FreeAddress()
		if err != nil {
			return err
		}
		env.Setenv(name, address)
	}
	var ports []string // of other servers of the script's
	for range 8 {
		address, err := drive.FreeAddress()
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		ports = append(ports, port)
	}
	env.Setenv("PORT", ports[0])
	env.Setenv("PORT2", ports[1])
	env.Setenv("PORTS", strings.Join(ports, " "))
	env.Setenv("KUBECONFIG", "") // a script sets it, or says @CLUSTER
	var variables []string
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		variables = append(variables, name)
	}
	background := &processes{}
	env.Values[variablesKey{}] = &variables
	env.Values[processesKey{}] = background
	env.Values[testKey{}] = env.T()
	if test, ok := env.T().(interface{ tellWarnings(dir string) }); ok {
		env.Defer(func() { test.tellWarnings(env.WorkDir) })
	}
	env.Defer(background.end)
	return nil
}

// The keys of what a script's commands find with TestScript.Value.
type (
	variablesKey struct{} // *[]string, the names of environment variables
	processesKey struct{} // *processes
	testKey      struct{} // testscript.T
)

// namespaceFor makes a namespace's name of a script's name.
func namespaceFor(script string) string {
	script = strings.TrimPrefix(script, "script-")
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(script))
	return "t-" + strings.Trim(name, "-")
}

// condition is for lines that begin with [root] or [!root].
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "postgres": // as Debian installs it, when it is asked for
		if os.Getenv("SKERRY_POSTGRES") == "" {
			return false, nil
		}
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return false, errors.New("PostgreSQL is not installed: apt-get install postgresql")
		}
		return len(found) > 0, err
	}
	return false, fmt.Errorf("no condition %q", name)
}
