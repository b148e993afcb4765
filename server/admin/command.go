package admin

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

// ClientFlags are the flags of every command that talks to a center, and more.
func ClientFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{
			Name: "kubeconfig",
			Usage: "of the center (default: $KUBECONFIG, else the context of skerry space use, else " +
				DefaultKubeconfig + ")",
		},
	}, more...)
}

// OutputFlag is -o.
func OutputFlag(formats string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: formats}
}

// SelectorFlag is -l, as kubectl has it.
func SelectorFlag() cli.Flag {
	return &cli.StringFlag{Name: "selector", Aliases: []string{"l"},
		Usage: "label selector, such as region=eu,tier!=edge"}
}

// WaitFlag is --wait, which kubectl calls --timeout.
func WaitFlag(usual time.Duration, usage string) cli.Flag {
	return commandline.DurationFlag(usual, commandline.Bounds{}, usage, "wait", "timeout")
}

// OneArgument returns the command's only argument.
func OneArgument(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", Usage("the %s is required; see: %s --help", what, c.Command.HelpName)
	}
	return c.Args().First(), nil
}

// objectArgument is the one object that a command line names, as kubectl takes it: RESOURCE/NAME, or
// RESOURCE NAME.
func objectArgument(c *cli.Context) (resource, name string, err error) {
	if resource, name = c.Args().Get(0), c.Args().Get(1); c.NArg() == 1 {
		resource, name, _ = strings.Cut(resource, "/")
	}
	if resource == "" || name == "" || strings.Contains(resource+name, "/") {
		return "", "", Usage("name one object as RESOURCE/NAME, such as deployment/web; see: %s --help", c.Command.HelpName)
	}
	return resource, name, nil
}

// SpaceCommand is `skerry space` with its subcommands.
func SpaceCommand() *cli.Command {
	create := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space")
		if err != nil {
			return err
		}
		return CreateSpace(c.Context, CreateSpaceOptions{Kubeconfig: c.String("kubeconfig"), Name: name,
			Count: c.Int("default-targets"), NamespacePrefix: c.String("namespace-prefix"), Reach: c.String("reach"),
			ClusterSet: c.String("cluster-set"), Wait: c.Duration("wait"), DryRun: c.Bool("dry-run"),
			Output: c.String("output"), Out: c.App.Writer})
	}
	return &cli.Command{Name: "space", Usage: "create, list, use, move and delete spaces", Subcommands: []*cli.Command{
		{
			Name:      "create",
			Usage:     "create a space",
			ArgsUsage: "NAME",
			Action:    create,
			Flags: ClientFlags(
				OutputFlag("name, json or yaml"),
				&cli.IntFlag{
					Name:  "default-targets",
					Value: 1,
					Usage: "how many targets a namespace goes to that nothing else places; 0: nowhere",
				},
				&cli.StringFlag{
					Name:  "namespace-prefix",
					Usage: "what its namespaces have before their names at sites, as in shop-; for good",
				},
				&cli.StringFlag{
					Name:  "reach",
					Usage: "where names of its Services answer: Target, where the Service is; Space, wherever the space runs Pods",
				},
				&cli.StringFlag{
					Name:  "cluster-set",
					Usage: "the set of spaces whose exported Services (ServiceExport) it imports, and that import its own",
				},
				WaitFlag(30*time.Second, "how long to wait until it is ready"),
				&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"},
			),
		},
		{Name: "list", Usage: "list the spaces", Flags: ClientFlags(ListFlag(), SelectorFlag()),
			Action: func(c *cli.Context) error { return ListSpaces(c.Context, listOptions(c)) }},
		useCommand(),
		deleteCommand(),
		kubeconfigCommand(), grantCommand(), revokeCommand(), usersCommand(), exportCommand(), importCommand(),
	}}
}
