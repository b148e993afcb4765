package commandline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

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
	if len(commands) == 0 && slices.ContainsFunc(rest, asksHelp) {
		return append(head, "--help") // urfave/cli takes an argument behind it for a topic
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
		a = asSwitch(flags, a)
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

// asSwitch takes --dry-run as kubectl has it: everything here is asked of the server, or not at all.
func asSwitch(flags []cli.Flag, arg string) string {
	if _, is := flagNamed(flags, arg).(*cli.BoolFlag); !is {
		return arg
	}
	switch name, value, _ := strings.Cut(arg, "="); {
	case strings.TrimLeft(name, "-") != "dry-run":
	case value == "server" || value == "client":
		return name
	case value == "none":
		return name + "=false"
	}
	return arg
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
