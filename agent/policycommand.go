package agent

import (
	"bytes"
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
			word, err := policy.Preset(c.String("policy")).Allows()
			if err != nil {
				return usage("%s", err)
			}
			of, err := policy.Compile(word, nil)
			if err != nil {
				return err
			}
			fields := allowFields(p.Result(), of.Result())
			switch out := c.String("output"); out {
			case "", "yaml":
				return printAllow(c.App.Writer, c.String("policy"), fields)
			case "json":
				return printAllowJSON(c.App.Writer, c.String("policy"), fields)
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

// allowField is one field of what spaces may do.
type allowField struct {
	name  string
	value json.RawMessage
	// byWord is true where the word of --policy alone says so, too.
	byWord bool
}

// allowFields are all fields of a policy, in order, also what is not allowed. Of is what the word alone allows.
func allowFields(a, of tunnel.Allow) []allowField {
	var out []allowField
	v, word := reflect.ValueOf(a), reflect.ValueOf(of)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f := allowField{name: name, value: allowText(name, v.Field(i))}
		f.byWord = bytes.Equal(f.value, allowText(name, word.Field(i)))
		out = append(out, f)
	}
	return out
}

// allowText is a field as it may stand in agent.yaml.
func allowText(name string, field reflect.Value) json.RawMessage {
	if field.Kind() == reflect.Slice && field.Len() == 0 {
		if slices.Contains(openLists, name) {
			return json.RawMessage(`["true"]`)
		}
		return json.RawMessage("[]")
	}
	text, err := json.Marshal(field.Interface())
	if err != nil {
		panic("a field of the policy has no JSON: " + err.Error())
	}
	return text
}

// printAllow writes each field as it may stand in agent.yaml.
func printAllow(w io.Writer, word string, fields []allowField) error {
	var b strings.Builder
	fmt.Fprintf(&b, "policy: %s\nallow:\n", word)
	for _, f := range fields {
		fmt.Fprintf(&b, "  %s: %s", f.name, f.value)
		if !f.byWord {
			b.WriteString(" # not by the word")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printAllowJSON writes the same for programs; overridden names what is not by the word.
func printAllowJSON(w io.Writer, word string, fields []allowField) error {
	out := struct {
		Policy     string                     `json:"policy"`
		Allow      map[string]json.RawMessage `json:"allow"`
		Overridden []string                   `json:"overridden"`
	}{word, map[string]json.RawMessage{}, []string{}}
	for _, f := range fields {
		out.Allow[f.name] = f.value
		if !f.byWord {
			out.Overridden = append(out.Overridden, f.name)
		}
	}
	return json.NewEncoder(w).Encode(out)
}
