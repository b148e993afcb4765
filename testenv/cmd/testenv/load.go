package main

import (
	"path"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/oci"
)

func loadCommand() *cli.Command {
	return &cli.Command{
		Name:      "load",
		Usage:     "give a real cluster an image FROM scratch with one static program in it",
		ArgsUsage: "--image REFERENCE --program FILE [--as PATH] [--user UID] NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "image", Required: true, Usage: "the image's `REFERENCE`, with a tag"},
			&cli.StringFlag{Name: "program", Required: true, Usage: "the program's `FILE` on this machine"},
			&cli.StringFlag{Name: "as", Value: "/app", Usage: "the program's `PATH` in the image, its entrypoint"},
			&cli.StringFlag{Name: "user", Usage: "run it as `UID`, or UID:GID (default: root)"},
		},
		Action: func(c *cli.Context) error {
			state, name, err := named(c)
			if err != nil {
				return err
			}
			program := path.Clean("/" + c.String("as"))
			return state.Load(c.Context, name, oci.Image{
				Reference: c.String("image"),
				Files: []oci.File{
					{Path: program, Source: c.String("program"), Mode: 0o755},
					{Path: "/tmp/", Mode: 0o1777},
				},
				Entrypoint: []string{program},
				User:       c.String("user"),
			})
		},
	}
}
