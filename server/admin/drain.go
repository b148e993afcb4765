package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel/commandline"
)

// DrainOptions say how to drain a site.
type DrainOptions struct {
	Kubeconfig string
	Name       string
	DryRun     bool
	// Timeout is how long to wait until everything has left, 0 for ever.
	Timeout  time.Duration
	Jobs     v1alpha1.DrainJobs // empty for what spec.drain.jobs of the site says
	Output   string             // "", json or yaml
	Progress *Progress
	Out      io.Writer
}

// drainCommand is `skerry target drain`.
func drainCommand() *cli.Command {
	return &cli.Command{
		Name:      "drain",
		Usage:     "cordon a site and move away what is placed there; each part leaves when its replacement is up",
		ArgsUsage: "NAME",
		Flags: ClientFlags(
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would leave and what would stay, change nothing"},
			commandline.DurationFlag(0, commandline.Bounds{},
				"how long to wait until everything has left; 0: for ever", "timeout", "wait"),
			&cli.StringFlag{Name: "jobs", Usage: "what becomes of Jobs that have begun there: Wait until they have ended, " +
				"or Restart: stop them, and begin them anew elsewhere; without it spec.drain.jobs of the site says so"},
			DataFlag(),
			QuietFlag()),
		Action: func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the site (skerry status)")
			if err != nil {
				return err
			}
			return Drain(c.Context, DrainOptions{
				Kubeconfig: c.String("kubeconfig"), Name: name, DryRun: c.Bool("dry-run"), Timeout: c.Duration("timeout"),
				Jobs:   v1alpha1.DrainJobs(c.String("jobs")),
				Output: c.String("output"), Progress: NewProgress(c), Out: c.App.Writer,
			})
		},
	}
}

// errNotDrained is returned when a site was not empty in time.
var errNotDrained = errors.New("not drained yet")

const (
	// drainLook is how often the status of a site that is drained is read.
	drainLook = 500 * time.Millisecond
	// drainStuck is for how long what is left must be stuck before the command gives up waiting.
	drainStuck = 10 * time.Second
)

// drainReport is what -o json and yaml print.
type drainReport struct {
	Site    string `json:"site"`
	Drained bool   `json:"drained"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	v1alpha1.SyncTargetDrain
	// Left are the first of the units that are still there, and why.
	Left []v1alpha1.MoveUnderWay `json:"left"`
}

// Drain moves everything away from a site and waits until it has left. What cannot leave stays, and
// is told.
func Drain(ctx context.Context, o DrainOptions) error {
	if err := checkDataOutput(o.Output); err != nil {
		return err
	}
	if o.Jobs != "" && o.Jobs != v1alpha1.DrainJobsWait && o.Jobs != v1alpha1.DrainJobsRestart {
		return Usage("--jobs %s: write Wait or Restart; see: skerry target drain --help", o.Jobs)
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	if o.DryRun {
		return c.drainPlan(ctx, o)
	}
	made, said, err := c.changeTarget(ctx, o.Name, false, o.patch)
	if err != nil {
		return err
	}
	o.say("synctarget.skerry.dev/%s %s", o.Name, said)
	report, err := c.awaitDrained(ctx, o, made.GetGeneration())
	if o.Output != "" {
		if report.Left == nil {
			report.Left = []v1alpha1.MoveUnderWay{}
		}
		if err := printData(o.Out, o.Output, report, nil); err != nil {
			return err
		}
	}
	if err == nil {
		o.say("synctarget.skerry.dev/%s drained: %s", o.Name, report.Message)
	}
	return err
}

// say prints a line, unless the user asked for data.
func (o DrainOptions) say(format string, args ...any) {
	if o.Output == "" {
		fmt.Fprintln(o.Out, fleet.OneLine(fmt.Sprintf(format, args...)))
	}
}

func (c *center) awaitDrained(ctx context.Context, o DrainOptions, generation int64) (drainReport, error) {
	whole := ctx
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	defer o.Progress.Done()
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	watch := drainWatch{options: o, moves: map[string]string{}, blocked: map[string]string{}}
	for {
		sites, _, err := c.sites(ctx, selection{name: o.Name})
		if err == nil && len(sites) == 1 {
			if done, err := watch.look(&sites[0], generation, time.Now()); done {
				return watch.report, err
			}
		} else if err == nil {
			return watch.report, fmt.Errorf("site %s was removed while it was drained", o.Name)
		}
		select {
		case <-ctx.Done():
			if whole.Err() != nil {
				return watch.report, whole.Err()
			}
			return watch.report, fmt.Errorf("%w after %s: %s; it goes on by itself, and %s",
				errNotDrained, o.Timeout, orElse(watch.report.Message, "the center has not begun"), takeBack(o.Name))
		case <-tick.C:
		}
	}
}

func takeBack(site string) string { return "skerry target uncordon " + site + " takes it back" }

// drainWatch follows a drain in the status of its site.
type drainWatch struct {
	options DrainOptions
	report  drainReport
	moves   map[string]string // objects on their way, and where to
	blocked map[string]string // objects that do not leave by themselves, and the phase that was told
	stuck   time.Time         // since when nothing that is left leaves by itself
}

// look takes over a status. It reports true when there is nothing to wait for any more.
func (w *drainWatch) look(t *v1alpha1.SyncTarget, generation int64, now time.Time) (done bool, err error) {
	c := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionDrained)
	if c == nil || t.Status.Drain == nil || c.ObservedGeneration < generation {
		return false, nil
	}
	w.report = drainReport{Site: t.Name, Drained: c.Status == metav1.ConditionTrue, Reason: c.Reason,
		Message: c.Message, SyncTargetDrain: *t.Status.Drain}
	w.tellMoves(t)
	w.options.Progress.Step("draining %s: %s", t.Name, c.Message)
	if w.report.Drained {
		return true, nil
	}
	kept := t.Status.Drain.Units == 0 && c.Reason == v1alpha1.ReasonNotEmpty
	if d := t.Status.Drain; !kept && (d.Units == 0 || d.Stuck < d.Units) {
		w.stuck = time.Time{}
		return false, nil
	}
	if w.stuck.IsZero() {
		w.stuck = now
	}
	if now.Sub(w.stuck) < drainStuck {
		return false, nil
	}
	if kept {
		return true, fmt.Errorf("%w: all has left %s, but %s; %s", ErrProblems, t.Name, c.Message, takeBack(t.Name))
	}
	var lines []string
	for _, m := range w.report.Left {
		lines = append(lines, fmt.Sprintf("  %s: %s", m.Object, m.Message))
	}
	verb := "stay"
	if w.report.Units == 1 {
		verb = "stays"
	}
	return true, fmt.Errorf("%w: %s %s on %s:\n%s\nWhat stays leaves as soon as it can; %s", ErrProblems,
		fleet.Counted(int(w.report.Units), "unit"), verb, t.Name, strings.Join(lines, "\n"), takeBack(t.Name))
}

// tellMoves says which units begin to leave, which do not leave by themselves, and which have left.
func (w *drainWatch) tellMoves(t *v1alpha1.SyncTarget) {
	now := map[string]bool{}
	for _, m := range t.Status.Moves {
		if !slices.Contains(m.From, t.Name) {
			continue
		}
		now[m.Object] = true
		w.report.Left = append(w.report.Left, m)
		to := strings.Join(m.To, ",")
		if placement.Phase(m.Phase).Stuck() && w.blocked[m.Object] != m.Phase {
			w.blocked[m.Object] = m.Phase
			w.options.say("blocked %s: %s: %s", m.Object, m.Phase, m.Message)
		}
		if to != "" && m.Phase != string(placement.WaitsForTurn) && w.moves[m.Object] != to {
			w.moves[m.Object] = to
			w.options.say("moving %s to %s", m.Object, to)
		}
	}
	for object := range w.moves {
		if !now[object] {
			delete(w.moves, object)
			delete(w.blocked, object)
			w.options.say("%s has left", object)
		}
	}
}
