package admin

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/output"
)

// listFormats are what -o takes where a list is printed.
const listFormats = "table, wide, json, yaml or name"

// ListFlag is -o of a command that prints a list.
func ListFlag() cli.Flag { return OutputFlag(listFormats) }

// isTable reports whether a list is printed as a table, and wide.
func isTable(output string) (table, wide bool) {
	return output == "" || output == "table" || output == "wide", output == "wide"
}

// dataFormats are what -o takes where a command prints what it did, and no list.
const dataFormats = "json or yaml"

// DataFlag is -o of a command that prints what it did.
func DataFlag() cli.Flag { return OutputFlag(dataFormats) }

func checkDataOutput(output string) error {
	if output != "" && output != "json" && output != "yaml" {
		return Usage("-o %q: use %s", output, dataFormats)
	}
	return nil
}

func checkListOutput(output string) error {
	if table, _ := isTable(output); !table && output != "json" && output != "yaml" && output != "name" {
		return Usage("-o %q: use %s", output, listFormats)
	}
	return nil
}

// checkTableOutput is checkListOutput for what is no list of objects: it has no names, and no wider table.
func checkTableOutput(output string) error {
	if output == "name" || output == "wide" {
		return Usage("-o %q: use table, json or yaml", output)
	}
	return checkListOutput(output)
}

// printData prints what a list has for a program: names one a line, or all of it as JSON or YAML.
// Everything else is a usage error.
func printData(w io.Writer, format string, data any, names func() []string) error {
	if format == "name" {
		for _, name := range names() {
			if _, err := fmt.Fprintln(w, name); err != nil {
				return err
			}
		}
		return nil
	}
	if printed, err := output.Print(w, format, data); printed {
		return err
	}
	return checkListOutput(format)
}
