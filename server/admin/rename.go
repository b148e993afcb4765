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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// renameCommand is `skerry target rename`.
func renameCommand() *cli.Command {
	return &cli.Command{
		Name:      "rename",
		Usage:     "give a site another name; nothing is restarted, and what names it is changed, too",
		ArgsUsage: "OLD NEW",
		Flags: ClientFlags(
			&cli.BoolFlag{Name: "dry-run", Usage: "show what names the site, change nothing"},
			&cli.BoolFlag{Name: "keep-wishes", Usage: "leave labels and Placements that name the site as they are"},
			WaitFlag(time.Minute, "how long to wait until it has the name"),
			QuietFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return Usage("the old and the new name of the site are required; see: %s --help", c.Command.HelpName)
			}
			return RenameTarget(c.Context, RenameOptions{
				Kubeconfig: c.String("kubeconfig"), From: c.Args().Get(0), To: c.Args().Get(1), DryRun: c.Bool("dry-run"),
				KeepWishes: c.Bool("keep-wishes"), Wait: c.Duration("wait"), Progress: NewProgress(c), Out: c.App.Writer,
			})
		},
	}
}

// RenameOptions say which site gets which name.
type RenameOptions struct {
	Kubeconfig string
	From, To   string
	DryRun     bool
	KeepWishes bool // labels and Placements go on to name From
	Wait       time.Duration
	Progress   *Progress
	Out        io.Writer
}

// errNotRenamed is returned when the center has not renamed a site in time.
var errNotRenamed = errors.New("not renamed yet")

// RenameTarget has the center give a SyncTarget another name. The SyncTarget keeps its UID, so what is
// decided stays. Then it changes what users wish by the old name. Until that is done nothing moves: a
// wish for a name that nobody has leaves what runs where it is.
func RenameTarget(ctx context.Context, o RenameOptions) error {
	defer o.Progress.Done()
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	site, err := c.mayRename(ctx, o)
	if err != nil {
		return err
	}
	renamed := site.GetName() == o.To
	found, err := c.namedIn(ctx, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		fmt.Fprintf(o.Out, "synctarget.skerry.dev/%s renamed from %s (dry run: nothing was changed)\n", o.To, o.From)
		return printWishes(o, found)
	}
	if renamed {
		fmt.Fprintf(o.Out, "synctarget.skerry.dev/%s was renamed from %s before\n", o.To, o.From)
	} else {
		if err := c.renameSite(ctx, o, site.GetUID()); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "synctarget.skerry.dev/%s renamed from %s\n", o.To, o.From)
	}
	if !o.KeepWishes {
		if err := c.renameWishes(ctx, o, found); err != nil {
			return err
		}
	}
	if err := printWishes(o, found); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "The agent goes on with its certificate. Write name: %s into its agent.yaml, which "+
		"counts when it joins anew.\n", o.To)
	return err
}

// mayRename checks what can be known before anything is changed. It returns the site; one that has the
// new name already, of a command that broke off, goes on with what users wish by the old name.
func (c *center) mayRename(ctx context.Context, o RenameOptions) (*unstructured.Unstructured, error) {
	switch {
	case len(validation.IsDNS1123Label(o.To)) > 0:
		return nil, Usage("site name %q: use lower-case letters, digits and '-', at most 63", o.To)
	case o.From == o.To:
		return nil, Usage("the site is named %q already; give another name", o.To)
	}
	targets := c.root.Resource(syncTargets)
	site, err := targets.Get(ctx, o.From, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		now, err := targets.Get(ctx, o.To, metav1.GetOptions{})
		if err == nil && slices.Contains(strings.Split(now.GetAnnotations()[v1alpha1.AnnotationFormerNames], ","), o.From) {
			return now, nil
		}
		return nil, fmt.Errorf("there is no site %q; see them with: skerry status", o.From)
	} else if err != nil {
		return nil, fmt.Errorf("read site %s: %w", o.From, err)
	}
	switch _, err := targets.Get(ctx, o.To, metav1.GetOptions{}); {
	case err == nil:
		return nil, fmt.Errorf("there is another site %q; choose another name, or first: skerry target remove %s", o.To, o.To)
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read site %s: %w", o.To, err)
	}
	switch _, err := c.root.Resource(locations).Get(ctx, o.To, metav1.GetOptions{}); {
	case err == nil:
		return nil, fmt.Errorf("there is a Location %q, and a wish for that name would mean both; choose another name", o.To)
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read Location %s: %w", o.To, err)
	}
	if status, why := condition(site.Object, v1alpha1.ConditionConnected); status != "True" {
		return nil, fmt.Errorf("site %s is not connected (%s), and its agent has to learn the name; rename it when it is "+
			"back: skerry status %s", o.From, orElse(why, "it has not joined"), o.From)
	}
	return site, nil
}

// renameSite asks the center for the name and waits until the SyncTarget has it. A wish that cannot be
// fulfilled is taken back.
func (c *center) renameSite(ctx context.Context, o RenameOptions, uid types.UID) error {
	wish := func(to any) error {
		_, _, err := c.changeTarget(ctx, o.From, false, func(*unstructured.Unstructured) (map[string]any, string, error) {
			return map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{v1alpha1.AnnotationRenameTo: to},
			}}, "", nil
		})
		return err
	}
	if err := wish(o.To); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	targets := c.root.Resource(syncTargets)
	for {
		now, err := targets.Get(waiting, o.To, metav1.GetOptions{})
		renamed := err == nil && now.GetUID() == uid
		old, err := targets.Get(waiting, o.From, metav1.GetOptions{})
		if renamed && (apierrors.IsNotFound(err) || err == nil && old.GetUID() != uid) {
			return nil
		}
		if err == nil && !renamed {
			if status, why := condition(old.Object, v1alpha1.ConditionRenaming); status == "False" {
				return errors.Join(errors.New(why), wish(nil))
			}
		}
		o.Progress.Step("waiting until the center has renamed %s", o.From)
		select {
		case <-waiting.Done():
			return fmt.Errorf("%w after %s: site %s; the center goes on. To take it back: kubectl annotate synctarget %s %s-",
				errNotRenamed, o.Wait, o.From, o.From, v1alpha1.AnnotationRenameTo)
		case <-tick.C:
		}
	}
}
