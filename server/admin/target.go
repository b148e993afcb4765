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
		Usage: "list sites, let them go, keep them out, and confirm what they hold back",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the sites; what is wrong with them says: skerry status",
				Flags:  ClientFlags(ListFlag()),
				Action: func(c *cli.Context) error { return ListTargets(c.Context, listOptions(c)) }},
			acceptCommand(),
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
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	targets := c.root.Resource(syncTargets)
	var made *unstructured.Unstructured
	var said string
	for range attempts {
		target, err := targets.Get(ctx, o.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no site %q; see them with: skerry status", o.Name)
		} else if err != nil {
			return fmt.Errorf("read the SyncTarget: %w", err)
		}
		var wants map[string]any
		if wants, said, err = change(target.GetAnnotations()); err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": wants,
			"uid": target.GetUID(), "resourceVersion": target.GetResourceVersion()}})
		if err != nil {
			return err
		}
		options := metav1.PatchOptions{}
		if o.DryRun {
			options.DryRun = []string{metav1.DryRunAll}
		}
		made, err = targets.Patch(ctx, o.Name, types.MergePatchType, patch, options)
		if err == nil {
			return o.print(made, said)
		} else if !apierrors.IsConflict(err) {
			return fmt.Errorf("change the SyncTarget: %w", err)
		}
	}
	return fmt.Errorf("the SyncTarget %s was changed by others again and again; try again", o.Name)
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
