package admin

import (
	"context"
	"fmt"
	"io"
	"os/exec"

	"github.com/urfave/cli/v2"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/server/admin/credential"
)

// UseOptions say which space becomes the current context of the caller's own kubeconfig.
type UseOptions struct {
	// Kubeconfig leads to the center, and has the credentials; see readKubeconfig.
	Kubeconfig string
	Space      string
	// At names the targets, with slashes between them, whose live view is wanted; empty for the space.
	At string
	// Center is what the caller calls the center; empty means as before, else by its address.
	Center string
	// Print has the kubeconfig printed instead of merged into the caller's own.
	Print bool
	Out   io.Writer
}

func useCommand() *cli.Command {
	use := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space")
		if err != nil {
			return err
		}
		return UseSpace(c.Context, UseOptions{Kubeconfig: c.String("kubeconfig"), Space: name, At: c.String("at"),
			Center: c.String("center"), Print: c.Bool("print"), Out: c.App.Writer})
	}
	return &cli.Command{
		Name: "use",
		Usage: "make a space the current context CENTER/SPACE of your own kubeconfig, with the credentials that you have; " +
			"for somebody else: skerry space kubeconfig",
		ArgsUsage: "NAME",
		Flags: ClientFlags(
			atFlag(),
			&cli.StringFlag{Name: "center", Usage: "what you call the center in names of contexts; default: its address"},
			&cli.BoolFlag{Name: "print", Usage: "print the kubeconfig instead; it has no secrets and is for this machine"},
		),
		Action: use,
	}
}

// UseSpace adds a context CENTER/SPACE to the caller's own kubeconfig and makes it current. The
// credentials go to the caller's store; the kubeconfig has `skerry credential` fetch and renew them.
func UseSpace(ctx context.Context, o UseOptions) error {
	if err := checkAt(o.At); err != nil {
		return err
	}
	if o.Center != "" {
		if err := credential.CheckCenter(o.Center); err != nil {
			return Usage("--center: %s", err)
		}
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	if c, err = c.switched(o); err != nil {
		return err
	}
	if err := c.mayUse(ctx, o); err != nil {
		return err
	}
	if err := c.mustHaveSite(ctx, o.At); err != nil {
		return err
	}
	own := newOwnKubeconfig()
	if err := own.mayName(c.name(o), c.url.Host); err != nil && !o.Print {
		return err
	}
	one, err := c.forCaller(o)
	if err != nil {
		return err
	}
	if o.Print {
		data, err := clientcmd.Write(*one)
		if err == nil {
			_, err = o.Out.Write(data)
		}
		return err
	}
	file, err := own.add(ctx, one)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "Switched to space %q (context %q in %s).\n", o.Space, one.CurrentContext, file)
	if hint := own.hint(one.CurrentContext); hint != "" {
		fmt.Fprintf(o.Out, "Note: %s\n", hint)
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		fmt.Fprintln(o.Out, "Note: kubectl is not in PATH; install it to work in the space: "+
			"https://kubernetes.io/docs/tasks/tools")
	}
	store, err := credential.OwnStore()
	if p, ok := provider(c.currentUser()); ok && err == nil && !p.LoggedIn(store.Dir) {
		fmt.Fprintf(o.Out, "Log in at %s: skerry login\n", p.Issuer)
	}
	return nil
}
