package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// Options say what to compare, and with which programs.
type Options struct {
	// Skerry, Testenv, Kubectl and Helm are the paths of the programs.
	Skerry, Testenv, Kubectl, Helm string
	// Kind is that of both clusters: real or simulated.
	Kind string
	// Image is the reference of the test image that the clusters have.
	Image string
	// Units is the directory of the units, and Bundles that of bundles, which are run instead. Focus selects
	// either by name; nil means all.
	Units, Bundles string
	Focus          *regexp.Regexp
	// Limit is the longest time that a unit may wait for equality; 0 leaves that to the unit.
	Limit time.Duration
	// Workers is how many units run side by side.
	Workers int
	// Summary is the file that gets the results as JSON.
	Summary string
	Out     io.Writer
	Log     io.Writer
}

// ErrDifferent is returned when a space differs from a cluster without a declared reason.
var ErrDifferent = errors.New("a space differs from a cluster")

type run struct {
	Options
	drive.Site
	cluster, space *side
	site           *side
	claims         *claims
	// processes are those of the product; stop ends them, and the clusters.
	processes []*drive.Process
	stop      []func()
}

// Run applies the corpus to a cluster and to a space, and prints a table.
func Run(ctx context.Context, o Options) (err error) {
	units, err := Load(o.Units)
	if o.Bundles != "" {
		units, err = LoadBundles(o.Bundles, filepath.Join(o.Units, settingsFile),
			filepath.Join(filepath.Dir(o.Units), "bundles.yaml"))
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "skerry-corpus-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	r := &run{Options: o, claims: newClaims(),
		Site: drive.Site{Skerry: o.Skerry, Testenv: o.Testenv, Kubectl: o.Kubectl, Dir: dir}}
	defer func() {
		for i := len(r.stop) - 1; i >= 0; i-- {
			r.stop[i]()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := r.setUp(ctx); err != nil {
		return err
	}
	var chosen []Unit
	for _, u := range units {
		if o.Limit > 0 {
			u.limit = min(u.limit, o.Limit)
		}
		if o.Focus == nil || o.Focus.MatchString(u.Name) {
			chosen = append(chosen, u)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, p := range r.processes {
		go func() {
			select {
			case <-p.Exited():
				cancel(fmt.Errorf("%s: %w: %v; the end of its log:\n%s", p.Name, drive.ErrExited, p.Err(), drive.Tail(p.Log, 40)))
			case <-ctx.Done():
			}
		}()
	}
	results := r.all(ctx, chosen)
	return errors.Join(context.Cause(ctx), r.report(results))
}

// setUp makes two clusters, and a space whose only site is one of them.
func (r *run) setUp(ctx context.Context) error {
	names := []string{fmt.Sprintf("corpus-cluster-%d", os.Getpid()), fmt.Sprintf("corpus-site-%d", os.Getpid())}
	var kubeconfigs [2]string
	var errs [2]error
	var wg sync.WaitGroup
	for i, name := range names {
		r.stop = append(r.stop, func() {
			if _, err := r.Site.Run(context.WithoutCancel(ctx), r.Site.Testenv, "down", name); err != nil {
				fmt.Fprintln(r.Log, err)
			}
		})
		wg.Go(func() {
			out, err := r.Site.Run(ctx, r.Site.Testenv, "up", "--kind", r.Kind, name)
			kubeconfigs[i], errs[i] = drive.LastLine(out), err
		})
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	center, err := r.StartCenter(ctx, "center", "")
	if err != nil {
		return err
	}
	r.stop = append(r.stop, center.Stop)
	// The site allows what a cluster's own admin may do, and the deletion of all that there is.
	agent, err := r.StartAgent(ctx, center, "site", kubeconfigs[1], "--max-delete-share", "100",
		"--allow-pod-security", "privileged",
		"--allow-external-ips", "--allow-volume-names", "--allow-kinds", "*")
	if err != nil {
		return err
	}
	r.stop = append(r.stop, agent.Stop)
	r.processes = []*drive.Process{center.Process, agent}
	if _, err := r.Site.Run(ctx, r.Site.Skerry, "space", "create", "corpus", "--kubeconfig",
		center.Kubeconfig); err != nil {
		return err
	}
	space, err := r.SpaceKubeconfig(ctx, center, "corpus")
	if err != nil {
		return err
	}
	for name, at := range map[string]struct {
		side       **side
		kubeconfig string
	}{"cluster": {&r.cluster, kubeconfigs[0]}, "space": {&r.space, space}, "site": {&r.site, kubeconfigs[1]}} {
		if *at.side, err = openSide(name, at.kubeconfig); err != nil {
			return err
		}
	}
	return drive.Until(ctx, 30*time.Second, "the site's session and classes", func(ctx context.Context) error {
		out, err := r.K(ctx, center.Kubeconfig, "get", "synctarget", "site", "-o",
			`jsonpath={.status.conditions[?(@.type=="Connected")].status} {.status.cluster.classes[0].kind}`)
		if connected, class, _ := strings.Cut(out, " "); err == nil && (connected != "True" || class == "") {
			err = fmt.Errorf("its condition Connected is %q, and its first class a %q", connected, class)
		}
		return err
	})
}

// result is how a unit went.
type result struct {
	unit        string
	compared    tally
	differences []difference
	took        time.Duration
	// unused are the differences that were declared and not seen.
	unused []declared
	// notes are what the cluster refuses, too, and warnings what only the space says.
	notes, warnings []string
	// err is why the unit says nothing: it does not work on the cluster, or the run broke.
	err error
}

// all runs the units, some side by side, and returns their results in the units' order. Units that have not
// begun when ctx ends have none.
func (r *run) all(ctx context.Context, units []Unit) []result {
	results := make([]result, len(units))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(r.Workers, 1) {
		wg.Go(func() {
			for i := range next {
				started := time.Now()
				results[i] = r.unit(ctx, &units[i])
				results[i].unit, results[i].took = units[i].Name, time.Since(started)
				r.logResult(results[i])
			}
		})
	}
	begun := 0
	for i := range units {
		if ctx.Err() != nil {
			break
		}
		next <- i
		begun++
	}
	close(next)
	wg.Wait()
	return results[:begun]
}

// unit runs one unit from its namespace's creation until everything is gone again.
func (r *run) unit(ctx context.Context, u *Unit) (res result) {
	if u.bundle != nil {
		return r.installBundle(ctx, u)
	}
	if res.differences, res.err = r.both(ctx, u, "namespace", command{program: r.Site.Kubectl,
		args: []string{"create", "namespace", u.Name}}); res.err != nil {
		return res
	}
	namespaces, manifests := []string{u.Name}, []identity{}
	for _, file := range u.steps {
		verb, _ := verbOf(file)
		var more []difference
		if verb == "run" {
			more, res.err = r.commandStep(ctx, u, file)
		} else {
			more, res.err = r.manifestStep(ctx, u, file, verb)
			text, _ := r.manifest(u, file)
			ids, err := identities(text)
			res.err = errors.Join(res.err, err)
			for _, id := range ids {
				manifests = append(manifests, id)
				if id.kind == "Namespace" {
					namespaces = append(namespaces, id.name)
				}
			}
		}
		for i, d := range more {
			more[i].reason = u.declares(d)
		}
		res.differences = append(res.differences, more...)
		if res.err != nil || undeclared(more) {
			break
		}
		var compared tally
		compared, more, res.err = r.settle(ctx, u, file, namespaces, manifests)
		res.compared = res.compared.max(compared)
		res.differences = append(res.differences, more...)
		if res.err != nil || undeclared(more) {
			break
		}
	}
	more, err := r.clean(ctx, u, namespaces, manifests)
	res.differences = append(res.differences, more...)
	res.err = errors.Join(res.err, err)
	res.unused = u.unused()
	return res
}

func undeclared(all []difference) bool {
	for _, d := range all {
		if d.reason == "" {
			return true
		}
	}
	return false
}

// rest is how long neither side may have changed before they count as settled.
const rest = 3 * time.Second

// settle waits until both sides rest and are equal but for declared differences, or until the
// unit's time is up.
func (r *run) settle(ctx context.Context, u *Unit, step string, namespaces []string,
	manifests []identity) (compared tally, last []difference, err error) {
	began, changed, before := time.Now(), time.Now(), ""
	for {
		cluster, space, err := r.look(ctx, namespaces, manifests)
		open := err != nil
		if err == nil {
			compared, last = compare(cluster, space)
			last = u.meaningful(last)
			for i := range last {
				if u.bundle != nil {
					last[i].step = step
				}
				last[i].reason = u.declares(last[i])
				open = open || last[i].reason == ""
			}
			if now := looks(cluster) + looks(space); now != before {
				before, changed = now, time.Now()
			}
		}
		late := time.Since(began) > u.limit
		switch quiet := time.Since(changed) >= rest; {
		case late && err != nil:
			return compared, last, err
		case late && !quiet:
			fmt.Fprintf(r.Log, "%s: %s: still changing after %s\n", u.Name, step, u.limit)
			return compared, last, nil
		case late, quiet && !open:
			return compared, last, nil
		}
		select {
		case <-ctx.Done():
			return compared, last, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// look observes both sides. An API may refuse for a moment, as one does whose definition has just
// changed.
func (r *run) look(ctx context.Context, namespaces []string, manifests []identity) (cluster, space []object,
	err error) {
	if cluster, err = r.cluster.observe(ctx, namespaces, manifests); err == nil {
		space, err = r.space.observe(ctx, namespaces, manifests)
	}
	return cluster, space, err
}

func looks(objects []object) string {
	var b strings.Builder
	for _, leaves := range byKey(objects) {
		for _, l := range leaves {
			b.WriteString(written(l))
		}
	}
	return sortedLines(b.String())
}

// clean deletes what the unit made, on both sides, and says what is left anywhere.
func (r *run) clean(ctx context.Context, u *Unit, namespaces []string, manifests []identity) (left []difference,
	err error) {
	var wg sync.WaitGroup
	for _, s := range []*side{r.cluster, r.space} {
		wg.Go(func() {
			for i := len(manifests) - 1; i >= 0; i-- {
				id := manifests[i]
				res, found, _ := s.resource(ctx, id)
				switch {
				case !found, id.kind == "Namespace":
				case !res.Namespaced:
					_, _ = s.kube.Do(ctx, "DELETE", prefix(id.apiVersion)+"/"+res.Name+"/"+id.name, "", nil)
				case slices.Contains(kept, id.namespace):
					_, _ = s.kube.Do(ctx, "DELETE", id.path(res), "", nil)
				}
			}
			for _, ns := range namespaces {
				_, _ = s.kube.Do(ctx, "DELETE", "/api/v1/namespaces/"+ns, "", nil)
			}
		})
	}
	wg.Wait()
	for _, s := range []*side{r.cluster, r.space, r.site} {
		for _, ns := range namespaces {
			gone := drive.Until(ctx, 2*u.limit, "deletion", func(ctx context.Context) error {
				objects, err := s.read(ctx, "/api/v1/namespaces/"+ns, identity{})
				if err == nil && len(objects) > 0 {
					err = errors.New(fmt.Sprint(objects[0].at("status", "conditions")))
				}
				return err
			})
			switch {
			case gone == nil:
			case s == r.cluster:
				return left, gone
			default:
				left = append(left, difference{object: "Namespace/" + ns, path: "*", cluster: absent,
					space: "is still at the " + s.name + ": " + gone.Error()})
			}
		}
	}
	return left, nil
}
