package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// manifest returns a step's file with the unit's words replaced.
func (r *run) manifest(u *Unit, file string) (string, error) {
	data, err := os.ReadFile(filepath.Join(u.dir, file))
	return r.replaced(u, string(data)), err
}

func (r *run) replaced(u *Unit, text string) string {
	return strings.NewReplacer("IMAGE", r.Image, "NAMESPACE", u.Name).Replace(text)
}

// identities are the names of the objects of a manifest.
func identities(manifest string) (ids []identity, err error) {
	objects, err := objectsOf(manifest)
	for _, o := range objects {
		ids = append(ids, identityOf(o))
	}
	return ids, err
}

func identityOf(o object) identity {
	return identity{apiVersion: o.text("apiVersion"), kind: o.text("kind"), namespace: o.text("metadata", "namespace"),
		name: o.text("metadata", "name")}
}

// manifestStep gives a manifest to both sides.
func (r *run) manifestStep(ctx context.Context, u *Unit, file, verb string) ([]difference, error) {
	text, err := r.manifest(u, file)
	if err != nil {
		return nil, err
	}
	args := []string{verb, "-f", "-"}
	switch verb {
	case "ssa":
		args = []string{"apply", "--server-side", "-f", "-"}
	case "delete":
		args = append(args, "--timeout", u.limit.String())
	}
	return r.both(ctx, u, file, command{program: r.Site.Kubectl, args: args, input: text})
}

// command is what both sides run.
type command struct {
	program string
	args    []string
	input   string
	// fails says that it must fail; same, that both must print the same; awaited, that each side is asked until it
	// succeeds there, or the unit's time is up.
	fails, same, awaited bool
}

// commandStep runs the lines of a file, one after the other.
func (r *run) commandStep(ctx context.Context, u *Unit, file string) (all []difference, err error) {
	text, err := r.manifest(u, file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := r.parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		differences, err := r.both(ctx, u, file+": "+line, c)
		all = append(all, differences...)
		if err != nil || len(differences) > 0 {
			return all, err
		}
	}
	return all, nil
}

func (r *run) parse(line string) (c command, err error) {
	for {
		switch {
		case strings.HasPrefix(line, "! "):
			c.fails = true
		case strings.HasPrefix(line, "= "):
			c.same = true
		case strings.HasPrefix(line, "~ "):
			c.awaited = true
		default:
			words := split(line)
			switch words[0] {
			case "kubectl":
				c.program = r.Site.Kubectl
			case "helm":
				c.program = r.Helm
			default:
				return c, fmt.Errorf("%q: want a line that begins with kubectl or helm", line)
			}
			c.args = words[1:]
			return c, nil
		}
		line = line[2:]
	}
}

// split divides a line at spaces that are not between single quotes.
func split(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words[len(words)-1] += part
			continue
		}
		fields := strings.Fields(part)
		if i > 0 && len(fields) > 0 && !strings.HasPrefix(part, " ") {
			words[len(words)-1] += fields[0]
			fields = fields[1:]
		}
		words = append(words, fields...)
		if strings.HasSuffix(part, " ") {
			words = append(words, "")
		}
	}
	return compact(words)
}

// compact drops the empty words that stood before quotes and got nothing.
func compact(words []string) (out []string) {
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// answer is what one side said.
type answer struct {
	stdout, stderr string
	failed         bool
}

// both runs a command on both sides at once and compares how it ended.
func (r *run) both(ctx context.Context, u *Unit, what string, c command) ([]difference, error) {
	cluster, space, err := r.tell(ctx, u, c)
	if err != nil {
		return nil, err
	}
	if cluster.failed != c.fails {
		return nil, fmt.Errorf("%s: on the cluster: %s", what, short(cluster.stderr+cluster.stdout))
	}
	switch {
	case cluster.failed != space.failed:
		return []difference{{object: what, path: "exit", cluster: cluster.String(), space: space.String()}}, nil
	case c.same && normalOutput(cluster.stdout) != normalOutput(space.stdout):
		return []difference{{object: what, path: "stdout", cluster: cluster.stdout, space: space.stdout}}, nil
	case c.same && c.fails && normalOutput(cluster.stderr) != normalOutput(space.stderr):
		return []difference{{object: what, path: "stderr", cluster: cluster.stderr, space: space.stderr}}, nil
	}
	return nil, nil
}

// tell runs a command on both sides at once.
func (r *run) tell(ctx context.Context, u *Unit, c command) (cluster, space answer, err error) {
	var answers [2]answer
	var errs [2]error
	var wg sync.WaitGroup
	for i, s := range []*side{r.cluster, r.space} {
		wg.Go(func() { answers[i], errs[i] = r.await(ctx, u, s, c) })
	}
	wg.Wait()
	return answers[0], answers[1], errors.Join(errs[:]...)
}

func (a answer) String() string {
	if a.failed {
		return "failed: " + strings.TrimSpace(a.stderr)
	}
	return "done"
}

func normalOutput(s string) string {
	return number.ReplaceAllString(normalText(strings.TrimSpace(s)), "#")
}

// await asks one side, and again where the command says so.
func (r *run) await(ctx context.Context, u *Unit, s *side, c command) (answer, error) {
	for until := time.Now().Add(u.limit); ; {
		a, err := r.ask(ctx, u, s, c)
		if err != nil || !c.awaited || !a.failed || ctx.Err() != nil || time.Now().After(until) {
			return a, err
		}
		time.Sleep(time.Second)
	}
}

// ask runs a command on one side, with the unit's namespace as its own.
func (r *run) ask(ctx context.Context, u *Unit, s *side, c command) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*u.limit)
	defer cancel()
	kubeconfig, err := r.kubeconfig(ctx, u, s)
	if err != nil {
		return a, err
	}
	cmd := exec.CommandContext(ctx, c.program, append([]string{"--kubeconfig", kubeconfig}, c.args...)...)
	cmd.Dir = u.dir
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.input), &stdout, &stderr
	err = cmd.Run()
	a = answer{stdout: stdout.String(), stderr: stderr.String(), failed: err != nil}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return a, err
}

// kubeconfig returns the path of a side's kubeconfig in which the unit's namespace is the default.
func (r *run) kubeconfig(ctx context.Context, u *Unit, s *side) (string, error) {
	path := filepath.Join(r.Dir, s.name+"-"+u.Name+".kubeconfig")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	data, err := os.ReadFile(s.kubeconfig)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", err
	}
	_, err = r.K(ctx, path, "config", "set-context", "--current", "--namespace", u.Name)
	return path, err
}
