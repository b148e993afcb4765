package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command before its arguments, where alone the
// command line library looks for them. What follows "--" stays as it is.
func flagsFirst(commands []*cli.Command, args []string) []string {
	var command *cli.Command
	at := 1
	for ; at < len(args); at++ {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		command, commands = commands[i], commands[i].Subcommands
	}
	if command == nil {
		return args
	}
	var flags, rest []string
	for i := at; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if !strings.HasPrefix(args[i], "-") {
			rest = append(rest, args[i])
			continue
		}
		flags = append(flags, args[i])
		if takesValue(command, args[i]) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return slices.Concat(args[:at], flags, rest)
}

// takesValue says whether the argument after a flag belongs to it.
func takesValue(command *cli.Command, flag string) bool {
	name := strings.TrimLeft(flag, "-")
	for _, f := range command.Flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
