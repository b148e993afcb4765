package admin

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"
)

// listFormats are what -o takes where a list is printed.
const listFormats = "table, wide, json, yaml or name"

// ListFlag is -o of a command that prints a list.
func ListFlag() cli.Flag { return OutputFlag(listFormats) }

// isTable reports whether a list is printed as a table, and wide.
func isTable(output string) (table, wide bool) {
	return output == "" || output == "table" || output == "wide", output == "wide"
}

func checkListOutput(output string) error {
	if table, _ := isTable(output); !table && output != "json" && output != "yaml" && output != "name" {
		return Usage("-o %q: use %s", output, listFormats)
	}
	return nil
}

// printData prints what a list has for a program: names one a line, or all of it as JSON or YAML.
// Everything else is a usage error.
func printData(w io.Writer, output string, data any, names func() []string) error {
	switch output {
	case "name":
		for _, name := range names() {
			if _, err := fmt.Fprintln(w, name); err != nil {
				return err
			}
		}
		return nil
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "    ")
		return e.Encode(data)
	case "yaml":
		text, err := yaml.Marshal(data)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	return checkListOutput(output)
}
