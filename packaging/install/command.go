package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/packaging/reference"
)

// machine is what is installed on; the tests have one of their own.
type machine struct {
	root   string // "" for this one
	euid   int
	out    io.Writer
	dryRun bool
	quiet  bool // the steps are not said
	run    func(ctx context.Context, name string, args ...string) error
	access func(path string) error // says why nobody can write a path, see writable
	self   func() (string, error)  // the path of this program
	// checks refuse the flags of daemons; nil refuses none.
	checks Checks
	// version is that of the program at a path, see programVersion.
	version func(ctx context.Context, path string) string
}

func here(c *cli.Context) *machine {
	return &machine{euid: os.Geteuid(), out: c.App.Writer, dryRun: c.Bool("dry-run"), quiet: c.Bool("quiet"),
		run: execute, access: writable, self: program, version: programVersion}
}

// program is the path of this program without symbolic links.
func program() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

func execute(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ready refuses a machine on which nothing can be installed, or nothing started where that is asked.
func (m *machine) ready(command string, start bool) error {
	_, err := os.Stat(m.path("/run/systemd/system"))
	if err != nil && command == "uninstall" {
		return errors.New("systemd does not run this machine, so no service was installed here; stop what runs, and " +
			"remove the binary and its data directory by hand")
	}
	if err != nil && start {
		return errors.New("systemd does not run this machine, so there is nothing to install a service into; " +
			"run skerry center or skerry agent under your own supervisor, or give --no-start to build an image")
	}
	if m.euid != 0 && !m.dryRun {
		return fmt.Errorf("this needs root: sudo skerry %s (--dry-run shows what it does)", command)
	}
	return nil
}

func (m *machine) path(p string) string { return filepath.Join(m.root, p) }

// step says what is done, and does it.
func (m *machine) step(what string, do func() error) error {
	if !m.quiet || m.dryRun {
		fmt.Fprintln(m.out, what)
	}
	if m.dryRun {
		return nil
	}
	return do()
}

func (m *machine) systemctl(ctx context.Context, args ...string) error {
	return m.step("systemctl "+strings.Join(args, " "), func() error { return m.run(ctx, "systemctl", args...) })
}

// Checks say of the flags of a daemon, by its name, what it would refuse when it starts.
type Checks map[string]func(*cli.Context) error

// Command is `skerry install`.
func Command(usage func(format string, args ...any) error, checks Checks) *cli.Command {
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, change nothing"}
	wait := &cli.BoolFlag{
		Name:  "no-start",
		Usage: "only put everything in place, for the next boot: in an image, systemd need not run",
	}
	set := func() cli.Flag {
		return &cli.GenericFlag{Name: "set", Value: &pairs{}, Usage: "KEY=VALUE for the service's file in " +
			"/etc/skerry, as its flags are called; again, or with commas, for a list"}
	}
	parent := func(required bool) cli.Flag {
		return &cli.StringSliceFlag{Name: "parent", Required: required, Usage: "https://HOST:PORT of the center to join"}
	}
	token := &cli.StringFlag{
		Name:  "token-file",
		Usage: "file with the join token, - reads it from standard input; it is kept readable by root alone",
	}
	name := &cli.StringFlag{Name: "name", Usage: "name of this site at its parent (default: the host's name)"}
	listen := &cli.StringFlag{Name: "listen", Value: "0.0.0.0:7443", Usage: "HOST:PORT of the center"}
	advertise := func() cli.Flag {
		return &cli.StringSliceFlag{Name: "advertise", Usage: "host names and addresses by which sites and users " +
			"reach the center; the first one stands in kubeconfigs and join commands (default: the address of the " +
			"default route)"}
	}
	kubeconfig := &cli.StringFlag{
		Name:  "kubeconfig",
		Value: "/etc/rancher/k3s/k3s.yaml",
		Usage: "of the workload cluster; it is copied, readable by root alone",
	}
	action := func(m mode) cli.ActionFunc {
		return func(c *cli.Context) error {
			r, err := requestOf(c, m)
			var file *fs.PathError
			if errors.As(err, &file) {
				return err
			} else if err != nil {
				return usage("%s", err)
			}
			on := here(c)
			on.checks = checks
			return on.install(c.Context, c.App, r)
		}
	}
	all := &cli.Command{
		Name:  "install",
		Usage: "install this binary as a service of systemd, and start it",
		Subcommands: []*cli.Command{
			{
				Name:   "center",
				Usage:  "a center",
				Flags:  []cli.Flag{listen, advertise(), set(), wait, dry},
				Action: action("center"),
			},
			{
				Name:   "relay",
				Usage:  "a center that joins a parent",
				Flags:  []cli.Flag{listen, advertise(), parent(true), token, name, set(), wait, dry},
				Action: action("center"),
			},
			{
				Name:   "agent",
				Usage:  "an agent beside a workload cluster",
				Flags:  []cli.Flag{parent(true), token, name, kubeconfig, set(), wait, dry},
				Action: action("agent"),
			},
			checkCommand(usage, checks),
			filesCommand(),
			referenceCommand(),
		},
	}
	for _, c := range all.Subcommands {
		if c.Name != "check" {
			c.Flags = append(c.Flags, quietFlag())
		}
	}
	return all
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "do not say each step"}
}

// filesCommand is the hidden `skerry install files DIR`, which make package calls.
func filesCommand() *cli.Command {
	return &cli.Command{Name: "files", Hidden: true, ArgsUsage: "DIR", Action: func(c *cli.Context) error {
		if c.NArg() != 1 {
			return errors.New("skerry install files needs a directory")
		}
		app := c.Lineage()[len(c.Lineage())-2].App
		files, err := Files(app, packageUnits)
		if err != nil {
			return err
		}
		return write(c.Args().First(), files, put)
	}}
}

// referenceCommand is the hidden `skerry install reference`, which make generate calls.
func referenceCommand() *cli.Command {
	return &cli.Command{Name: "reference", Hidden: true, Action: func(c *cli.Context) error {
		app := c.Lineage()[len(c.Lineage())-2].App
		_, err := fmt.Fprint(c.App.Writer, reference.CLI(app))
		return err
	}}
}
