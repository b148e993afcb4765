package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// RolloutOptions say of which Placement the rollout is meant.
type RolloutOptions struct {
	// Kubeconfig leads to the space, or with Space to the center; see readKubeconfig.
	Kubeconfig, Space, Name string
	DryRun                  bool
	// Groups are approved; empty is the group that waits. All approves every group.
	Groups []string
	All    bool
	// To is the release that is gone back to, 0 for the proven one.
	To     int64
	Output string
	Out    io.Writer
}

// RolloutCommand is `skerry rollout`.
func RolloutCommand() *cli.Command {
	named := func(do func(context.Context, RolloutOptions) error) cli.ActionFunc {
		return func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the Placement (kubectl get placements)")
			if err != nil {
				return err
			}
			return do(c.Context, RolloutOptions{Kubeconfig: c.String("kubeconfig"), Space: c.String("space"),
				Name: strings.TrimPrefix(name, "placement/"), DryRun: c.Bool("dry-run"), Groups: c.StringSlice("group"),
				All: c.Bool("all"), To: c.Int64("to-release"), Output: c.String("output"), Out: c.App.Writer})
		}
	}
	flags := func(output string, more ...cli.Flag) []cli.Flag {
		return ClientFlags(append(more, OutputFlag(output), &cli.StringFlag{Name: "space",
			Usage: "of the Placement (default: that of the current context)"})...)
	}
	writes := func(more ...cli.Flag) []cli.Flag {
		return flags("name, json or yaml",
			append(more, &cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"})...)
	}
	return &cli.Command{
		Name:  "rollout",
		Usage: "watch, hold, approve and take back the releases of a Placement with rollout.type Progressive",
		Subcommands: []*cli.Command{
			{Name: "status", Usage: "print which releases there are, and which targets have the newest",
				ArgsUsage: "PLACEMENT", Flags: flags("table, json or yaml"), Action: named(RolloutStatus)},
			{Name: "pause", Usage: "give the release to no further target",
				ArgsUsage: "PLACEMENT", Flags: writes(), Action: named(PauseRollout)},
			{Name: "resume", Usage: "go on with a rollout that was paused, or taken back",
				ArgsUsage: "PLACEMENT", Flags: writes(), Action: named(ResumeRollout)},
			{Name: "approve", Usage: "let the group that waits have the newest release",
				ArgsUsage: "PLACEMENT", Flags: writes(
					&cli.StringSliceFlag{Name: "group", Usage: "approve this group; several times, or with commas, for several"},
					&cli.BoolFlag{Name: "all", Usage: "approve all groups"}),
				Action: named(ApproveRollout)},
			{Name: "undo", Usage: "take the newest release back, until a change makes another one",
				ArgsUsage: "PLACEMENT", Flags: writes(
					&cli.Int64Flag{Name: "to-release", Usage: "the proven release to go back to (default: the newest)"}),
				Action: named(UndoRollout)},
		},
	}
}

// RolloutStatus prints how far the rollout of a Placement is.
func RolloutStatus(ctx context.Context, o RolloutOptions) error {
	if err := checkTableOutput(o.Output); err != nil {
		return err
	}
	api, err := o.api(ctx)
	if err != nil {
		return err
	}
	p, _, err := o.read(ctx, api)
	if err != nil {
		return err
	}
	if err := o.progressive(p); err != nil {
		return err
	}
	if p.Status.Rollout == nil {
		return fmt.Errorf("placement %q has no release yet: the first one is made some seconds after its objects are "+
			"placed; see: kubectl get placement %s -o yaml", o.Name, o.Name)
	}
	if table, _ := isTable(o.Output); !table {
		return printData(o.Out, o.Output, p.Status.Rollout, nil)
	}
	return printRollout(o.Out, p, time.Now())
}

// PauseRollout sets spec.rollout.paused.
func PauseRollout(ctx context.Context, o RolloutOptions) error {
	return o.change(ctx, func(p *v1alpha1.Placement) (map[string]any, string, error) {
		if p.Spec.Rollout.Paused {
			return nil, "already paused", nil
		}
		return map[string]any{"paused": true}, "paused", nil
	})
}

// ResumeRollout takes spec.rollout.paused and undo away.
func ResumeRollout(ctx context.Context, o RolloutOptions) error {
	return o.change(ctx, func(p *v1alpha1.Placement) (map[string]any, string, error) {
		r := p.Spec.Rollout
		if !r.Paused && r.Undo == nil {
			return nil, "already goes on", nil
		}
		said := "resumed"
		if r.Undo != nil {
			said = fmt.Sprintf("resumed, with release %d again where it is the newest", r.Undo.Release)
		}
		return map[string]any{"paused": nil, "undo": nil}, said, nil
	})
}

// ApproveRollout adds to spec.rollout.approved.
func ApproveRollout(ctx context.Context, o RolloutOptions) error {
	if o.All && len(o.Groups) > 0 {
		return Usage("--all approves every group: leave --group out")
	}
	return o.change(ctx, func(p *v1alpha1.Placement) (map[string]any, string, error) {
		is := p.Status.Rollout
		switch {
		case p.Spec.Rollout.Approval != v1alpha1.ApprovalGroups:
			return nil, "", fmt.Errorf("placement %q waits for no approval: set spec.rollout.approval to Groups", o.Name)
		case is == nil:
			return nil, "", fmt.Errorf("placement %q has no release yet; see: skerry rollout status %s", o.Name, o.Name)
		}
		groups := o.Groups
		switch {
		case o.All:
			groups = []string{"*"}
		case len(groups) > 0:
		case is.Phase != "WaitingForApproval":
			return nil, "", fmt.Errorf("no group of Placement %q waits for approval (phase %s); name one with --group, or "+
				"use --all", o.Name, is.Phase)
		default:
			groups = []string{is.Group}
		}
		if a := p.Spec.Rollout.Approved; a != nil && a.Release == is.Release {
			groups = append(slices.Clone(a.Groups), groups...)
		}
		slices.Sort(groups)
		groups = slices.Compact(groups)
		return map[string]any{"approved": map[string]any{"release": is.Release, "groups": groups}},
			fmt.Sprintf("release %d approved for %s", is.Release, strings.Join(quoted(groups), ", ")), nil
	})
}

func quoted(groups []string) (out []string) {
	for _, g := range groups {
		switch g {
		case "*":
			out = append(out, "all groups")
		case "":
			out = append(out, "targets without a group")
		default:
			out = append(out, "group "+g)
		}
	}
	return out
}

// UndoRollout sets spec.rollout.undo.
func UndoRollout(ctx context.Context, o RolloutOptions) error {
	return o.change(ctx, func(p *v1alpha1.Placement) (map[string]any, string, error) {
		is := p.Status.Rollout
		if is == nil {
			return nil, "", fmt.Errorf("placement %q has no release yet; see: skerry rollout status %s", o.Name, o.Name)
		}
		to, newest := o.To, int64(0)
		proven := false
		for _, r := range is.Releases {
			if r.Proven && r.Number < is.Release {
				newest = r.Number
				proven = proven || r.Number == o.To
			}
		}
		switch {
		case newest == 0:
			return nil, "", fmt.Errorf("there is no proven release before release %d to go back to", is.Release)
		case to == 0:
			to = newest
			if is.Proven < is.Release {
				to = is.Proven
			}
		case !proven:
			return nil, "", fmt.Errorf("release %d is not one that is kept, proven and older than release %d; see: skerry "+
				"rollout status %s", to, is.Release, o.Name)
		}
		return map[string]any{"undo": map[string]any{"release": is.Release, "to": to}},
			fmt.Sprintf("release %d taken back, to release %d", is.Release, to), nil
	})
}

// api leads to the Placements of the space.
func (o *RolloutOptions) api(ctx context.Context) (dynamic.ResourceInterface, error) {
	config, _, err := spaceConfig(ctx, o.Kubeconfig, o.Space, "")
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource("placements")), nil
}

func (o *RolloutOptions) read(
	ctx context.Context, api dynamic.ResourceInterface,
) (*v1alpha1.Placement, *unstructured.Unstructured, error) {
	u, err := api.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, notThere("placement", o.Name, o.Space, "")
	} else if err != nil {
		return nil, nil, fmt.Errorf("read the Placement: %w", err)
	}
	var p v1alpha1.Placement
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p); err != nil {
		return nil, nil, fmt.Errorf("read the Placement: %w", err)
	}
	return &p, u, nil
}

func (o *RolloutOptions) progressive(p *v1alpha1.Placement) error {
	switch {
	case p.Spec.Rollout.Type != v1alpha1.RolloutProgressive:
		return fmt.Errorf("placement %q has no releases: each change goes to all targets at once, also to those that hold "+
			"releases; set spec.rollout.type to Progressive to have them", o.Name)
	case p.Spec.SpaceSelector != nil:
		return fmt.Errorf("placement %q of root has releases in each space that it selects, as Placement %s there; name "+
			"the space with --space", o.Name, v1alpha1.PolicyPrefix+o.Name)
	}
	return nil
}

// change changes spec.rollout of the Placement as it is now; nil changes nothing.
func (o *RolloutOptions) change(
	ctx context.Context, change func(*v1alpha1.Placement) (rollout map[string]any, said string, err error),
) error {
	if err := checkObjectOutput(o.Output); err != nil {
		return err
	}
	api, err := o.api(ctx)
	if err != nil {
		return err
	}
	for range attempts {
		p, made, err := o.read(ctx, api)
		if err != nil {
			return err
		}
		if err := o.progressive(p); err != nil {
			return err
		}
		patch, said, err := change(p)
		if err != nil {
			return err
		}
		if patch != nil {
			body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID,
				"resourceVersion": p.ResourceVersion}, "spec": map[string]any{"rollout": patch}})
			if err != nil {
				return err
			}
			options := metav1.PatchOptions{}
			if o.DryRun {
				options.DryRun = []string{metav1.DryRunAll}
			}
			made, err = api.Patch(ctx, o.Name, types.MergePatchType, body, options)
			if apierrors.IsConflict(err) {
				continue
			} else if err != nil {
				return fmt.Errorf("change the Placement: %w", err)
			}
		}
		if o.Output != "" {
			return printObject(o.Out, o.Output, "placement.skerry.dev/", made.Object)
		}
		suffix := ""
		if o.DryRun {
			suffix = " (dry run: nothing was changed)"
		}
		_, err = fmt.Fprintf(o.Out, "placement.skerry.dev/%s %s%s\n", o.Name, said, suffix)
		return err
	}
	return fmt.Errorf("the Placement %s was changed by others again and again; try again", o.Name)
}

// printRollout prints a rollout for people.
func printRollout(out io.Writer, p *v1alpha1.Placement, now time.Time) error {
	var b strings.Builder
	is := p.Status.Rollout
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-12s%s\n", name, text)
		}
	}
	line("Phase", is.Phase)
	line("Group", is.Group)
	line("Message", is.Message)
	line("Targets", fmt.Sprintf("%d of %d have release %d, %d are done, %d failed, %d skipped", is.Updated, is.Total,
		is.Goal, is.Done, is.Failed, is.Skipped))
	line("Failed", strings.Join(is.FailedTargets, ", "))
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "RELEASE\tTARGETS\tOBJECTS\tPROVEN\tAGE")
	for _, r := range slices.Backward(is.Releases) {
		proven := yesNo(r.Proven)
		if r.RolledBack {
			proven = "rolled back"
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\n", r.Number, r.Targets, r.Objects, proven,
			now.Sub(r.Created.Time).Round(time.Second))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, fleet.Printable(b.String()))
	return err
}
