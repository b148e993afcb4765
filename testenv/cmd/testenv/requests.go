package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/cluster"
	"skerry.dev/skerry/testenv/requests"
)

// requestsCommand asks an application until it is ended, and then prints what was lost.
func requestsCommand() *cli.Command {
	return &cli.Command{
		Name:  "requests",
		Usage: "ask an application at a steady rate until SIGTERM, and print what was lost",
		ArgsUsage: "[--name NAME] [--rate N] [CLUSTER=]URL...  (the ways to it, in order; CLUSTER= asks from inside " +
			"the network of that cluster's node)",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Value: "outside", Usage: "`NAME` of the client in the figures"},
			&cli.IntFlag{Name: "rate", Value: 200, Usage: "`N` requests a second"},
			&cli.StringFlag{Name: "host", Usage: "`HOST` that is asked for, at whatever address; empty is that of the URL"},
			&cli.StringFlag{Name: "ca", Usage: "`FILE` with the authority of TLS; empty is none"},
			&cli.BoolFlag{Name: "keep", Usage: "keep connections for further requests"},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "how long one way may take"},
		},
		Action: func(c *cli.Context) error {
			config := requests.Config{Name: c.String("name"), Rate: c.Int("rate"), Timeout: c.Duration("timeout"),
				Host: c.String("host"), Keep: c.Bool("keep"),
				Answered: func() { fmt.Println("answered") }}
			if c.NArg() == 0 || config.Rate <= 0 {
				return errors.New("want URLs and a rate: testenv requests " + c.Command.ArgsUsage)
			}
			if config.Rate > requests.MaxRate {
				return fmt.Errorf("--rate %d is more than %d: a port would be used again too soon; start several clients "+
					"in networks of their own", config.Rate, requests.MaxRate)
			}
			if file := c.String("ca"); file != "" {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				config.Roots = x509.NewCertPool()
				config.Roots.AppendCertsFromPEM(text)
			}
			for _, arg := range c.Args().Slice() {
				way, err := wayOf(arg)
				if err != nil {
					return err
				}
				config.Ways = append(config.Ways, way)
			}
			return requests.Run(c.Context, config).Print(os.Stdout)
		},
	}
}

// wayOf reads [CLUSTER=]URL.
func wayOf(arg string) (requests.Way, error) {
	name, url, inside := strings.Cut(arg, "=")
	if !inside || strings.Contains(name, "/") {
		return requests.Way{URL: arg}, nil
	}
	state, err := cluster.OpenState()
	if err != nil {
		return requests.Way{}, err
	}
	at, err := state.Get(name)
	if err != nil {
		return requests.Way{}, err
	}
	return requests.Way{NetNS: at.NetNS(), URL: url}, nil
}
