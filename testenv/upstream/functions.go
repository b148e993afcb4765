package upstream

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// functionLimit is how long one of kubectl's test functions may take; the longest take a minute.
const functionLimit = 10 * time.Minute

// recorded is how upstream's script names a function that it runs.
var recorded = regexp.MustCompile(`(?m)^\s*record_command (run_\w+)`)

// Functions are the functions with which upstream tests kubectl, from its script.
func Functions(upstream string) ([]string, error) {
	script, err := os.ReadFile(filepath.Join(upstream, "test", "cmd", "legacy-script.sh"))
	if err != nil {
		return nil, fmt.Errorf("find kubectl's test functions: %w", err)
	}
	var names []string
	for _, m := range recorded.FindAllSubmatch(script, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// functions runs kubectl's test functions, each in a space of its own, two at a time.
func (r *run) functions(ctx context.Context) error {
	declared, err := Load(filepath.Join(r.Lists, "kubectl.yaml"))
	if err != nil {
		return err
	}
	existing, err := Functions(r.Upstream)
	if err != nil {
		return err
	}
	if err := declared.Check(existing); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(r.Lists, "kubectl.yaml"), err)
	}
	chosen := chosen(declared.Run, r.Focus)
	if len(chosen) == 0 {
		return nil
	}
	round := &Round{Name: "kubectl's test functions", Spaces: 1, Declared: len(chosen), Excluded: declared.Left()}
	r.rounds = append(r.rounds, round)
	began := time.Now()
	var mu sync.Mutex
	var all []Result
	todo := make(chan string)
	var workers sync.WaitGroup
	for range r.Procs {
		workers.Go(func() {
			for name := range todo {
				x := r.function(ctx, name)
				mu.Lock()
				all = append(all, x)
				r.progress(len(all), len(chosen), x)
				mu.Unlock()
			}
		})
	}
	for _, name := range chosen {
		todo <- name
	}
	close(todo)
	workers.Wait()
	round.Seconds = time.Since(began).Seconds()
	round.add("", chosen, all)
	return ctx.Err()
}

// function runs one in a new space.
func (r *run) function(ctx context.Context, name string) Result {
	ctx, cancel := context.WithTimeout(ctx, functionLimit)
	defer cancel()
	x := Result{Space: "kubectl-" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "run_"), "_", "-")),
		Test: name, State: "failed"}
	began := time.Now()
	x.At = filepath.Join(r.logs, name+".log")
	output, err := r.call(ctx, x.Space, name)
	x.Seconds = time.Since(began).Seconds()
	if werr := os.WriteFile(x.At, output, 0o644); err == nil && werr != nil {
		err = werr
	}
	if err == nil {
		x.State, x.At = passed, ""
	} else {
		x.Message = fmt.Sprintf("%v: %s", err, lastError(string(output)))
	}
	return x
}

func (r *run) call(ctx context.Context, space, name string) ([]byte, error) {
	kubeconfig, err := r.space(ctx, space)
	if err != nil {
		return nil, err
	}
	server, err := serverOf(kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"create", "serviceaccount", "tester", "-n", "kube-system"},
		{"create", "clusterrolebinding", "tester", "--clusterrole=cluster-admin", "--serviceaccount=kube-system:tester"}} {
		if _, err := r.K(ctx, kubeconfig, args...); err != nil {
			return nil, err
		}
	}
	token, err := r.K(ctx, kubeconfig, "create", "token", "tester", "-n", "kube-system", "--duration=1h")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(r.Lists, "kubectl.sh"))
	cmd.Env = append(os.Environ(), "UPSTREAM="+r.Upstream, "PROGRAMS="+r.Built, "SERVER="+server, "TOKEN="+
		strings.TrimSpace(token), "FUNCTION="+name)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	return output.Bytes(), err
}

// serverOf returns port and path of a kubeconfig's server.
func serverOf(kubeconfig string) (string, error) {
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		return "", err
	}
	var f struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal(data, &f); err != nil || len(f.Clusters) == 0 {
		return "", fmt.Errorf("read %s: no cluster in it (%v)", kubeconfig, err)
	}
	u, err := url.Parse(f.Clusters[0].Cluster.Server)
	if err != nil {
		return "", err
	}
	return u.Port() + u.Path, nil
}

// lastError is the line of a function's output that says most about why it failed.
func lastError(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], "FAIL!") || strings.Contains(lines[i], "exited with status") ||
			strings.Contains(lines[i], "rror") {
			return lines[i]
		}
	}
	return lines[len(lines)-1]
}
