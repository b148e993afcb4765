package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel/commandline"
)

// RebalanceOptions say how to even out the load of sites.
type RebalanceOptions struct {
	Kubeconfig string
	// Only are the moves that may be made.
	Only   moveFilter
	DryRun bool
	// Most is how many units are moved at most.
	Most int
	// Timeout is how long one move may take.
	Timeout  time.Duration
	Output   string // "", json or yaml
	Progress *Progress
	Out      io.Writer
}

// moveFilter selects moves. An empty field selects all.
type moveFilter struct {
	space, placement string // of the unit; placement is the Placement that decides about it
	target           string // that is left, or gone to
}

// unit reports whether moves of a unit are selected.
func (f moveFilter) unit(u *unit) bool {
	return (f.space == "" || u.key.Space == f.space) &&
		(f.placement == "" || u.rule != nil && u.rule.Name == f.placement)
}

// move reports whether moves between two targets are selected.
func (f moveFilter) move(from, to string) bool {
	return f.target == "" || from == f.target || to == f.target
}

// check refuses a filter that selects nothing, because it names what is not there.
func (f moveFilter) check(state *fleetState) error {
	known := func(t placement.Target) bool { return t.Name == f.target }
	if f.target != "" && !slices.ContainsFunc(state.world.Targets, known) {
		return fmt.Errorf("there is no site %q; see them with: skerry status", f.target)
	}
	if f.placement != "" && !slices.ContainsFunc(state.units, f.unit) {
		where := "any space"
		if f.space != "" {
			where = "space " + f.space
		}
		return fmt.Errorf("no Placement %q of %s has placed anything; see them with: kubectl get placements",
			f.placement, where)
	}
	return nil
}

// RebalanceCommand is `skerry rebalance`.
func RebalanceCommand() *cli.Command {
	return &cli.Command{
		Name:  "rebalance",
		Usage: "move workloads from the sites with the most load to those with the least, one at a time",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "placement", Usage: "move only what the Placement of this name decides about"},
			&cli.StringFlag{Name: "space", Usage: "move only what is in this space"},
			&cli.StringFlag{Name: "target", Usage: "move only from, or to, this SyncTarget"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the plan, change nothing"},
			&cli.IntFlag{Name: "max-moves", Value: 10, Usage: "how many units to move at most"},
			commandline.DurationFlag(15*time.Minute, commandline.Bounds{Least: time.Second}, "how long one move may take",
				"timeout"),
			DataFlag(),
			QuietFlag()),
		Action: func(c *cli.Context) error {
			return Rebalance(c.Context, RebalanceOptions{
				Kubeconfig: c.String("kubeconfig"), DryRun: c.Bool("dry-run"), Most: c.Int("max-moves"),
				Timeout: c.Duration("timeout"), Output: c.String("output"), Progress: NewProgress(c), Out: c.App.Writer,
				Only: moveFilter{space: c.String("space"), placement: c.String("placement"), target: c.String("target")},
			})
		},
	}
}

// rebalanced is one line of the plan.
type rebalanced struct {
	Object string   `json:"object"`
	From   string   `json:"from"`
	To     []string `json:"to"`
	// Moved is true once the unit has left From.
	Moved bool `json:"moved"`
	// FromLoad and ToLoad are the loads of both sites before the move, in percent.
	FromLoad int `json:"fromLoadPercent"`
	ToLoad   int `json:"toLoadPercent"`

	unit *unit
}

// Rebalance moves units until the loads of sites are even, or prints which it would move.
func Rebalance(ctx context.Context, o RebalanceOptions) error {
	if err := checkDataOutput(o.Output); err != nil {
		return err
	}
	if o.Most < 1 {
		return Usage("--max-moves %d: write a number from 1", o.Most)
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	if o.Only.space != "" {
		if err := c.mustExist(ctx, o.Only.space); err != nil {
			return err
		}
	}
	state, err := c.fleetState(ctx)
	if err != nil {
		return err
	}
	if err := o.Only.check(state); err != nil {
		return err
	}
	sites, _, err := c.sites(ctx, selection{})
	if err != nil {
		return err
	}
	loads := state.loads(sites)
	said := o.Only.nothingToMove(loads)
	plan := state.rebalance(loads, o.Only, o.Most, time.Now())
	if len(plan) == 0 {
		o.say("%s", said)
	}
	err = o.carryOut(plan, func(m rebalanced) error { return c.evict(ctx, m, o.Timeout) })
	if o.Output == "" {
		return err
	}
	return errors.Join(printData(o.Out, o.Output, map[string]any{"dryRun": o.DryRun, "moves": plan}, nil), err)
}

// say prints a line, unless the user asked for data.
func (o RebalanceOptions) say(format string, args ...any) {
	if o.Output == "" {
		fmt.Fprintf(o.Out, format+"\n", args...)
	}
}

// carryOut moves one unit after the other, and ends with the first that cannot be moved. Of a dry run
// it only says what would be moved.
func (o RebalanceOptions) carryOut(plan []rebalanced, move func(rebalanced) error) error {
	defer o.Progress.Done()
	suffix := ""
	if o.DryRun {
		suffix = " (dry run)"
	}
	for i, m := range plan {
		o.say("moving %s from %s (%d %%) to %s (%d %%)%s", m.Object, m.From, m.FromLoad, m.To[0], m.ToLoad, suffix)
		if o.DryRun {
			continue
		}
		o.Progress.Step("move %d of %d: %s", i+1, len(plan), m.Object)
		if err := move(m); err != nil {
			return err
		}
		plan[i].Moved = true
		o.Progress.Done()
		o.say("%s has moved", m.Object)
	}
	return nil
}

// siteLoad is what a site has and what of that is requested: thousandths of a core, and bytes.
type siteLoad struct{ has, asked placement.Requests }

// share is the larger of both parts of what the site has, from 0 on.
func (l siteLoad) share() float64 {
	return max(part(l.asked.CPU, l.has.CPU), part(l.asked.Memory, l.has.Memory))
}

func part(asked, has int64) float64 {
	if has <= 0 {
		return 0
	}
	return float64(asked) / float64(has)
}

// within is what a site has, within its bounds.
func (l siteLoad) within(b *v1alpha1.Bounds) siteLoad {
	if b == nil {
		return l
	}
	if cpu := b.CPU; cpu != nil {
		l.has.CPU = min(l.has.CPU, cpu.MilliValue())
	}
	if memory := b.Memory; memory != nil {
		l.has.Memory = min(l.has.Memory, memory.Value())
	}
	return l
}

// nothingToMove says why no move is planned.
func (f moveFilter) nothingToMove(loads map[string]siteLoad) string {
	if len(loads) < 2 {
		return "Nothing to even out: fewer than two sites are connected, take something new and say what they have."
	}
	names := slices.SortedFunc(maps.Keys(loads), func(a, b string) int {
		return cmp.Or(cmp.Compare(loads[a].share(), loads[b].share()), cmp.Compare(a, b))
	})
	least, most := names[0], names[len(names)-1]
	low, high := loads[least].share(), loads[most].share()
	text := fmt.Sprintf("%s has the least load (%.0f %%), %s the most (%.0f %%)", least, 100*low, most, 100*high)
	if high-low < evenEnough {
		return fmt.Sprintf("The load is even: %s. Sites that differ by less than %.0f %% of what they have, or of their "+
			"bounds, are left as they are.", text, 100*evenEnough)
	}
	if f != (moveFilter{}) {
		return fmt.Sprintf("No move of those that --placement, --space and --target leave would make the load more even: %s.",
			text)
	}
	return fmt.Sprintf("No move would make the load more even: %s. What is there fits nowhere else, is too large "+
		"to move, or has a volume: skerry target drain %s --dry-run says why.", text, most)
}

// loads are the loads of the sites that say what they have and take something new. What is placed
// there counts as it is decided now, since sites tell only now and then what their pods request.
func (s *fleetState) loads(sites []v1alpha1.SyncTarget) map[string]siteLoad {
	placed := map[string]placement.Requests{}
	for _, u := range s.units {
		for _, site := range u.decision {
			placed[site] = placed[site].Plus(u.load.Requests)
		}
	}
	out := map[string]siteLoad{}
	for i := range sites {
		t, st := targetOf(&sites[i]), &sites[i].Status
		cpu, memory := st.Allocatable.Cpu(), st.Allocatable.Memory()
		if !t.Connected || !t.Takes() || cpu.IsZero() && memory.IsZero() || st.Allocated == nil {
			continue
		}
		out[t.Name] = siteLoad{
			has:   placement.Requests{CPU: cpu.MilliValue(), Memory: memory.Value()},
			asked: requestsOf(st.Allocated).Minus(requestsOf(st.AllocatedPlaced)).Plus(placed[t.Name]),
		}.within(sites[i].Spec.Bounds)
	}
	return out
}

func requestsOf(list corev1.ResourceList) placement.Requests {
	return placement.Requests{CPU: list.Cpu().MilliValue(), Memory: list.Memory().Value()}
}

// evenEnough is how much the loads of two sites may differ, as a part of what they have: a move costs
// more than it brings then.
const evenEnough = 0.1

// rebalance plans moves, each the one that leaves the least difference between the site that it
// leaves and the one that it goes to. Only what the center itself would choose next is planned.
func (s *fleetState) rebalance(loads map[string]siteLoad, only moveFilter, most int, now time.Time) []rebalanced {
	plan := []rebalanced{}
	for len(plan) < most {
		best, ok := s.bestMove(loads, only, now)
		if !ok {
			break
		}
		from, to, asks := loads[best.From], loads[best.To[0]], best.unit.load.Requests
		from.asked, to.asked = from.asked.Minus(asks), to.asked.Plus(asks)
		loads[best.From], loads[best.To[0]] = from, to
		s.place(best.unit, replaced(best.unit.decision, best.From, best.To[0]))
		plan = append(plan, best)
	}
	return plan
}

func replaced(list []string, from, to string) []string {
	return append(slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == from }), to)
}

func (s *fleetState) bestMove(loads map[string]siteLoad, only moveFilter, now time.Time) (best rebalanced, found bool) {
	least := 0.0
	for _, u := range s.units {
		if !only.unit(u) || u.suspended || u.load.Requests == (placement.Requests{}) {
			continue
		}
		for _, from := range u.decision {
			a, known := loads[from]
			if !known || len(u.ties[from].volumes) > 0 {
				continue
			}
			to, ok := s.elsewhere(u, from, now)
			b, known := loads[to]
			if !ok || !known || !only.move(from, to) || a.share()-b.share() < evenEnough {
				continue
			}
			a.asked, b.asked = a.asked.Minus(u.load.Requests), b.asked.Plus(u.load.Requests)
			before, after := loads[from].share()-loads[to].share(), max(a.share(), b.share())
			gain := loads[from].share() - after
			if gain <= 0 || before <= 0 || found && gain <= least {
				continue
			}
			least, found = gain, true
			best = rebalanced{Object: u.key.String(), From: from, To: []string{to}, unit: u,
				FromLoad: int(100 * loads[from].share()), ToLoad: int(100 * loads[to].share())}
		}
	}
	return best, found
}

// elsewhere is where a unit goes that has to leave a target; it is false where it stays, or goes
// nowhere.
func (s *fleetState) elsewhere(u *unit, from string, now time.Time) (to string, ok bool) {
	v := s.vacate(u, []string{from}, now)
	for _, name := range v.Targets {
		if !slices.Contains(u.decision, name) {
			return name, !slices.Contains(v.Targets, from)
		}
	}
	return "", false
}
