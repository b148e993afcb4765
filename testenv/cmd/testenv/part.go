package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/cluster"
)

func stopCommand() *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "stop a part of a cluster, until start",
		ArgsUsage: "[--part node|server] [--power-loss] NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "part", Value: string(cluster.Node), Usage: "`PART`: node or server (the control " +
				"plane, with --persist only)"},
			&cli.BoolFlag{Name: "power-loss", Usage: "end it at once, without a chance to end in order"},
		},
		Action: func(c *cli.Context) error {
			state, name, err := named(c)
			if err != nil {
				return err
			}
			return state.Stop(c.Context, name, cluster.Part(c.String("part")), c.Bool("power-loss"))
		},
	}
}

func startCommand() *cli.Command {
	return &cli.Command{
		Name:      "start",
		Usage:     "start the parts of a cluster that do not run",
		ArgsUsage: "NAME",
		Action: func(c *cli.Context) error {
			state, name, err := named(c)
			if err != nil {
				return err
			}
			kit, err := artifact.EnsureClusters(c.Context, os.Stderr)
			if err != nil {
				return err
			}
			return state.Start(c.Context, name, cluster.Options{Kit: kit, Progress: os.Stderr})
		},
	}
}
