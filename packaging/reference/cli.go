package reference

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// generated opens every page.
const generated = "<!-- Written by make generate; edit the code that it comes from. -->\n"

// CLI returns the page of all commands of app, with their flags.
func CLI(app *cli.App) string {
	var b strings.Builder
	b.WriteString("# Commands and flags\n\n" + generated + "\n" +
		"A flag of `skerry center` and `skerry agent` is also an environment variable, which is named\n" +
		"below, and a key of `/etc/skerry/center.yaml` or `agent.yaml`. A flag wins over a variable, a\n" +
		"variable over the file. [Exit codes](exit-codes.md) are the same for all commands.\n")
	for _, c := range app.Commands {
		command(&b, "skerry", c)
	}
	return b.String()
}

func command(b *strings.Builder, path string, c *cli.Command) {
	if c.Hidden || c.Name == "help" {
		return
	}
	path += " " + c.Name
	fmt.Fprintf(b, "\n## %s\n\n%s\n", strings.TrimSpace(path+" "+c.ArgsUsage), sentence(c.Usage))
	if c.Description != "" {
		fmt.Fprintf(b, "\n%s\n", c.Description)
	}
	if lines := examples[strings.TrimPrefix(path, "skerry ")]; len(lines) > 0 {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.Join(lines, "\n"))
	}
	flags := visibleFlags(c)
	if len(flags) > 0 {
		b.WriteString("\n| flag | what |\n|---|---|\n")
	}
	for _, f := range flags {
		flag(b, f)
	}
	for _, sub := range c.Subcommands {
		command(b, path, sub)
	}
}

// visibleFlags are the flags of a command that its help shows.
func visibleFlags(c *cli.Command) (out []cli.DocGenerationFlag) {
	for _, f := range c.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		visible, may := f.(cli.VisibleFlag)
		if ok && f.Names()[0] != "help" && !(may && !visible.IsVisible()) {
			out = append(out, doc)
		}
	}
	return out
}

// flag writes one row: names, then usage, default and variable.
func flag(b *strings.Builder, f cli.DocGenerationFlag) {
	var names []string
	for _, name := range f.Names() {
		names = append(names, "`"+dashes(name)+"`")
	}
	what := sentence(f.GetUsage())
	if text := defaultOf(f); text != "" {
		what += " Default: `" + text + "`."
	}
	if env := f.GetEnvVars(); len(env) > 0 {
		what += " `" + strings.Join(env, "`, `") + "`"
	}
	fmt.Fprintf(b, "| %s | %s |\n", strings.Join(names, ", "), strings.ReplaceAll(what, "|", `\|`))
}

// dashes is the name of a flag as it is typed.
func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// defaultOf is what a flag is when it is not given, where that is worth a word.
func defaultOf(f cli.DocGenerationFlag) string {
	text := f.GetDefaultText()
	if text == "" {
		text = f.GetValue()
	}
	text = strings.ReplaceAll(text, `"`, "")
	if text == "false" || text == "[]" || strings.HasPrefix(text, "the host") {
		return ""
	}
	return text
}

// sentence gives a usage, which begins small and ends without a stop, the form of prose.
func sentence(usage string) string {
	usage = strings.TrimSpace(usage)
	if usage == "" {
		return ""
	}
	first, _, _ := strings.Cut(usage, " ")
	if !strings.ContainsAny(first, ":=/*-") { // k=v and https:// stay as they are typed
		usage = strings.ToUpper(usage[:1]) + usage[1:]
	}
	if !strings.HasSuffix(usage, ".") {
		usage += "."
	}
	// What looks like an element of HTML vanishes where Markdown is shown.
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(usage)
}
