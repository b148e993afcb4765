package upgrade

import (
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

// Command is `skerry agent upgrade`.
func Command() *cli.Command {
	return &cli.Command{
		Name: "upgrade",
		Usage: "install the version of the agent that its center wishes, by the owner's program; " +
			"skerry-agent-upgrade.service runs it",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data-dir", Value: "/var/lib/skerry-agent", Usage: "the agent's data directory"},
			&cli.StringFlag{Name: "command", Value: "/etc/skerry/upgrade-agent",
				Usage: "program of root's that installs the version which is its only argument, and starts the agent again"},
			commandline.DurationFlag(30*time.Minute, commandline.Bounds{Least: time.Second}, "how long it may take", "timeout"),
			&cli.StringFlag{Name: "result", Value: ResultFile, Usage: "file where to say what has become of it, for the agent"},
		},
		Action: func(c *cli.Context) error {
			return Install(c.Context, Options{DataDir: c.String("data-dir"), Command: c.String("command"),
				Result: c.String("result"), Timeout: c.Duration("timeout"), Out: c.App.ErrWriter})
		},
	}
}
