package agent

import (
	"cmp"
	"errors"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/output"
)

// serviceData is where an agent that runs as a service keeps its data, plainData where any other does.
const (
	serviceData = "/var/lib/skerry-agent"
	plainData   = "/var/lib/skerry"
)

// checkFormats are what -o takes.
const checkFormats = "json or yaml"

// checkedDir is the directory that is looked at: that of the service, where there is one.
func checkedDir(service string) string {
	if _, err := os.Stat(service); err == nil {
		return service
	}
	return plainData
}

// CheckCommand is `skerry agent check`. Usage makes the error of a command line that cannot be
// meant so.
func CheckCommand(usage func(format string, args ...any) error) *cli.Command {
	return &cli.Command{
		Name: "check",
		Usage: "look whether what an agent keeps is sound, all of it while the agent is stopped; " +
			"changes nothing unless told to",
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: "data-dir",
				Usage: "directory of the agent; of a relay its directory's uplink (default: that of the service, " +
					serviceData + ", else " + plainData + ")",
				EnvVars: []string{"SKERRY_DATA_DIR"},
			},
			&cli.BoolFlag{
				Name:  "repair",
				Usage: "mend the store: what is lost is asked of the parent at the next start",
			},
			&cli.BoolFlag{Name: "rotate-key", Usage: "encrypt Secrets under a new key and destroy the old one"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: checkFormats}},
		Action: func(c *cli.Context) error {
			format := c.String("output")
			if format != "" && format != "json" && format != "yaml" {
				return usage("--output %q: use %s", format, checkFormats)
			}
			log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			found, err := Check(
				CheckConfig{
					DataDir:   cmp.Or(c.String("data-dir"), checkedDir(serviceData)),
					Repair:    c.Bool("repair"),
					RotateKey: c.Bool("rotate-key"),
					Log:       log,
				},
			)
			if err != nil {
				return err
			}
			printed, err := output.Print(c.App.Writer, format, found)
			if !printed {
				err = found.Print(c.App.Writer)
			}
			return errors.Join(err, found.Err())
		},
	}
}
