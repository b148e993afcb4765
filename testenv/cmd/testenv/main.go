// Command testenv makes Kubernetes clusters for tests on this one machine, real
// and simulated, and networks with faults between them. It needs no registry,
// no virtual machine and no Docker. See the README of its module.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/fault"
	"skerry.dev/skerry/testenv/node"
	"skerry.dev/skerry/testenv/process"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		os.Exit(1)
	}
}

// run also is what the processes of clusters begin with: three first arguments
// are not for people.
func run(args []string) error {
	if len(args) > 1 {
		switch args[1] {
		case process.LaunchCommand:
			return process.Launch(args[2:])
		case node.InitCommand:
			return node.Init(args[2])
		case fault.RouterCommand:
			return fault.Route(args[2:])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := app()
	return a.RunContext(ctx, flagsFirst(a.Commands, args))
}

func app() *cli.App {
	return &cli.App{
		Name:  "testenv",
		Usage: "Kubernetes clusters for tests, on one machine",
		Commands: []*cli.Command{
			upCommand(),
			downCommand(),
			stopCommand(),
			startCommand(),
			listCommand(),
			kubeconfigCommand(),
			netCommand(),
			imageCommand(),
			loadCommand(),
			toolsCommand(),
			buildCommand(),
			installCommand(),
			demoCommand(),
			benchCommand(),
			walkCommand(),
			conformanceCommand(),
			corpusCommand(),
			proxyCommand(),
			requestsCommand(),
			clockCommand(),
			collectorCommand(),
			oidcCommand(),
			oidcTokenCommand(),
		},
		HideHelpCommand: true,
		// Errors are printed once, by main.
		ExitErrHandler: func(*cli.Context, error) {},
	}
}

// oneName returns the command's only argument.
func oneName(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", fmt.Errorf("want one NAME: testenv %s %s", c.Command.Name, c.Command.ArgsUsage)
	}
	return c.Args().First(), nil
}
