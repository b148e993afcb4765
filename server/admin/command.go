package admin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// ErrUsage is matched by errors of Usage.
var ErrUsage = errors.New("usage")

// Usage is the error for a command line that cannot be meant so: its text says what to write
// instead.
func Usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// ClientFlags are the flags of every command that talks to a center, and more.
func ClientFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{
			Name:  "kubeconfig",
			Usage: "of the center (default: $KUBECONFIG, else " + DefaultKubeconfig + ")",
		},
	}, more...)
}

// OutputFlag is -o.
func OutputFlag(formats string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: formats}
}

// OneArgument returns the command's only argument.
func OneArgument(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", Usage("%s needs one argument, the %s; see: %[1]s --help", c.Command.HelpName, what)
	}
	return c.Args().First(), nil
}

// StatusCommand is `skerry status`.
func StatusCommand() *cli.Command {
	return &cli.Command{Name: "status", Usage: "show the sites, what is behind and since when",
		Flags:  ClientFlags(ListFlag()),
		Action: func(c *cli.Context) error { return Status(c.Context, listOptions(c)) }}
}

func listOptions(c *cli.Context) ListOptions {
	return ListOptions{Kubeconfig: c.String("kubeconfig"), Output: c.String("output"), Out: c.App.Writer}
}

// SpaceCommand is `skerry space` with its subcommands.
func SpaceCommand() *cli.Command {
	create := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space")
		if err != nil {
			return err
		}
		return CreateSpace(c.Context, CreateSpaceOptions{Kubeconfig: c.String("kubeconfig"), Name: name,
			Count: c.Int("default-targets"), NamespacePrefix: c.String("namespace-prefix"),
			Wait: c.Duration("wait"), DryRun: c.Bool("dry-run"), Output: c.String("output"), Out: c.App.Writer})
	}
	use := func(c *cli.Context) error {
		name, err := OneArgument(c, "name of the space")
		if err != nil {
			return err
		}
		return UseSpace(c.Context, c.String("kubeconfig"), name, c.String("at"), c.App.Writer)
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
				&cli.DurationFlag{Name: "wait", Value: 30 * time.Second, Usage: "how long to wait until it is ready"},
				&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"},
			),
		},
		{Name: "list", Usage: "list the spaces", Flags: ClientFlags(ListFlag()),
			Action: func(c *cli.Context) error { return ListSpaces(c.Context, listOptions(c)) }},
		{
			Name: "use",
			Usage: "make a space the current context of your own kubeconfig, with the credentials that it has; " +
				"for somebody else: skerry space kubeconfig",
			ArgsUsage: "NAME",
			Flags:     ClientFlags(atFlag()),
			Action:    use,
		},
		deleteCommand(),
		kubeconfigCommand(), grantCommand(), revokeCommand(), usersCommand(), exportCommand(), importCommand(),
	}}
}

// FlagsFirst moves the flags of a command line before its arguments, so that `skerry space create
// shop --wait 1m` works as it does with kubectl. What stands behind "--" stays where it is.
func FlagsFirst(app *cli.App, args []string) []string {
	if len(args) == 0 {
		return args
	}
	head, rest := args[:1:1], args[1:]
	commands, flags := app.Commands, app.Flags
	for len(rest) > 0 {
		cmd := named(commands, rest[0])
		if cmd == nil {
			break
		}
		head, rest = append(head, rest[0]), rest[1:]
		commands, flags = cmd.Subcommands, cmd.Flags
	}
	var options, others []string
	for i := 0; i < len(rest); i++ {
		a := rest[i]
		if a == "--" {
			others = append(others, rest[i:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			others = append(others, a)
			continue
		}
		options = append(options, a)
		if takesValue(flags, a) {
			if i++; i == len(rest) {
				return args // the value is missing: the command says so
			}
			options = append(options, rest[i])
		}
	}
	return append(append(head, options...), others...)
}

func named(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func takesValue(flags []cli.Flag, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	doc, ok := flagNamed(flags, arg).(cli.DocGenerationFlag)
	return ok && doc.TakesValue()
}

// flagNamed is the flag that an argument such as --name, -n or --name=x means, nil for none.
func flagNamed(flags []cli.Flag, arg string) cli.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}
