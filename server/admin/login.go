package admin

import (
	"errors"
	"os/exec"
	"runtime"

	"github.com/urfave/cli/v2"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/server/admin/credential/signin"
)

// LoginCommand is `skerry login`.
func LoginCommand() *cli.Command {
	return &cli.Command{
		Name: "login",
		Usage: "log in at the OIDC provider of the current context, or at the one that the flags name; " +
			"kubectl then uses and renews the login",
		Flags: ClientFlags(append(signin.Flags(),
			&cli.BoolFlag{Name: "device", Usage: "print a code to enter at another device, instead of using a browser here"},
			&cli.BoolFlag{Name: "no-browser", Usage: "print the URL, and open no browser"},
			&cli.StringFlag{Name: "listen", Value: signin.DefaultListen,
				Usage: "loopback address that the browser is sent back to; the provider must allow http://ADDRESS/callback"},
		)...),
		Action: func(c *cli.Context) error {
			p, err := providerOf(c)
			if err != nil {
				return err
			}
			store, err := credential.OwnStore()
			if err != nil {
				return err
			}
			o := signin.LoginOptions{Dir: store.Dir, Device: c.Bool("device"), Listen: c.String("listen"), Out: c.App.Writer}
			if !c.Bool("no-browser") {
				o.Browse = browse
			}
			return p.Login(c.Context, o)
		},
	}
}

// providerOf is the provider of the flags, else that of the current context. What the flags do not say
// of a provider that the kubeconfig has is as it is there.
func providerOf(c *cli.Context) (signin.Provider, error) {
	file, where, err := readKubeconfig(c.String("kubeconfig"))
	if c.IsSet(signin.IssuerFlag) {
		p, wrong := signin.FromFlags(c, Usage)
		if wrong != nil || err != nil || p.CA != "" || p.SecretFile != "" {
			return p, wrong
		}
		for _, user := range file.AuthInfos {
			if known, ok := provider(user); ok && known.Issuer == p.Issuer && known.ClientID == p.ClientID {
				return known, nil
			}
		}
		return p, nil
	}
	if errors.Is(err, ErrNoKubeconfig) {
		return signin.Provider{}, Usage("name the provider: skerry login --issuer URL --client-id ID")
	} else if err != nil {
		return signin.Provider{}, err
	}
	if p, ok := provider(currentUser(file)); ok {
		return p, nil
	}
	return signin.Provider{}, Usage("context %q in %s has no OIDC provider; name it: skerry login --issuer URL "+
		"--client-id ID", file.CurrentContext, where)
}

// provider is the OIDC provider of a user entry that `skerry space kubeconfig --issuer` wrote.
func provider(user *clientcmdapi.AuthInfo) (signin.Provider, bool) {
	args, ours := credential.PluginArgs(user)
	if !ours {
		return signin.Provider{}, false
	}
	return signin.FromArgs(args)
}

// browse opens a URL in the person's browser.
func browse(url string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	program, err := exec.LookPath(opener)
	if err != nil {
		return err
	}
	opened := exec.Command(program, url)
	if err := opened.Start(); err != nil {
		return err
	}
	go opened.Wait() // some stay for as long as the browser
	return nil
}
