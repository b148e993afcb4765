package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// installBundle installs a bundle on both sides as its users do, installs it again, removes it, and
// compares after each step.
func (r *run) installBundle(ctx context.Context, u *Unit) (res result) {
	i := &installation{run: r, unit: u}
	if res.err = i.render(ctx); res.err != nil {
		return res
	}
	release := r.claims.take(sharedNames(i.ids))
	defer release()
	var namespaces []string
	defer func() {
		more, err := r.clean(ctx, u, namespaces, i.ids)
		res.differences = append(res.differences, more...)
		if res.err == nil {
			res.err = err
		}
		res.unused, res.notes, res.warnings = u.unused(), i.notes, i.warnings
	}()
	named, made := namespacesOf(i.ids)
	for _, ns := range append(named, u.Name) {
		if slices.Contains(kept, ns) || slices.Contains(namespaces, ns) {
			continue
		}
		namespaces = append(namespaces, ns)
		if slices.Contains(made, ns) {
			continue
		}
		if res.differences, res.err = r.both(ctx, u, "namespace", command{program: r.Site.Kubectl,
			args: []string{"create", "namespace", ns}}); res.err != nil || len(res.differences) > 0 {
			return res
		}
	}
	for _, step := range []struct {
		name string
		take func(context.Context) ([]difference, error)
	}{{"install", i.install}, {"again", i.again}, {"remove", i.remove}} {
		more, err := step.take(ctx)
		for i, d := range more {
			more[i].reason = u.declares(d)
		}
		res.differences = append(res.differences, more...)
		if res.err = err; err != nil {
			return res
		}
		compared, more, err := r.settle(ctx, u, step.name, namespaces, i.ids)
		res.compared = res.compared.max(compared)
		res.differences = append(res.differences, news(res.differences, more)...)
		if res.err = err; err != nil {
			return res
		}
	}
	return res
}

// news are the differences that no step before has shown.
func news(before, now []difference) []difference {
	return slices.DeleteFunc(now, func(d difference) bool {
		return slices.ContainsFunc(before, func(b difference) bool {
			b.step = d.step
			return b == d
		})
	})
}

// installation is a bundle on its way to both sides.
type installation struct {
	*run
	unit *Unit
	// manifest and values are files.
	manifest, values string
	ids              []identity
	// noHooks says that the chart's hooks end on neither side, because their image is nowhere.
	noHooks bool
	// serverSide says that the manifests are too large for kubectl to keep them in an annotation.
	serverSide bool
	// notes are what both sides refuse, and warnings what only the space says.
	notes, warnings []string
}

// render writes down what the bundle installs, and finds what a chart makes up each time.
func (i *installation) render(ctx context.Context) error {
	b := i.unit.bundle
	values, err := yaml.Marshal(b.values)
	if err != nil {
		return err
	}
	i.manifest = filepath.Join(i.Dir, i.unit.Name+".yaml")
	i.values = filepath.Join(i.Dir, i.unit.Name+".values.yaml")
	if err := os.WriteFile(i.values, values, 0o600); err != nil {
		return err
	}
	var text string
	switch b.form {
	case kustomization:
		text, err = i.Run(ctx, i.Site.Kubectl, "kustomize", b.path)
	case manifests:
		var files []string
		if files, err = manifestFiles(b.path); err == nil {
			text, err = concatenated(files)
		}
	case chart:
		args := []string{"template", i.unit.Name, b.path, "--namespace", i.unit.Name, "--include-crds",
			"--values", i.values}
		var other string
		if text, err = i.Run(ctx, i.Helm, args...); err != nil {
			break
		}
		if other, err = i.Run(ctx, i.Helm, args...); err == nil {
			i.unit.madeUp, err = madeUp(text, other)
		}
	}
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	if i.ids, err = identities(text); err != nil {
		return fmt.Errorf("read what was rendered: %w", err)
	}
	return os.WriteFile(i.manifest, []byte(text), 0o600)
}

// hookLimit is how long helm waits for a hook. The images of other makers are nowhere, so most hooks
// never end.
const hookLimit = "20s"

func (i *installation) install(ctx context.Context) ([]difference, error) {
	cluster, space, err := i.tell(ctx, i.installCommand("install"))
	if err != nil {
		return nil, err
	}
	if cluster.failed && space.failed {
		i.note("install", cluster)
		i.noHooks, i.serverSide = true, true
		if i.unit.bundle.form == chart { // manifests are applied again, as their users do
			if _, _, err := i.tell(ctx, i.removeCommand()); err != nil {
				return nil, err
			}
		}
		if cluster, space, err = i.tell(ctx, i.installCommand("install")); err != nil {
			return nil, err
		}
	}
	return i.judge("install", cluster, space, false), nil
}

// again installs what is there already, as a GitOps tool does all day: kubectl must say the same of
// each object.
func (i *installation) again(ctx context.Context) ([]difference, error) {
	cluster, space, err := i.tell(ctx, i.installCommand("upgrade"))
	return i.judge("again", cluster, space, i.unit.bundle.form != chart), err
}

func (i *installation) remove(ctx context.Context) ([]difference, error) {
	cluster, space, err := i.tell(ctx, i.removeCommand())
	return i.judge("remove", cluster, space, false), err
}

func (i *installation) installCommand(verb string) command {
	if i.unit.bundle.form != chart {
		args := []string{"apply", "-f", i.manifest}
		if i.serverSide {
			args = append(args, "--server-side", "--force-conflicts")
		}
		return command{program: i.Site.Kubectl, args: args}
	}
	args := []string{verb, i.unit.Name, i.unit.bundle.path, "--values", i.values, "--timeout", hookLimit}
	if i.noHooks {
		args = append(args, "--no-hooks")
	}
	return command{program: i.Helm, args: args}
}

func (i *installation) removeCommand() command {
	if i.unit.bundle.form != chart {
		return command{program: i.Site.Kubectl, args: []string{"delete", "-f", i.manifest, "--ignore-not-found",
			"--timeout", i.unit.limit.String()}}
	}
	args := []string{"uninstall", i.unit.Name, "--timeout", hookLimit}
	if i.noHooks {
		args = append(args, "--no-hooks")
	}
	return command{program: i.Helm, args: args}
}

// tell runs a command on both sides at once, and keeps the warnings of the space.
func (i *installation) tell(ctx context.Context, c command) (cluster, space answer, err error) {
	cluster, space, err = i.run.tell(ctx, i.unit, c)
	told := warningsOf(cluster.stderr)
	for _, w := range warningsOf(space.stderr) {
		if !slices.Contains(told, w) && !slices.Contains(i.warnings, w) {
			i.warnings = append(i.warnings, w)
		}
	}
	return cluster, space, err
}

// judge compares what both sides said. What both refuse alike is no difference, but noted.
func (i *installation) judge(step string, cluster, space answer, output bool) (out []difference) {
	if cluster.failed != space.failed {
		out = append(out, difference{object: step, path: "exit", cluster: cluster.String(), space: space.String()})
	} else if cluster.failed {
		i.note(step, cluster)
		want, got := complaints(cluster.stderr), complaints(space.stderr)
		if want != got {
			out = append(out, difference{object: step, path: "stderr", cluster: lacking(want, got), space: lacking(got, want)})
		}
	}
	if want, got := normalOutput(cluster.stdout), normalOutput(space.stdout); output && want != got {
		out = append(out, difference{object: step, path: "stdout", cluster: lacking(want, got), space: lacking(got, want)})
	}
	return out
}

func (i *installation) note(step string, a answer) {
	i.notes = append(i.notes, step+" fails on both: "+short(complaints(a.stderr)))
}

// lacking are the lines of a text that another one has not.
func lacking(text, other string) string {
	there := strings.Split(other, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.Contains(there, line)
	}), "\n")
}

// warningsOf are the warnings of an API server among what a program printed.
func warningsOf(stderr string) (out []string) {
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); isWarning(line) {
			out = append(out, line)
		}
	}
	return out
}

func isWarning(line string) bool {
	return strings.HasPrefix(line, "Warning:") || strings.Contains(line, "level=WARN") || strings.HasPrefix(line, "W")
}

// request is what a client adds to the answer of a path that is not served.
var request = regexp.MustCompile(` \((get|post|put|patch|delete) [^()]*\)`)

// complaints are what a program printed but for warnings, as what makes no difference between clusters.
func complaints(stderr string) string {
	var out []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" && !isWarning(line) {
			out = append(out, normalOutput(request.ReplaceAllString(line, "")))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
