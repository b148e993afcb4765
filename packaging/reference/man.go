package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Man returns the man pages of all commands of app, of section 1, by name: skerry, skerry-space,
// skerry-space-create. They are made of the same flags as the page that CLI returns.
func Man(app *cli.App) map[string]string {
	pages := map[string]string{}
	root := &cli.Command{Name: app.Name, Usage: app.Usage, Subcommands: app.Commands}
	manPages(pages, root, nil, "")
	return pages
}

func manPages(pages map[string]string, c *cli.Command, above []string, daemon string) {
	if c.Hidden || c.Name == "help" {
		return
	}
	names := append(slices.Clone(above), c.Name)
	if len(names) == 2 {
		daemon = c.Name
	}
	pages[strings.Join(names, "-")] = manPage(c, names, daemon)
	for _, sub := range c.Subcommands {
		manPages(pages, sub, names, daemon)
	}
}

// manPage writes one page. Daemon is the first word behind the program, "" for the program itself.
func manPage(c *cli.Command, names []string, daemon string) string {
	b := &roff{}
	command := strings.Join(names, " ")
	b.macro("TH", strings.ToUpper(strings.Join(names, "-")), "1", "", "Skerry", "User Commands")
	b.section("NAME")
	b.text(strings.Join(names, "-") + " - " + c.Usage)
	b.section("SYNOPSIS")
	arguments := c.ArgsUsage
	if len(c.Subcommands) > 0 {
		arguments = "COMMAND"
	}
	b.text(strings.TrimSpace(command + " [OPTIONS] " + arguments))
	b.section("DESCRIPTION")
	b.text(plain(c.Usage))
	if c.Description != "" {
		b.macro("PP")
		b.text(c.Description)
	}
	manCommands(b, c)
	manOptions(b, c)
	if lines := examples[strings.Join(names[1:], " ")]; len(lines) > 0 {
		b.section("EXAMPLES")
		for _, line := range lines {
			b.macro("PP")
			b.macro("nf")
			b.text(line)
			b.macro("fi")
		}
	}
	manSurroundings(b, daemon)
	manExits(b)
	b.section("SEE ALSO")
	b.text(strings.Join(related(c, names), ", "))
	return b.String()
}

func manCommands(b *roff, c *cli.Command) {
	visible := slices.DeleteFunc(slices.Clone(c.Subcommands), func(c *cli.Command) bool {
		return c.Hidden || c.Name == "help"
	})
	if len(visible) == 0 {
		return
	}
	b.section("COMMANDS")
	for _, sub := range visible {
		b.entry(strings.TrimSpace(sub.Name+" "+sub.ArgsUsage), plain(sub.Usage))
	}
}

func manOptions(b *roff, c *cli.Command) {
	flags := visibleFlags(c)
	if len(flags) == 0 {
		return
	}
	b.section("OPTIONS")
	for _, f := range flags {
		var names []string
		for _, name := range f.Names() {
			names = append(names, dashes(name))
		}
		title := strings.Join(names, ", ")
		if f.TakesValue() {
			title += " VALUE"
		}
		what := plain(f.GetUsage())
		if text := defaultOf(f); text != "" {
			what += " Default: " + text + "."
		}
		if env := f.GetEnvVars(); len(env) > 0 {
			what += " Variable: " + strings.Join(env, ", ") + "."
		}
		b.entry(title, what)
	}
}

// manSurroundings are the files and variables that count for a command.
func manSurroundings(b *roff, daemon string) {
	files := map[string]string{}
	if daemon != "agent" {
		files["/etc/skerry/center.yaml"] = "Flags of a center, or of a relay, as keys."
		files["/var/lib/skerry"] = "Data of a center, with its admin.kubeconfig."
	}
	if slices.Contains([]string{"", "agent", "install", "uninstall", "doctor", "support-bundle"}, daemon) {
		files["/etc/skerry/agent.yaml"] = "Flags of an agent, as keys."
		files["/var/lib/skerry-agent"] = "Data of an agent that systemd runs."
		files["/etc/skerry/credentials"] = "Token, kubeconfig and keys that systemd hands to the services."
	}
	if daemon != "center" && daemon != "agent" {
		files["~/.kube/config"] = "Contexts that skerry space use and skerry login write, and no secrets."
		files["~/.config/skerry"] = "Credentials of those contexts, mode 0600."
	}
	b.section("FILES")
	for _, path := range slices.Sorted(maps.Keys(files)) {
		b.entry(path, files[path])
	}
	b.section("ENVIRONMENT")
	b.entry("SKERRY_FLAG", "Value of a flag of skerry center or skerry agent, in capitals and with _ for -. "+
		"A flag wins over a variable, a variable over the file.")
	b.entry("KUBECONFIG", "Files with the contexts of kubectl, and so of skerry.")
	b.entry("HTTPS_PROXY, NO_PROXY", "The proxy on the way to a parent, where --proxy does not name one.")
}

// exits are the exit codes of all commands, see packaging/docs/reference/exit-codes.md.
var exits = []string{
	"Success.",
	"The command line was right, and what it asked for did not succeed.",
	"Invalid usage.",
	"The agent was refused, or its site was removed at the parent.",
	"A check has found something wrong, or something stays where a site is drained or removed.",
}

func manExits(b *roff) {
	b.section("EXIT STATUS")
	for code, what := range exits {
		b.entry(fmt.Sprint(code), what)
	}
}

// related are the pages above and below a command, and the page of the program.
func related(c *cli.Command, names []string) (out []string) {
	for i := 1; i < len(names); i++ {
		out = append(out, strings.Join(names[:i], "-")+"(1)")
	}
	for _, sub := range c.Subcommands {
		if !sub.Hidden && sub.Name != "help" {
			out = append(out, strings.Join(names, "-")+"-"+sub.Name+"(1)")
		}
	}
	return append(out, "kubectl(1)", "/usr/share/doc/skerry/docs")
}

// plain is a usage as a sentence.
func plain(usage string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(sentence(usage))
}

// roff is a page in the language of man(7).
type roff struct{ strings.Builder }

func (b *roff) macro(name string, args ...string) {
	b.WriteString("." + name)
	for _, a := range args {
		b.WriteString(` "` + escaped(a) + `"`)
	}
	b.WriteString("\n")
}

func (b *roff) section(title string) { b.macro("SH", title) }

func (b *roff) text(text string) {
	text = escaped(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	b.WriteString(text + "\n")
}

// entry is a paragraph with a title in bold.
func (b *roff) entry(title, text string) {
	b.macro("TP")
	b.macro("B", title)
	b.text(text)
}

func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "\n", "\n").Replace(text)
}
