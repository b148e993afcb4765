package main

import (
	"fmt"
	"net"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/otlp"
)

func collectorCommand() *cli.Command {
	return &cli.Command{
		Name:      "collector",
		Usage:     "take traces over OTLP and print one line a span",
		ArgsUsage: "HOST:PORT",
		Action: func(c *cli.Context) error {
			address, err := oneName(c)
			if err != nil {
				return err
			}
			l, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, "collector ready")
			return otlp.Serve(c.Context, l, func(s otlp.Span) { fmt.Fprintln(c.App.Writer, s) })
		},
	}
}
