package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// removeCommand is `skerry target remove`.
func removeCommand() *cli.Command {
	remove := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the site (skerry status)")
		if err != nil {
			return err
		}
		return RemoveTarget(
			c.Context,
			RemoveOptions{
				Kubeconfig: c.String("kubeconfig"),
				Name:       name,
				Clean:      c.Bool("clean"),
				AllowLoss:  c.Int("allow-loss"),
				Force:      c.Bool("force"),
				DryRun:     c.Bool("dry-run"),
				Wait:       c.Duration("wait"),
				Progress:   NewProgress(c),
				Out:        c.App.Writer,
			},
		)
	}
	return &cli.Command{
		Name:      "remove",
		Usage:     "detach a site; what runs there stays, unless --clean",
		ArgsUsage: "NAME",
		Action:    remove,
		Flags: ClientFlags(
			&cli.BoolFlag{Name: "clean", Usage: "move away what fits elsewhere, and remove everything that was placed there"},
			&cli.IntFlag{Name: "allow-loss", Usage: "with --clean, delete this many `UNITS` that nothing replaces, " +
				"as --dry-run counts them"},
			&cli.BoolFlag{Name: "force", Usage: "do not wait for a site that does not answer, and do not ask what runs " +
				"there; it stays"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would become of what is placed there, change nothing"},
			WaitFlag(time.Minute, "how long to wait until it is removed"),
			QuietFlag()),
	}
}

// RemoveOptions say how to detach a site.
type RemoveOptions struct {
	Kubeconfig string
	Name       string
	Clean      bool
	// AllowLoss is how many units Clean may delete that nothing replaces. It must be how many there
	// are.
	AllowLoss int
	Force     bool
	DryRun    bool
	Wait      time.Duration
	Progress  *Progress
	Out       io.Writer
}

// RemoveTarget deletes a SyncTarget and waits until it is gone.
func RemoveTarget(ctx context.Context, o RemoveOptions) error {
	if o.Clean && o.Force {
		return Usage("--clean waits for the site, --force does not: give one of them")
	}
	if o.AllowLoss != 0 && !o.Clean {
		return Usage("--allow-loss is for --clean: without it nothing is deleted")
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	targets, dry := c.root.Resource(syncTargets), []string(nil)
	if o.DryRun {
		dry = []string{metav1.DryRunAll}
	}
	target, err := targets.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no site %q; see them with: skerry status", o.Name)
	} else if err != nil {
		return fmt.Errorf("read site %s: %w", o.Name, err)
	}
	was, _, _ := unstructured.NestedString(target.Object, "spec", "detachPolicy")
	now := removing{deleting: target.GetDeletionTimestamp() != nil, policy: v1alpha1.DetachPolicy(was)}
	if err := c.checkRemoval(ctx, o, now); err != nil {
		return err
	}
	if (o.Clean || o.Force) && !(o.Clean && now.policy == v1alpha1.DetachDiscard) {
		policy := v1alpha1.DetachKeep
		finalizers := slices.DeleteFunc(
			target.GetFinalizers(),
			func(f string) bool { return f == v1alpha1.FinalizerDetach },
		)
		if o.Clean {
			policy, finalizers = v1alpha1.DetachClean, append(finalizers, v1alpha1.FinalizerDetach)
			if o.AllowLoss > 0 {
				policy = v1alpha1.DetachDiscard
			}
		}
		patch, err := json.Marshal(
			map[string]any{"metadata": map[string]any{"uid": target.GetUID(), "finalizers": finalizers},
				"spec": map[string]any{"detachPolicy": policy}},
		)
		if err != nil {
			return err
		}
		_, err = targets.Patch(
			ctx,
			o.Name,
			types.MergePatchType,
			patch,
			metav1.PatchOptions{FieldManager: "skerry-cli", DryRun: dry},
		)
		if err != nil && !apierrors.IsNotFound(err) { // without its finalizer one that was being deleted is gone
			return fmt.Errorf("set how site %s is detached: %w", o.Name, err)
		}
	}
	uid := target.GetUID()
	err = targets.Delete(
		ctx,
		o.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, DryRun: dry},
	)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove site %s: %w", o.Name, err)
	}
	if o.DryRun {
		fmt.Fprintf(o.Out, "synctarget.skerry.dev/%s removed (dry run: nothing was changed)\n", o.Name)
		return nil
	}
	return c.awaitRemoved(ctx, o, uid)
}

// errStillThere is returned when a site is not removed in time.
var errStillThere = errors.New("not removed yet")

func (c *center) awaitRemoved(ctx context.Context, o RemoveOptions, uid types.UID) error {
	gone, why := c.awaitGone(ctx, syncTargets, o.Name, uid, o.Wait, v1alpha1.ConditionDetaching, o.Progress)
	if !gone {
		return fmt.Errorf("%w after %s: site %s: %s; it goes on by itself, and --force does not wait for the site",
			errStillThere, o.Wait, o.Name, why)
	}
	_, err := fmt.Fprintf(o.Out, "synctarget.skerry.dev/%s removed\n", o.Name)
	return err
}
