package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Names returns the names of all spaces, targets, tokens or Placements of the center that a kubeconfig leads
// to; kind is "spaces", "targets", "tokens" or "placements", or "objects/SPACE/NAMESPACE/RESOURCE" for objects. An
// empty kubeconfig is what commands take without one.
type Names func(ctx context.Context, kubeconfig, kind string) []string

// KubectlName is the name under which kubectl asks this program to complete `kubectl skerry`.
const KubectlName = "kubectl_complete-skerry"

// What kubectl is told behind the candidates: that files may stand there, too, or not. They are
// cobra's ShellCompDirectiveDefault and ShellCompDirectiveNoFileComp.
const (
	orFiles = ":0"
	noFiles = ":4"
)

// ForKubectl is the command line of a program that may run under KubectlName: `skerry complete` then.
func ForKubectl(args []string) []string {
	if filepath.Base(args[0]) != KubectlName {
		return args
	}
	return append([]string{"skerry", "complete", "--"}, args[1:]...)
}

// CompleteCommand is the hidden `skerry complete -- WORDS...`: what the last word may become, one a
// line.
func CompleteCommand(names Names) *cli.Command {
	return &cli.Command{Name: "complete", Hidden: true, SkipFlagParsing: true, Action: func(c *cli.Context) error {
		words := c.Args().Slice()
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		found := complete(c.Context, c.App, words, names, c.App.Writer)
		if filepath.Base(os.Args[0]) == KubectlName {
			directive := noFiles
			if !found {
				directive = orFiles
			}
			fmt.Fprintln(c.App.Writer, directive)
		}
		return nil
	}}
}

// complete prints the candidates, and reports whether there are any.
func complete(ctx context.Context, app *cli.App, words []string, of Names, out io.Writer) (found bool) {
	last := ""
	if len(words) > 0 {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	// bash makes three words of --flag=value.
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "=" })
	if last == "=" {
		last = ""
	}
	names := func(kind string) []string { return of(ctx, kubeconfigOf(words), kind) }
	var at *cli.Command
	commands, path := app.Commands, ""
	for _, w := range words {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(w) })
		if i >= 0 {
			at = commands[i]
			commands, path = at.Subcommands, strings.TrimSpace(path+" "+at.Name)
		}
	}
	for _, candidate := range candidates(at, commands, path, words, last, names) {
		if strings.HasPrefix(candidate, last) {
			found = true
			fmt.Fprintln(out, candidate)
		}
	}
	return found
}

// kubeconfigOf is what a line gives as --kubeconfig, "" for nothing.
func kubeconfigOf(words []string) string {
	for i, w := range words {
		if path, ok := strings.CutPrefix(w, "--kubeconfig="); ok {
			return path
		}
		if w == "--kubeconfig" && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

func candidates(at *cli.Command, commands []*cli.Command, path string, words []string,
	last string, names func(kind string) []string) (out []string) {
	if len(words) > 0 && at != nil {
		if f := flagOf(at, words[len(words)-1]); f != nil && takesValue(f) {
			return values(f, names)
		}
	}
	if name, _, found := strings.Cut(last, "="); found && at != nil && strings.HasPrefix(name, "--") {
		if f := flagOf(at, name); f != nil && takesValue(f) {
			for _, v := range values(f, names) {
				out = append(out, name+"="+v)
			}
		}
		return out
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
		if strings.HasPrefix(at.ArgsUsage, "RESOURCE NAME") {
			return append(out, objects(at, words[len(strings.Fields(path)):], last, names)...)
		}
		if path == "trace" {
			for _, kind := range []string{"services", "serviceimports"} {
				out = append(out, objects(at, append([]string{kind}, words[1:]...), "", names)...)
			}
			return out
		}
		out = append(out, arguments(path, names)...)
	}
	return out
}

// arguments are what the arguments of a command may be: names, unless they are new.
func arguments(path string, names func(kind string) []string) []string {
	group, command, _ := strings.Cut(path, " ")
	switch {
	case command == "create" || command == "import":
		return nil
	case group == "space":
		return names("spaces")
	case group == "target" || group == "status":
		return names("targets")
	case group == "token":
		return names("tokens")
	case group == "rollout":
		return names("placements")
	}
	return nil
}

// resources are the kinds of objects that are mostly asked about.
var resources = []string{
	"configmap", "cronjob", "daemonset", "deployment", "ingress", "job", "namespace",
	"persistentvolumeclaim", "placement", "pod", "secret", "service", "statefulset",
}

// objects are what the arguments RESOURCE NAME, or RESOURCE/NAME, may be behind words of a command.
func objects(at *cli.Command, words []string, last string, names func(kind string) []string) (out []string) {
	given, resource := map[string]string{}, ""
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		f := flagOf(at, name)
		if f == nil {
			resource = words[i]
			continue
		}
		if takesValue(f) && !joined && i+1 < len(words) {
			i++
			value = words[i]
		}
		given[f.Names()[0]] = value
	}
	of := func(resource string) []string {
		return names("objects/" + given["space"] + "/" + given["namespace"] + "/" + resource)
	}
	before, _, joined := strings.Cut(last, "/")
	switch {
	case strings.Contains(resource, "/"):
		return nil
	case resource != "":
		return of(resource)
	case joined:
		for _, name := range of(before) {
			out = append(out, before+"/"+name)
		}
		return out
	}
	return resources
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

// values are what a flag may be set to: the words of the usage of -o, names of spaces, targets and
// Placements, and what a few others take.
func values(f cli.Flag, names func(kind string) []string) []string {
	switch f.Names()[0] {
	case "output":
		usage := f.(cli.DocGenerationFlag).GetUsage()
		return slices.DeleteFunc(strings.FieldsFunc(usage, func(r rune) bool { return r == ' ' || r == ',' }),
			func(w string) bool { return w == "or" })
	case "at", "target", "without", "from":
		return names("targets")
	case "space":
		return names("spaces")
	case "placement":
		return names("placements")
	case "role":
		return []string{"view", "edit", "admin", "cluster-admin"}
	case "log-level":
		return []string{"debug", "info", "warn", "error"}
	case "log-format":
		return []string{"text", "json"}
	}
	return nil
}
