package doctor

import (
	"context"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/doctor"
)

// Daemons are the commands whose configuration is looked at.
type Daemons struct {
	// Center and Agent are the flags of skerry center and skerry agent.
	Center, Agent []cli.Flag
	// Keys reads the keys of a center, see server.CheckKeys.
	Keys func(dataDir string) (time.Time, error)
	// Encryption opens what a center has encrypted, see server.CheckEncryption.
	Encryption func(ctx context.Context, dataDir, keyFile, providerConfig string) (missing bool, err error)
	Version    string
}

// formats are what -o takes.
const formats = "table, wide, json or yaml"

// joinFlags are the flags of the agent that matter before a join.
var joinFlags = []string{"parent", "proxy", "proxy-file", "token-file", "name", "labels"}

// Command is `skerry doctor`.
func Command(d Daemons) *cli.Command {
	here := &machinePlaces{}
	own := append(d.flags(joinFlags), admin.OutputFlag(formats), &cli.StringFlag{Name: "kubeconfig",
		Usage: "with --parent of the workload cluster that is to join, else of a center (default: $KUBECONFIG)"})
	return &cli.Command{
		Name: "doctor",
		Usage: "say what is wrong with the center, the agent or the workstation here, and what to do; " +
			"with --parent whether a join would work",
		Description: "Without a command it looks at every part of Skerry that this machine has. It needs nothing " +
			"running and changes nothing.",
		Flags: own,
		Action: func(c *cli.Context) error {
			parts, err := d.find(c, here)
			if err != nil {
				return err
			}
			return print(c, d, parts)
		},
		Subcommands: []*cli.Command{
			d.part("center", "look at the center or relay of this machine; its flags are those of skerry center",
				append(slices.Clone(d.Center), admin.OutputFlag(formats)), here),
			d.part("agent", "look at the agent of this machine; its flags are those of skerry agent",
				append(slices.Clone(d.Agent), admin.OutputFlag(formats)), here),
			d.part("workstation", "look at a center from here, with a kubeconfig",
				admin.ClientFlags(admin.OutputFlag(formats)), here),
		},
	}
}

// flags are those of the agent with these names.
func (d Daemons) flags(names []string) (out []cli.Flag) {
	for _, f := range d.Agent {
		if slices.Contains(names, f.Names()[0]) {
			out = append(out, f)
		}
	}
	return out
}

// part is the command that looks at one part.
func (d Daemons) part(name, usage string, flags []cli.Flag, here *machinePlaces) *cli.Command {
	command := &cli.Command{Name: name, Usage: usage, Flags: flags, Action: func(c *cli.Context) error {
		checks, err := d.checks(c, name, here)
		if err != nil {
			return err
		}
		return print(c, d, []part{{name, checks, c}})
	}}
	if name != "workstation" {
		command.Before = commandline.FromFile
	}
	return command
}

// part of Skerry that this machine has.
type part struct {
	name    string
	checks  []doctor.Check
	context *cli.Context // its configuration
}

// examine runs the checks of all parts.
func examine(ctx context.Context, version string, parts []part) *doctor.Report {
	report := doctor.New(version)
	for _, p := range parts {
		report.Run(ctx, p.name, p.checks)
	}
	return report
}

func print(c *cli.Context, d Daemons, parts []part) error {
	format := c.String("output")
	if !doctor.Known(format) {
		return commandline.Usage("-o %q: use %s", format, formats)
	}
	report := examine(c.Context, d.Version, parts)
	if err := report.Print(c.App.Writer, format); err != nil {
		return err
	}
	return report.Err()
}
