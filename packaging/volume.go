package packaging

import (
	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent/mover"
	"skerry.dev/skerry/tunnel/commandline"
)

// volumeCommand is `skerry volume`, with commands beside those of the two ends of a copy.
func volumeCommand(more ...*cli.Command) *cli.Command {
	return &cli.Command{Name: "volume",
		Usage:       "copy what volumes hold from site to site, and what stands by for the loss of one",
		Subcommands: append(more, mover.Commands(commandline.Usage)...)}
}
