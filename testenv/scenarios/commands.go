package scenarios

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"skerry.dev/skerry/testenv/cluster"
)

// program returns a script command that runs a program to its end; stdout and
// stderr can be looked at afterwards.
func program(name string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		args = resolve(ts, append([]string{name}, args...))
		check(ts, neg, ts.Exec(args[0], args[1:]...))
	}
}

// resolve puts the kubeconfig in the place of @CLUSTER, which may stand first
// after kubectl. @PATH, with a slash or a dot in it, is a kubeconfig itself.
func resolve(ts *testscript.TestScript, args []string) []string {
	if args[0] == "skerry" && os.Getenv("SKERRY_BIN") == "" {
		ts.Fatalf("SKERRY_BIN is not set: it names the product's binary")
	}
	if len(args) < 2 || args[0] != "kubectl" || !strings.HasPrefix(args[1], "@") {
		return args
	}
	kubeconfig := args[1][1:]
	if strings.ContainsAny(kubeconfig, "/.") {
		kubeconfig = ts.MkAbs(kubeconfig)
	} else {
		kubeconfig = filepath.Join(ts.Getenv(cluster.StateVariable), "clusters", kubeconfig, "kubeconfig")
	}
	return append([]string{"kubectl", "--kubeconfig", kubeconfig}, args[2:]...)
}

// check compares a command's outcome with what the script expects.
func check(ts *testscript.TestScript, neg bool, err error) {
	switch {
	case err == nil && neg:
		ts.Fatalf("unexpected success")
	case err != nil && !neg:
		ts.Fatalf("%v", err)
	}
}

// pollInterval is the pause between two runs of an eventually's command.
const pollInterval = 200 * time.Millisecond

// eventually repeats a command until it succeeds and its standard output
// matches, or with "!" until it fails or does not match. When the time is over it
// fails with the last output.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: eventually TIME REGEXP COMMAND [ARGUMENT...]")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	limit *= patience
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	argv := resolve(ts, args[2:])
	began := time.Now()
	for attempts := 1; ; attempts++ {
		stdout, stderr, err := capture(ts, argv)
		if (err == nil && matches(want, stdout)) != neg {
			ts.Logf("after %.1fs (%d attempts)", time.Since(began).Seconds(), attempts)
			_, err := ts.Stdout().Write([]byte(stdout))
			ts.Check(err)
			return
		}
		if time.Since(began) > limit {
			ts.Fatalf("not after %s (%d attempts): %q\nlast outcome: %v\n[stdout]\n%s[stderr]\n%s", limit, attempts,
				args[1], err, stdout, stderr)
		}
		time.Sleep(pollInterval)
	}
}

// matches leaves the newline that ends an output out of what want sees. Behind it is an empty line
// for a regexp of several lines, and '^$', which asks for no output, would match any output.
func matches(want *regexp.Regexp, output string) bool {
	return want.MatchString(strings.TrimSuffix(output, "\n"))
}

func capture(ts *testscript.TestScript, argv []string) (stdout, stderr string, err error) {
	cmd, err := scriptCommand(ts, argv)
	if err != nil {
		return "", "", err
	}
	output, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		stderr = string(exit.Stderr)
	}
	return string(output), stderr, err
}

// scriptCommand returns a command with the script's directory and environment: the variables that it
// began with, as the script has set them since, and those of setenv.
func scriptCommand(ts *testscript.TestScript, argv []string) (*exec.Cmd, error) {
	path, err := lookPath(argv[0], ts.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range *ts.Value(variablesKey{}).(*[]string) {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd, nil
}

// setenv sets a variable of a script, also for what scriptCommand runs. The command env of testscript
// does so only for variables that the script began with.
func setenv(ts *testscript.TestScript, name, value string) {
	if names := ts.Value(variablesKey{}).(*[]string); !slices.Contains(*names, name) {
		*names = append(*names, name)
	}
	ts.Setenv(name, value)
}

func lookPath(program, path string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, program)
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// requireRoot skips the script when it needs root and does not have it.
func requireRoot(ts *testscript.TestScript, needed bool) {
	if needed && os.Geteuid() != 0 {
		ts.Value(testKey{}).(testscript.T).Skip("a real cluster needs root")
	}
}

// keepOutput is the script command capture.
func keepOutput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: capture VARIABLE COMMAND [ARGUMENT...]")
	}
	command := resolve(ts, args[1:])
	ts.Check(ts.Exec(command[0], command[1:]...))
	setenv(ts, args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
