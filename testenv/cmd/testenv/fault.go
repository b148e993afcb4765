package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/fault"
)

func faultCommands() []*cli.Command {
	host := &cli.StringFlag{Name: "host", Usage: "packets of this `HOST` only; else of all, once each"}
	oneWay := &cli.BoolFlag{Name: "one-way", Usage: "only what the host sends"}
	return []*cli.Command{
		{
			Name:      "cut",
			Usage:     "drop every packet, in silence",
			ArgsUsage: "NAME [--host HOST] [--one-way | --link] [--udp]",
			Flags: []cli.Flag{host, oneWay, &cli.BoolFlag{Name: "link",
				Usage: "take the host's own link down instead, which it notices"},
				&cli.BoolFlag{Name: "udp", Usage: "drop UDP only"}},
			Action: cut,
		},
		{
			Name:      "heal",
			Usage:     "end all faults, or those of a host",
			ArgsUsage: "NAME [--host HOST]",
			Flags:     []cli.Flag{host},
			Action: func(c *cli.Context) error {
				name, err := oneName(c)
				if err != nil {
					return err
				}
				_, nets, err := open()
				if err != nil {
					return err
				}
				return nets.Heal(c.Context, name, hostFlag(c))
			},
		},
		{
			Name:      "delay",
			Usage:     "let every packet take longer, as in 50ms; twice that is the round trip",
			ArgsUsage: "NAME DURATION [--host HOST] [--one-way] [--jitter DURATION]",
			Flags: []cli.Flag{host, oneWay, &cli.DurationFlag{Name: "jitter",
				Usage: "and up to this `DURATION` more, at random"}},
			Action: func(c *cli.Context) error {
				delay, err := time.ParseDuration(c.Args().Get(1))
				if err != nil || delay < 0 || c.Duration("jitter") < 0 {
					return fmt.Errorf("delay %q: want a duration, as in 50ms", c.Args().Get(1))
				}
				return set(c, fault.Rule{Delay: delay, Jitter: c.Duration("jitter")})
			},
		},
		{
			Name:      "loss",
			Usage:     "lose packets at random, as in 5%",
			ArgsUsage: "NAME PERCENT [--host HOST] [--one-way]",
			Flags:     []cli.Flag{host, oneWay},
			Action: func(c *cli.Context) error {
				percent, err := strconv.ParseFloat(strings.TrimSuffix(c.Args().Get(1), "%"), 64)
				if err != nil || percent <= 0 || percent > 100 {
					return fmt.Errorf("loss %q: want a percentage above 0, as in 5%%", c.Args().Get(1))
				}
				return set(c, fault.Rule{Loss: percent / 100})
			},
		},
		{
			Name:      "rate",
			Usage:     "let no more pass in a second than this, each way, as in 8mbit",
			ArgsUsage: "NAME MEGABITS [--host HOST] [--one-way]",
			Flags:     []cli.Flag{host, oneWay},
			Action: func(c *cli.Context) error {
				rate, err := strconv.ParseFloat(strings.TrimSuffix(c.Args().Get(1), "mbit"), 64)
				if err != nil || rate <= 0 {
					return fmt.Errorf("rate %q: want megabits above 0, as in 8mbit", c.Args().Get(1))
				}
				return set(c, fault.Rule{Rate: int64(rate * 1e6)})
			},
		},
		{
			Name:      "mtu",
			Usage:     "drop packets of more bytes than this in silence: a hole",
			ArgsUsage: "NAME BYTES [--host HOST] [--one-way]",
			Flags:     []cli.Flag{host, oneWay},
			Action: func(c *cli.Context) error {
				size, err := strconv.Atoi(c.Args().Get(1))
				if err != nil || size < 68 {
					return fmt.Errorf("mtu %q: want bytes, at least 68", c.Args().Get(1))
				}
				return set(c, fault.Rule{MTU: size})
			},
		},
	}
}

func cut(c *cli.Context) error {
	if !c.Bool("link") {
		return set(c, fault.Rule{Cut: true, UDP: c.Bool("udp")})
	}
	if c.Bool("udp") {
		return errors.New("a link is down for everything: --link and --udp do not go together")
	}
	if c.Bool("one-way") {
		return errors.New("a link is down both ways: --link and --one-way do not go together")
	}
	name, err := oneName(c)
	if err != nil {
		return err
	}
	_, nets, err := open()
	if err != nil {
		return err
	}
	return nets.LinkDown(c.Context, name, hostFlag(c))
}

// set puts a rule in force for the network and the packets that the command
// line names.
func set(c *cli.Context, rule fault.Rule) error {
	_, nets, err := open()
	if err != nil {
		return err
	}
	rule.Host, rule.Direction = hostFlag(c), fault.Both
	if c.Bool("one-way") {
		if rule.Host == fault.Everyone {
			return errors.New("--one-way needs --host: one way of whom?")
		}
		rule.Direction = fault.Sent
	}
	return nets.Set(c.Context, c.Args().First(), rule)
}

func hostFlag(c *cli.Context) string {
	if host := c.String("host"); host != "" {
		return host
	}
	return fault.Everyone
}
