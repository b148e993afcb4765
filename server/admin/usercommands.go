package admin

import (
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin/credential/signin"
	"skerry.dev/skerry/tunnel/commandline"
)

// Bounds of the time that a user's token may live, see --ttl.
const (
	defaultTokenLife  = 30 * 24 * time.Hour
	shortestTokenLife = 10 * time.Minute
	longestTokenLife  = commandline.Longest
)

// defaultRole is what `skerry space kubeconfig` gives a user who has no role yet.
const defaultRole = "admin"

const rolesUsage = "view, edit, admin or cluster-admin, as Kubernetes has them; none reaches beyond the space"

func namespaceFlag() cli.Flag {
	return &cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "give the role in this namespace only"}
}

func kubeconfigCommand() *cli.Command {
	action := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space")
		if err != nil {
			return err
		}
		o := KubeconfigOptions{Kubeconfig: c.String("kubeconfig"), Space: name,
			User: c.String("user"), Role: c.String("role"), Namespace: c.String("namespace"), TTL: c.Duration("ttl"),
			Renewable: c.Bool("renewable"),
			ByHost:    c.Bool("by-host"), At: c.String("at"), File: c.String("output"), Out: c.App.Writer}
		if !c.IsSet(signin.IssuerFlag) {
			return SpaceKubeconfig(c.Context, o)
		}
		for _, f := range []string{"user", "role", "ttl", "renewable"} {
			if c.IsSet(f) {
				return Usage("--%s and --%s: a kubeconfig for people of a provider is nobody's own; give rights with: "+
					"skerry space grant %s", f, signin.IssuerFlag, name)
			}
		}
		p, err := signin.FromFlags(c, Usage)
		if err != nil {
			return err
		}
		return sharedKubeconfig(c.Context, o, p)
	}
	return &cli.Command{
		Name: "kubeconfig",
		Usage: "make a user of a space, and a kubeconfig that is good for that space alone; with --issuer, one for " +
			"all people of an OIDC provider",
		ArgsUsage: "SPACE",
		Action:    action,
		Flags: ClientFlags(append(signin.Flags(),
			&cli.StringFlag{
				Name:  "user",
				Value: "tenant",
				Usage: "whom it is for: lower-case letters, digits, '-' and '.'",
			},
			&cli.StringFlag{
				Name: "role",
				Usage: rolesUsage + "; default: the role that the user has, else " + defaultRole +
					"; cluster-admin may also make namespaces and definitions, and grant roles",
			},
			namespaceFlag(),
			atFlag(),
			commandline.DurationFlag(defaultTokenLife, commandline.Bounds{Least: shortestTokenLife, Most: longestTokenLife},
				"how long it is good for, 10m to 366d", "ttl"),
			&cli.BoolFlag{
				Name:  "renewable",
				Usage: "let the holder renew it, for as long as it is used and the user is not revoked",
			},
			&cli.StringFlag{
				Name:    "output",
				Aliases: []string{"o"},
				Usage:   "file to write, mode 0600; default: print it",
			},
			&cli.BoolFlag{
				Name:  "by-host",
				Usage: "by the space's own host, for clients that cannot carry a path; needs --spaces-domain at the center",
			},
		)...),
	}
}

// userFlags are the flags of commands about one user.
func userFlags(more ...cli.Flag) []cli.Flag {
	return ClientFlags(append([]cli.Flag{
		&cli.StringFlag{Name: "user", Usage: "name of the user, as the space knows them (kubectl auth whoami)"},
		&cli.StringFlag{Name: "group", Usage: "name of a group of an OIDC provider, in place of a user"},
		&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"},
	}, more...)...)
}

func grantOptions(c *cli.Context) (GrantOptions, error) {
	name, err := OneArgument(c, "name of the space")
	switch user, group := c.String("user"), c.String("group"); {
	case err != nil:
	case user == "" && group == "":
		err = Usage("--user or --group is required: whose rights in space %q; see: %s --help", name, c.Command.HelpName)
	case user != "" && group != "":
		err = Usage("--user and --group: give one of them; see: %s --help", c.Command.HelpName)
	}
	return GrantOptions{Kubeconfig: c.String("kubeconfig"), Space: name, User: c.String("user"),
		Group: c.String("group"), Role: c.String("role"),
		Namespace: c.String("namespace"), DryRun: c.Bool("dry-run"), Out: c.App.Writer}, err
}

func grantCommand() *cli.Command {
	action := func(c *cli.Context) error {
		o, err := grantOptions(c)
		if err != nil {
			return err
		}
		return GrantSpace(c.Context, o)
	}
	return &cli.Command{
		Name:      "grant",
		Usage:     "give a user one role in a space, instead of the one that they were granted before",
		ArgsUsage: "SPACE",
		Action:    action,
		Flags:     userFlags(&cli.StringFlag{Name: "role", Value: defaultRole, Usage: rolesUsage}, namespaceFlag()),
	}
}

func revokeCommand() *cli.Command {
	action := func(c *cli.Context) error {
		o, err := grantOptions(c)
		if err != nil {
			return err
		}
		return RevokeSpace(c.Context, o)
	}
	return &cli.Command{Name: "revoke", Usage: "take a user's roles in a space, and end their kubeconfigs at once",
		ArgsUsage: "SPACE", Action: action, Flags: userFlags()}
}

func usersCommand() *cli.Command {
	action := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space")
		if err != nil {
			return err
		}
		return ListUsers(c.Context, name, listOptions(c))
	}
	return &cli.Command{Name: "users", Usage: "list who has which role in a space", ArgsUsage: "SPACE", Action: action,
		Flags: ClientFlags(ListFlag())}
}
