package commandline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// CheckArguments refuses a command line, as FlagsFirst returns it, that names an unknown command,
// has more arguments than its command takes, or lacks a flag that it requires. How many arguments
// it takes stands in its ArgsUsage, one a word: none if it is empty, and any number if it ends in
// "...".
func CheckArguments(app *cli.App, args []string) error {
	if len(args) == 0 {
		return nil
	}
	at, commands, flags, rest := (*cli.Command)(nil), app.Commands, app.Flags, args[1:]
	path := app.Name
	for {
		words, understood := wordsOf(flags, rest)
		switch {
		case !understood:
			return nil // urfave/cli says which flag is unknown
		case len(words) == 0:
			return checkRequired(at, rest, path) // or urfave/cli prints the help
		}
		if next := named(commands, words[0]); next != nil {
			if next.SkipFlagParsing {
				return nil
			}
			at, commands, flags, path = next, next.Subcommands, next.Flags, path+" "+next.Name
			rest = words[1:]
			continue
		}
		if words[0] == "help" || words[0] == "h" {
			if len(words) > 1 && len(commands) > 0 && named(commands, words[1]) == nil {
				return unknownCommand(path, commands, words[1])
			}
			return nil
		}
		if len(commands) > 0 {
			return unknownCommand(path, commands, words[0])
		}
		if slices.ContainsFunc(args, asksHelp) {
			return nil
		}
		if last := rest[len(rest)-1]; len(last) > 1 && last[0] == '-' && takesValue(flags, last) &&
			flagNamed(flags, last) != nil {
			return Usage("%s needs a value; see: %s --help", last, path)
		}
		if err := tooMany(path, at, words); err != nil {
			return err
		}
		return checkRequired(at, rest, path)
	}
}

// wordsOf are the arguments of a command line that are neither flags nor their values. It is false
// for a line with a flag that is unknown.
func wordsOf(flags []cli.Flag, args []string) (words []string, understood bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(words, args[i+1:]...), true
		case len(a) < 2 || a[0] != '-':
			return append(words, args[i:]...), true
		case asksHelp(a):
		case flagNamed(flags, a) == nil:
			return nil, false
		case takesValue(flags, a):
			i++
		}
	}
	return words, true
}

func asksHelp(arg string) bool { return arg == "--help" || arg == "-help" || arg == "-h" }

func tooMany(path string, c *cli.Command, words []string) error {
	takes := strings.Fields(c.ArgsUsage)
	if len(words) <= len(takes) || strings.HasSuffix(c.ArgsUsage, "...") {
		return nil
	}
	return Usage("unexpected argument %q; see: %s --help", words[len(takes)], path)
}

func unknownCommand(path string, commands []*cli.Command, word string) error {
	if text := instead(path, word); text != "" {
		return Usage("unknown command %q; %s; see: %s --help", word, text, path)
	}
	if near := nearest(commands, word); near != "" {
		return Usage("unknown command %q; did you mean %q? see: %s --help", word, near, path)
	}
	return Usage("unknown command %q; see: %s --help", word, path)
}

// nearest is the visible command that the word may be a slip of, "" if none is near: one that it
// begins, or one that differs in at most a third of the letters.
func nearest(commands []*cli.Command, word string) (name string) {
	best := (len(word)+1)/3 + 1
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		for _, n := range c.Names() {
			if len(word) > 1 && strings.HasPrefix(n, word) {
				return n
			}
			if d := smetrics.WagnerFischer(word, n, 1, 1, 1); d < best {
				best, name = d, n
			}
		}
	}
	return name
}
