package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/bench"
	"skerry.dev/skerry/testenv/demo"
	"skerry.dev/skerry/testenv/walk"
)

// programs finds what the demo and the benchmark run: the product's binary, this one and kubectl.
func programs(c *cli.Context) (skerry, testenv, kubectl string, err error) {
	if skerry, err = filepath.Abs(c.String("skerry")); err != nil {
		return "", "", "", err
	}
	if _, err := os.Stat(skerry); err != nil {
		return "", "", "", fmt.Errorf("the product's binary: %w; build it with: make build", err)
	}
	if testenv, err = os.Executable(); err != nil {
		return "", "", "", err
	}
	kit, err := artifact.EnsureClusters(c.Context, os.Stderr)
	if err != nil {
		return "", "", "", err
	}
	return skerry, testenv, kit.Path("kubectl"), nil
}

func skerryFlag() cli.Flag {
	return &cli.StringFlag{Name: "skerry", Value: "bin/skerry", Usage: "the product's binary"}
}

func demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "show the product on real clusters, from nothing",
		Flags: []cli.Flag{skerryFlag(), &cli.BoolFlag{Name: "keep", Usage: "leave everything running until Ctrl-C"}},
		Action: func(c *cli.Context) error {
			skerry, testenv, kubectl, err := programs(c)
			if err != nil {
				return err
			}
			return demo.Run(c.Context, demo.Options{Skerry: skerry, Testenv: testenv, Kubectl: kubectl, Image: artifact.AppImage,
				Keep: c.Bool("keep"), Out: c.App.Writer})
		},
	}
}

func benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "measure the product; one JSON line a figure",
		Flags: []cli.Flag{skerryFlag(), &cli.StringSliceFlag{Name: "figure", Usage: "apply, status, wire, flash, memory " +
			"or spaces (default: all of these), or api, soak, gateway, streams or killed-streams"},
			&cli.StringFlag{Name: "etcd", Value: "etcd", Usage: "the program etcd, for the figure api"},
			&cli.DurationFlag{Name: "soak", Value: 2 * time.Hour, Usage: "how long the figure soak churns 1,000 objects " +
				"and 3,000 pods"},
			&cli.IntFlag{Name: "streams", Value: 10_000, Usage: "how many streams the figure streams kills"}},
		Action: func(c *cli.Context) error {
			skerry, testenv, kubectl, err := programs(c)
			if err != nil {
				return err
			}
			return bench.Run(c.Context, bench.Options{Skerry: skerry, Testenv: testenv, Kubectl: kubectl,
				Etcd: c.String("etcd"), Figures: c.StringSlice("figure"),
				Soak: c.Duration("soak"), Streams: c.Int("streams"), Out: c.App.Writer, Log: c.App.ErrWriter})
		},
	}
}

func walkCommand() *cli.Command {
	return &cli.Command{
		Name: "walk", Usage: "let the product go through random faults and compare it with a model; needs root",
		Flags: []cli.Flag{skerryFlag(),
			&cli.Uint64Flag{Name: "seed", Usage: "what to do; it is printed, so that it can be done again (default: a new one)"},
			&cli.IntFlag{Name: "sites", Value: 3, Usage: "how many sites"},
			&cli.IntFlag{Name: "objects", Value: 1000, Usage: "how many objects"},
			&cli.IntFlag{Name: "partitions", Value: 200, Usage: "how many links are cut"},
			&cli.IntFlag{Name: "kills", Value: 200, Usage: "how many processes are killed"},
			&cli.DurationFlag{Name: "limit", Usage: "end after this `DURATION` although faults are left"},
			&cli.BoolFlag{Name: "keep", Usage: "leave the data and the logs of center and agents"},
		},
		Action: func(c *cli.Context) error {
			skerry, testenv, kubectl, err := programs(c)
			if err != nil {
				return err
			}
			return walk.Run(c.Context, walk.Options{Skerry: skerry, Testenv: testenv, Kubectl: kubectl,
				Seed: c.Uint64("seed"), Sites: c.Int("sites"),
				Objects: c.Int("objects"), Partitions: c.Int("partitions"), Kills: c.Int("kills"),
				Limit: c.Duration("limit"), Keep: c.Bool("keep"),
				Out: c.App.Writer, Log: c.App.ErrWriter})
		},
	}
}
