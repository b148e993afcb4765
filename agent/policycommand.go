package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/tunnel"
)

// PolicyCommand is `skerry agent policy`. Usage makes the error of a command line that cannot be
// meant. Before reads the configuration file, which may have the other flags of an agent, too.
func PolicyCommand(
	usage func(format string, args ...any) error, others []cli.Flag, before cli.BeforeFunc,
) *cli.Command {
	hideAllBut(others, "config")
	return &cli.Command{
		Name:  "policy",
		Usage: "print all that spaces may do at a site, by the word of --policy and the flags that override it",
		Flags: append(append(AllowFlags(), others...),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "yaml (the default) or json"}),
		Before: before,
		Action: func(c *cli.Context) error {
			allow, err := AllowOf(c, usage)
			if err != nil {
				return err
			}
			p, err := policy.Compile(allow, nil)
			if err != nil {
				return usage("allow: %s", err)
			}
			switch out := c.String("output"); out {
			case "", "yaml":
				return printAllow(c.App.Writer, c.String("policy"), p.Result())
			case "json":
				return json.NewEncoder(c.App.Writer).Encode(p.Result())
			default:
				return usage("--output %q: use yaml or json", out)
			}
		},
	}
}

// hideAllBut has flags work that help does not show.
func hideAllBut(flags []cli.Flag, shown ...string) {
	for _, f := range flags {
		if !slices.Contains(shown, f.Names()[0]) {
			reflect.ValueOf(f).Elem().FieldByName("Hidden").SetBool(true)
		}
	}
}

// openLists are the lists that allow it to all spaces while they are empty.
var openLists = []string{"logs", "exec", "portForward", "view", "podWrites", "services"}

// printAllow writes each field, also what is not allowed, as it may stand in agent.yaml.
func printAllow(w io.Writer, word string, a tunnel.Allow) error {
	var b strings.Builder
	fmt.Fprintf(&b, "policy: %s\nallow:\n", word)
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		if field.Kind() == reflect.Slice && field.IsNil() {
			none := "[]"
			if slices.Contains(openLists, name) {
				none = `["true"]`
			}
			fmt.Fprintf(&b, "  %s: %s\n", name, none)
			continue
		}
		text, err := json.Marshal(field.Interface())
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  %s: %s\n", name, text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
