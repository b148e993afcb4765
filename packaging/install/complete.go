package install

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Names returns the names of all spaces or of all targets of the center; kind is "spaces" or
// "targets".
type Names func(ctx context.Context, kind string) []string

// CompleteCommand is the hidden `skerry complete -- WORDS...`: what the last word may become, one a
// line.
func CompleteCommand(names Names) *cli.Command {
	return &cli.Command{Name: "complete", Hidden: true, SkipFlagParsing: true, Action: func(c *cli.Context) error {
		words := c.Args().Slice()
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		complete(c.Context, c.App, words, names, c.App.Writer)
		return nil
	}}
}

func complete(ctx context.Context, app *cli.App, words []string, names Names, out io.Writer) {
	last := ""
	if len(words) > 0 {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	var at *cli.Command
	commands, path := app.Commands, ""
	for _, w := range words {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(w) })
		if i >= 0 {
			at = commands[i]
			commands, path = at.Subcommands, strings.TrimSpace(path+" "+at.Name)
		}
	}
	for _, candidate := range candidates(ctx, at, commands, path, words, last, names) {
		if strings.HasPrefix(candidate, last) {
			fmt.Fprintln(out, candidate)
		}
	}
}

func candidates(ctx context.Context, at *cli.Command, commands []*cli.Command, path string, words []string,
	last string, names Names) (out []string) {
	if len(words) > 0 && at != nil {
		if f := flagOf(at, words[len(words)-1]); f != nil && takesValue(f) {
			return values(ctx, f, names)
		}
	}
	if strings.HasPrefix(last, "-") && at != nil {
		for _, f := range at.VisibleFlags() {
			out = append(out, "--"+f.Names()[0])
		}
		return out
	}
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, c.Name)
		}
	}
	if at != nil && len(at.Subcommands) == 0 && at.ArgsUsage != "" {
		switch group, _, _ := strings.Cut(path, " "); group {
		case "space":
			out = names(ctx, "spaces")
		case "target":
			out = names(ctx, "targets")
		}
	}
	return out
}

func flagOf(c *cli.Command, word string) cli.Flag {
	if !strings.HasPrefix(word, "-") {
		return nil
	}
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), strings.TrimLeft(word, "-")) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	doc, ok := f.(cli.DocGenerationFlag)
	return ok && doc.TakesValue()
}

// values are what a flag may be set to: the words of the usage of -o, and the targets for --at.
func values(ctx context.Context, f cli.Flag, names Names) []string {
	switch f.Names()[0] {
	case "output":
		usage := f.(cli.DocGenerationFlag).GetUsage()
		return slices.DeleteFunc(strings.FieldsFunc(usage, func(r rune) bool { return r == ' ' || r == ',' }),
			func(w string) bool { return w == "or" })
	case "at":
		return names(ctx, "targets")
	}
	return nil
}
