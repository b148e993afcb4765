package main

import (
	"errors"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/othertime"
)

// clockCommand is a machine with a wrong clock for scenarios.
func clockCommand() *cli.Command {
	return &cli.Command{
		Name:      "clock",
		Usage:     "run a program that sees another time of day",
		ArgsUsage: "--at TIME [--until FILE] -- COMMAND [ARGUMENT...]",
		Hidden:    true,
		Flags: []cli.Flag{
			&cli.TimestampFlag{Name: "at", Layout: time.RFC3339, Required: true, Usage: "`TIME` at the beginning, RFC 3339"},
			&cli.StringFlag{Name: "until", Usage: "the clock is right from the moment that this `FILE` is there"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return errors.New("want a COMMAND: testenv clock " + c.Command.ArgsUsage)
			}
			status, err := othertime.Run(othertime.Config{At: *c.Timestamp("at"), Until: c.String("until"),
				Command: c.Args().Slice()})
			if err == nil && status != 0 {
				os.Exit(status) // what is wrong has been said by the program
			}
			return err
		},
	}
}
