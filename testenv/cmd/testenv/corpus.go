package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/corpus"
)

func corpusCommand() *cli.Command {
	return &cli.Command{
		Name: "corpus", Usage: "compare a space with a cluster, construct by construct; needs root",
		Flags: []cli.Flag{skerryFlag(),
			&cli.StringFlag{Name: "units", Value: "testenv/corpus/units", Usage: "the directory of the units"},
			&cli.StringFlag{Name: "bundles",
				Usage: "a directory of charts and manifests of other makers, to compare instead of the units"},
			&cli.StringFlag{Name: "focus", Usage: "run only units whose name matches this regular expression"},
			&cli.DurationFlag{Name: "limit", Usage: "wait at most so long for equality (default: what a unit says)"},
			&cli.StringFlag{Name: "kind", Value: "real",
				Usage: "real, or simulated: Pods are shown as running, and their images do not matter"},
			&cli.IntFlag{Name: "workers", Value: 4, Usage: "how many units run side by side"},
			&cli.StringFlag{Name: "summary", Value: "bin/corpus/summary.json", Usage: "the file that gets the results"},
		},
		Action: func(c *cli.Context) error {
			skerry, testenv, kubectl, err := programs(c)
			if err != nil {
				return err
			}
			kit, err := artifact.Ensure(c.Context, os.Stderr)
			if err != nil {
				return err
			}
			o := corpus.Options{Kind: c.String("kind"), Skerry: skerry, Testenv: testenv, Kubectl: kubectl,
				Image: artifact.AppImage, Helm: kit.Path("helm"),
				Workers: c.Int("workers"), Limit: c.Duration("limit"), Out: c.App.Writer, Log: c.App.ErrWriter}
			for flag, path := range map[string]*string{"units": &o.Units, "summary": &o.Summary} {
				if *path, err = filepath.Abs(c.String(flag)); err != nil {
					return err
				}
			}
			if bundles := c.String("bundles"); bundles != "" {
				if o.Bundles, err = filepath.Abs(bundles); err != nil {
					return err
				}
			}
			if focus := c.String("focus"); focus != "" {
				if o.Focus, err = regexp.Compile(focus); err != nil {
					return fmt.Errorf("--focus: %w", err)
				}
			}
			return corpus.Run(c.Context, o)
		},
	}
}
