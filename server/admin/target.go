package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TargetOptions say which SyncTarget a command is about and how it answers.
type TargetOptions struct {
	Kubeconfig string
	Name       string
	DryRun     bool
	Output     string // "", "name", "json" or "yaml"
	Out        io.Writer
}

// TargetCommand is `skerry target` with its subcommands.
func TargetCommand() *cli.Command {
	named := func(do func(context.Context, TargetOptions) error) cli.ActionFunc {
		return func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the site (skerry status)")
			if err != nil {
				return err
			}
			return do(
				c.Context,
				TargetOptions{Kubeconfig: c.String("kubeconfig"), Name: name, DryRun: c.Bool("dry-run"),
					Output: c.String("output"), Out: c.App.Writer},
			)
		}
	}
	flags := ClientFlags(
		OutputFlag("name, json or yaml"),
		&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"},
	)
	return &cli.Command{
		Name:  "target",
		Usage: "list, rename, cordon and drain sites, let them go, keep them out, and confirm what they hold back",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the sites; what is wrong with them says: skerry status",
				Flags:  ClientFlags(ListFlag(), SelectorFlag()),
				Action: func(c *cli.Context) error { return ListTargets(c.Context, listOptions(c)) }},
			{
				Name: "cordon", Usage: "mark a site as unschedulable: nothing new is placed there",
				ArgsUsage: "NAME", Flags: flags, Action: named(Cordon),
			},
			{
				Name: "uncordon", Usage: "mark a site as schedulable, and end its drain or its being out of service",
				ArgsUsage: "NAME", Flags: flags, Action: named(Uncordon),
			},
			drainCommand(),
			{
				Name: "out-of-service",
				Usage: "say that nothing runs at a site any more, so that what must not run twice starts elsewhere at once; " +
					"uncordon takes it back",
				ArgsUsage: "NAME", Flags: flags, Action: named(OutOfService),
			},
			acceptCommand(),
			renameCommand(),
			upgradeCommand(),
			removeCommand(),
			{
				Name:      "revoke",
				Usage:     "end a site's session and never let its key in again; what runs there goes on",
				ArgsUsage: "NAME",
				Flags:     flags,
				Action:    named(RevokeTarget),
			},
			{
				Name:      "release",
				Usage:     "let another key, with a new token, take over a site's name",
				ArgsUsage: "NAME",
				Flags:     flags,
				Action:    named(ReleaseTarget),
			},
		},
	}
}

// attempts bounds how often a change is made again because somebody else wrote the SyncTarget
// meanwhile.
const attempts = 10

// annotate changes annotations of a SyncTarget as they are now; nil removes one. What change
// returns as said is printed, unless the user asked for the object.
func (o TargetOptions) annotate(
	ctx context.Context,
	change func(has map[string]string) (wants map[string]any, said string, err error),
) error {
	return o.change(ctx, func(t *unstructured.Unstructured) (map[string]any, string, error) {
		wants, said, err := change(t.GetAnnotations())
		return map[string]any{"metadata": map[string]any{"annotations": wants}}, said, err
	})
}

// change changes a SyncTarget as it is now by a merge patch; a nil patch changes nothing. What change
// returns as said is printed, unless the user asked for the object.
func (o TargetOptions) change(
	ctx context.Context,
	change func(*unstructured.Unstructured) (patch map[string]any, said string, err error),
) error {
	if err := checkObjectOutput(o.Output); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	made, said, err := c.changeTarget(ctx, o.Name, o.DryRun, change)
	if err != nil {
		return err
	}
	return o.print(made, said)
}

func (c *center) changeTarget(
	ctx context.Context, name string, dry bool,
	change func(*unstructured.Unstructured) (patch map[string]any, said string, err error),
) (made *unstructured.Unstructured, said string, err error) {
	targets := c.root.Resource(syncTargets)
	for range attempts {
		target, err := targets.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, "", fmt.Errorf("there is no site %q; see them with: skerry status", name)
		} else if err != nil {
			return nil, "", fmt.Errorf("read the SyncTarget: %w", err)
		}
		patch, said, err := change(target)
		if err != nil || patch == nil {
			return target, said, err
		}
		meta, _ := patch["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
			patch["metadata"] = meta
		}
		meta["uid"], meta["resourceVersion"] = target.GetUID(), target.GetResourceVersion()
		body, err := json.Marshal(patch)
		if err != nil {
			return nil, "", err
		}
		options := metav1.PatchOptions{}
		if dry {
			options.DryRun = []string{metav1.DryRunAll}
		}
		made, err = targets.Patch(ctx, name, types.MergePatchType, body, options)
		if err == nil {
			return made, said, nil
		} else if !apierrors.IsConflict(err) {
			return nil, "", fmt.Errorf("change the SyncTarget: %w", err)
		}
	}
	return nil, "", fmt.Errorf("the SyncTarget %s was changed by others again and again; try again", name)
}

func (o TargetOptions) print(made *unstructured.Unstructured, said string) error {
	if o.Output != "" {
		return printObject(o.Out, o.Output, "synctarget.skerry.dev/", made.Object)
	}
	suffix := ""
	if o.DryRun {
		suffix = " (dry run: nothing was changed)"
	}
	_, err := fmt.Fprintf(o.Out, "synctarget.skerry.dev/%s %s%s\n", o.Name, said, suffix)
	return err
}
