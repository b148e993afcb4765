package backup

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/tunnel/output"
)

// listFormats are what -o of the list takes.
var listFormats = []string{"", "table", "wide", "json", "yaml", "name"}

func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "table, wide, json, yaml or name"}
}

// listed is a backup as -o json prints it.
type listed struct {
	Name   string    `json:"name"`
	Center string    `json:"center"`
	Made   time.Time `json:"made"`
	Bytes  int64     `json:"bytes"`
}

// list is `skerry center backups`.
func (do commands) list(c *cli.Context, location string) error {
	if !slices.Contains(listFormats, c.String("output")) {
		return do.usage("-o %q: use table, wide, json, yaml or name", c.String("output"))
	}
	if !destination.IsBucket(location) {
		path, err := filepath.Abs(location)
		if err != nil {
			return err
		}
		location = path
	}
	d, err := destination.Open(location, S3Of(c, do.credential))
	if err != nil {
		return do.usage("%s", err)
	}
	all, err := d.List(c.Context)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: %w", d, destination.ErrNone)
	}
	out := make([]listed, len(all))
	for i, b := range all {
		out[i] = listed{b.Name.String(), b.Center, b.Made.UTC(), b.Size}
	}
	return printList(c.App.Writer, c.String("output"), out)
}

func printList(w io.Writer, format string, all []listed) error {
	if printed, err := output.Print(w, format, all); printed {
		return err
	}
	if format == "name" {
		for _, b := range all {
			if _, err := fmt.Fprintln(w, b.Name); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	wide := format == "wide"
	fmt.Fprint(t, "NAME\tMADE\tBYTES")
	if wide {
		fmt.Fprint(t, "\tCENTER")
	}
	fmt.Fprintln(t)
	for _, b := range all {
		fmt.Fprintf(t, "%s\t%s\t%d", b.Name, b.Made.Format(time.RFC3339), b.Bytes)
		if wide {
			fmt.Fprintf(t, "\t%s", b.Center)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
