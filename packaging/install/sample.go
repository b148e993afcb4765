package install

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// elsewhere are flags that the unit sets itself, or that must not stand in a file that others read.
var elsewhere = map[string]bool{"config": true, "data-dir": true, "token": true}

// Sample returns a configuration file for a command: each of its flags as a key, commented out, with
// its default and what it means.
func Sample(c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# skerry %s: every key is a flag of `skerry %[1]s --help`, at its default.\n", c.Name)
	b.WriteString("# Credentials are files of /etc/skerry/credentials: token, kubeconfig, encryption-key, seal-key, s3.\n")
	for _, f := range c.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		name := f.Names()[0]
		if !ok || elsewhere[name] {
			continue
		}
		b.WriteString("\n")
		for _, line := range wrap(doc.GetUsage()) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		fmt.Fprintf(&b, "#%s: %s\n", name, value(f))
	}
	return b.String()
}

// value is the default of a flag as YAML.
func value(f cli.Flag) string {
	switch f := f.(type) {
	case *cli.StringFlag:
		return fmt.Sprintf("%q", f.Value)
	case *cli.BoolFlag:
		return fmt.Sprint(f.Value)
	case *cli.IntFlag:
		return fmt.Sprint(f.Value)
	case *cli.GenericFlag:
		return f.GetDefaultText()
	case cli.DocGenerationSliceFlag:
		if f.IsSliceFlag() {
			return "[]"
		}
	}
	return `""`
}

// width is how long a line of a sample is at most, beside its mark.
const width = 96

func wrap(text string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
