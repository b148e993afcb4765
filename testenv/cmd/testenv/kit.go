package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/debian"
)

func buildCommand() *cli.Command {
	return &cli.Command{
		Name:  "build",
		Usage: "build what clusters are made of and what tests use beside them, as far as the cache does not have it",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "clusters", Usage: "only what clusters are made of"}},
		Action: func(c *cli.Context) error {
			ensure := artifact.Ensure
			if c.Bool("clusters") {
				ensure = artifact.EnsureClusters
			}
			_, err := ensure(c.Context, os.Stderr)
			return err
		},
	}
}

func toolsCommand() *cli.Command {
	return &cli.Command{
		Name:    "tools",
		Aliases: []string{"path"},
		Usage:   "print a directory with kubectl, ctr and the rest, for PATH",
		Action: func(c *cli.Context) error {
			kit, err := artifact.Ensure(c.Context, os.Stderr)
			if err != nil {
				return err
			}
			fmt.Println(kit.Bin)
			return nil
		},
	}
}

func imageCommand() *cli.Command {
	return &cli.Command{
		Name:  "image",
		Usage: "print the reference of the test image that every real cluster has",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "next", Usage: "of its next version, for a rolling update"}},
		Action: func(c *cli.Context) error {
			reference := artifact.AppImage
			if c.Bool("next") {
				reference = artifact.AppImageNext
			}
			fmt.Println(reference)
			return nil
		},
	}
}

func installCommand() *cli.Command {
	return &cli.Command{
		Name:   "install",
		Usage:  "install the Debian packages that real clusters need and that are missing",
		Action: func(c *cli.Context) error { return debian.Install(c.Context, os.Stderr) },
	}
}
