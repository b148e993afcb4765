// Package packaging is the command line of Skerry: it turns flags into configurations, bridges logs,
// handles signals and picks the exit code.
//
// It is built in two ways. The one binary has all commands: a center, an agent, a relay (a center with
// a parent), and those of people. With the build tag agentonly it has the agent alone, in a quarter of
// the bytes, for devices that count them.
package packaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/packaging/tracing"
	"skerry.dev/skerry/server/librarylog"
	"skerry.dev/skerry/tunnel/commandline"
	tunneldoctor "skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/output"
)

// What Main is told.
var version, commit = "unknown", "unknown"

// Exit codes, documented in packaging/docs/reference/exit-codes.md.
const (
	exitError   = 1
	exitUsage   = 2
	exitRefused = 3 // the parent refused this agent, or the agent its parent: token, CA, clock
	exitUnsound = 4 // skerry doctor, agent check or status --problems has found something wrong
)

// Main runs the command that the process was called with, and exits with an error's code. The version
// and the commit are those that the linker has set.
func Main(itsVersion, itsCommit string) {
	version, commit = itsVersion, itsCommit
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	librarylog.Silence()
	a := app()
	args := commandline.FlagsFirst(a, called(os.Args))
	err := commandline.CheckArguments(a, args)
	if err == nil {
		err = a.RunContext(ctx, args)
	}
	if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return
	}
	fmt.Fprintln(os.Stderr, "skerry:", message(err))
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, commandline.ErrUsage):
		return exitUsage
	case errors.Is(err, agent.ErrRefused):
		return exitRefused
	case errors.Is(err, agent.ErrUnsound), errors.Is(err, tunneldoctor.ErrFaults), unsound(err):
		return exitUnsound
	default:
		return exitError
	}
}

func app() *cli.App {
	a := &cli.App{
		Name:           name(),
		Usage:          "many Kubernetes clusters, one kube API",
		Version:        version,
		Suggest:        true,
		ExitErrHandler: func(*cli.Context, error) {},
		Commands:       append(commands(), versionCommand()),
	}
	cli.VersionPrinter = func(c *cli.Context) { _ = printVersion(c, "") }
	commandline.UsageErrors(a)
	return a
}

func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Usage: "print the version",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: versionFormats}},
		Action: func(c *cli.Context) error { return printVersion(c, c.String("output")) }}
}

const versionFormats = "json or yaml"

// printVersion prints the version of the program, and of what it was built.
func printVersion(c *cli.Context, format string) error {
	if format == "" {
		_, err := fmt.Fprintf(c.App.Writer, "skerry %s (commit %s)\n", version, commit)
		return err
	}
	printed, err := output.Print(c.App.Writer, format, map[string]string{"version": version, "commit": commit})
	if !printed {
		return commandline.Usage("-o %q: use %s", format, versionFormats)
	}
	return err
}

// env is the environment variable of a flag: SKERRY_ and the flag's name in capitals.
func env(flag string) []string {
	return []string{"SKERRY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
}

func text(name, value, usage string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Value: value, Usage: usage, EnvVars: env(name)}
}

// daemonFlags are the flags of center and agent alike.
func daemonFlags(mode string) []cli.Flag {
	return []cli.Flag{
		text("config", "/etc/skerry/"+mode+".yaml", "file with the same keys as these flags; a flag or variable wins"),
		text("data-dir", "/var/lib/skerry", "directory for everything that must survive a restart"),
		&cli.StringSliceFlag{Name: "parent", EnvVars: env("parent"), Usage: "https://HOST:PORT of the parent center; " +
			"given several times, or " +
			"with commas, addresses of the same center that are tried in turn"},
		text("proxy", "", "http://USER:PASSWORD@HOST:PORT of a proxy on the way to the parent; direct means none; empty "+
			"means what HTTPS_PROXY and NO_PROXY say"),
		text("proxy-file", "", "file that holds the value of --proxy, so that no password stands in a command line"),
		text("token-file", "", "file with the join token, needed the first time only; - reads it from standard input"),
		text("token", "", "the join token itself, which everybody on this machine sees in the list of processes: prefer "+
			"--token-file"),
		text("name", "", "name of this site at its parent (default: the host's name)"),
		&cli.StringSliceFlag{Name: "labels", Usage: "k=v labels for this site at its parent, set when it joins",
			EnvVars: env("labels")},
		&cli.IntFlag{Name: "max-delete-share", Value: 30, EnvVars: env("max-delete-share"),
			Usage: "percent of this site's objects that its parent may have deleted " +
				"within 10 seconds before an admin confirms it there (skerry target accept); 100 holds nothing"},
		text("metrics-listen", "", "HOST:PORT for Prometheus metrics over plain HTTP, such as 127.0.0.1:7444; "+
			"empty means off"),
		tracing.Flag(),
		text("log-level", "info", "debug, info, warn or error"),
		text("log-format", "text", "text or json"),
	}
}

// logger makes the process's logger and hands the libraries' own loggers over to it, which tell only
// what is worth a warning.
func logger(c *cli.Context) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return nil, commandline.Usage("--log-level %q: use debug, info, warn or error", c.String("log-level"))
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch c.String("log-format") {
	case "text":
		handler = slog.NewTextHandler(os.Stderr, options)
	case "json":
		handler = slog.NewJSONHandler(os.Stderr, options)
	default:
		return nil, commandline.Usage("--log-format %q: use text or json", c.String("log-format"))
	}
	log := slog.New(handler)
	librarylog.TakeOver(c.Context, handler, max(level, slog.LevelWarn))
	return log, nil
}
