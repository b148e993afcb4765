package admin

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// deleteCommand is `skerry space delete`.
func deleteCommand() *cli.Command {
	action := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space (skerry space list)")
		if err != nil {
			return err
		}
		return DeleteSpace(c.Context, DeleteSpaceOptions{Kubeconfig: c.String("kubeconfig"), Name: name,
			DryRun: c.Bool("dry-run"), Yes: c.Bool("yes"), Wait: c.Duration("wait"), In: os.Stdin,
			Progress: NewProgress(c), Out: c.App.Writer})
	}
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete a space; its deletionPolicy says what becomes of what it holds",
		ArgsUsage: "NAME",
		Action:    action,
		Flags: ClientFlags(
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would go, change nothing"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
			WaitFlag(time.Minute, "how long to wait until it is gone; 0: not at all"),
			QuietFlag(),
		),
	}
}

// DeleteSpaceOptions say which space to delete.
type DeleteSpaceOptions struct {
	Kubeconfig string
	Name       string
	DryRun     bool
	Yes        bool
	Wait       time.Duration // 0 does not wait
	In         io.Reader
	Progress   *Progress
	Out        io.Writer
}

// DeleteSpace says what goes with a space, asks, deletes it, and waits until it is gone.
func DeleteSpace(ctx context.Context, o DeleteSpaceOptions) error {
	if o.Name == v1alpha1.RootSpace {
		return Usage("root is the admin's own space and cannot be deleted; name another: skerry space list")
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	space, err := c.root.Resource(spaces).Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no space %q; see them with: skerry space list", o.Name)
	} else if err != nil {
		return fmt.Errorf("read space %s: %w", o.Name, err)
	}
	fmt.Fprintln(o.Out, c.whatGoes(ctx, space))
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(space.GetUID()))}
	if o.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	} else if !o.Yes {
		if err := ask(o.In, fmt.Sprintf("Delete space %s?", o.Name)); err != nil {
			return err
		}
	}
	err = c.root.Resource(spaces).Delete(ctx, o.Name, options)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete space %s: %w", o.Name, err)
	}
	switch {
	case o.DryRun:
		fmt.Fprintf(o.Out, "space.skerry.dev/%s deleted (dry run: nothing was changed)\n", o.Name)
		return nil
	case o.Wait <= 0:
		fmt.Fprintf(o.Out, "space.skerry.dev/%s is being deleted; see: kubectl describe space %[1]s\n", o.Name)
		return nil
	}
	return c.awaitDeleted(ctx, o, space.GetUID())
}

// whatGoes says what deleting a space deletes. The center counts what a space with a quota holds;
// for others only the namespaces are counted.
func (c *center) whatGoes(ctx context.Context, space *unstructured.Unstructured) string {
	name, holds := space.GetName(), "its objects"
	if n, known, _ := unstructured.NestedInt64(space.Object, "status", "usage", "objects"); known {
		holds = fmt.Sprintf("its %d objects", n)
	} else if names, err := c.namespaces(ctx, name); err == nil {
		holds = fmt.Sprintf("its objects in %d namespaces", names)
	}
	policy, _, _ := unstructured.NestedString(space.Object, "spec", "deletionPolicy")
	if policy == string(v1alpha1.DeletionDelete) {
		return fmt.Sprintf("Space %s goes with %s, and what runs of them at sites (deletionPolicy Delete).", name, holds)
	}
	return fmt.Sprintf("Space %s goes once its users' objects are deleted (deletionPolicy Retain). To delete %s with it, "+
		"and what runs of them at sites:\n  kubectl patch space %[1]s --type=merge -p "+
		`'{"spec":{"deletionPolicy":"Delete"}}'`, name, holds)
}

// namespaces counts those of a space.
func (c *center) namespaces(ctx context.Context, space string) (int, error) {
	u, err := c.users(ctx, space, false)
	if err != nil {
		return 0, err
	}
	list, err := u.api.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

func (c *center) awaitDeleted(ctx context.Context, o DeleteSpaceOptions, uid types.UID) error {
	gone, why := c.awaitGone(ctx, spaces, o.Name, uid, o.Wait, v1alpha1.ConditionDeleting,
		o.Progress)
	if !gone {
		return fmt.Errorf("space %s is not deleted after %s: %s; it goes on by itself, see: kubectl describe space %[1]s",
			o.Name, o.Wait, why)
	}
	_, err := fmt.Fprintf(o.Out, "space.skerry.dev/%s deleted\n", o.Name)
	return err
}
