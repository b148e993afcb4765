package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/upstream"
)

func conformanceCommand() *cli.Command {
	return &cli.Command{
		Name: "conformance", Usage: "run upstream's tests against spaces: make conformance",
		Flags: []cli.Flag{skerryFlag(),
			&cli.StringFlag{Name: "built", Value: "bin/conformance", Usage: "the directory with specs.test, ginkgo and kubectl"},
			&cli.StringFlag{Name: "lists", Value: "testenv/conformance", Usage: "the directory with the declared tests"},
			&cli.StringFlag{Name: "upstream", Usage: "the directory of Kubernetes' sources"},
			&cli.IntSliceFlag{Name: "spaces", Value: cli.NewIntSlice(1, 3),
				Usage: "run the specs in so many spaces at once; 0: not"},
			&cli.BoolFlag{Name: "site", Value: true, Usage: "run the specs that need a site"},
			&cli.BoolFlag{Name: "kubectl", Value: true, Usage: "run kubectl's test functions"},
			&cli.IntFlag{Name: "procs", Value: 2, Usage: "how many tests run side by side in a space"},
			&cli.StringFlag{Name: "focus", Usage: "run only what matches this regular expression"},
			&cli.StringFlag{Name: "summary", Value: "bin/conformance/summary.json", Usage: "the file that gets the results"},
		},
		Action: func(c *cli.Context) error {
			var err error
			o := upstream.Options{Site: c.Bool("site"), Functions: c.Bool("kubectl"), Procs: c.Int("procs"),
				Upstream: c.String("upstream"), Log: c.App.Writer}
			if o.Testenv, err = os.Executable(); err != nil {
				return err
			}
			for flag, path := range map[string]*string{"skerry": &o.Skerry, "built": &o.Built, "lists": &o.Lists,
				"summary": &o.Summary} {
				if *path, err = filepath.Abs(c.String(flag)); err != nil {
					return err
				}
			}
			for _, n := range c.IntSlice("spaces") {
				if n > 0 {
					o.Rounds = append(o.Rounds, n)
				}
			}
			if c.String("focus") != "" {
				if o.Focus, err = regexp.Compile(c.String("focus")); err != nil {
					return fmt.Errorf("--focus: %w", err)
				}
			}
			return upstream.Run(c.Context, o)
		},
	}
}
