// Command skerry is the one binary of Skerry: a center that serves a kube API with many spaces, an
// agent beside a workload cluster, a relay (a center with a parent), and the admin's command line.
// main.go only turns flags into configurations, bridges logs, handles signals and picks the exit
// code.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/packaging/doctor"
	"skerry.dev/skerry/packaging/install"
	"skerry.dev/skerry/packaging/systemd"
	"skerry.dev/skerry/packaging/tracing"
	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/server/librarylog"
	tunneldoctor "skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/lease"
	"skerry.dev/skerry/tunnel/proxy"
)

// Set by the linker, see the Makefile.
var (
	version = "unknown"
	commit  = "unknown"
)

// Exit codes, documented in packaging/docs/reference/exit-codes.md.
const (
	exitError   = 1
	exitUsage   = 2
	exitRefused = 3 // the parent refused this agent, or the agent its parent: token, CA, clock
	exitUnsound = 4 // skerry doctor, agent check or status --problems has found something wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	librarylog.Silence()
	a := app()
	args := admin.FlagsFirst(a, install.ForKubectl(os.Args))
	err := admin.CheckArguments(a, args)
	if err == nil {
		err = a.RunContext(ctx, args)
	}
	if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return
	}
	fmt.Fprintln(os.Stderr, "skerry:", admin.Message(err))
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, admin.ErrUsage):
		return exitUsage
	case errors.Is(err, agent.ErrRefused):
		return exitRefused
	case errors.Is(err, agent.ErrUnsound), errors.Is(err, admin.ErrProblems),
		errors.Is(err, tunneldoctor.ErrFaults):
		return exitUnsound
	default:
		return exitError
	}
}

func app() *cli.App {
	a := &cli.App{
		Name:           "skerry",
		Usage:          "many Kubernetes clusters, one kube API",
		Version:        version,
		Suggest:        true,
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{centerCommand(), agentCommand(), server.TokenCommand(),
			admin.SpaceCommand(), admin.LoginCommand(), credential.Command(admin.Usage),
			admin.TargetCommand(), admin.RebalanceCommand(), admin.CACommand(), admin.StatusCommand(),
			admin.ExplainCommand(), admin.RenderCommand(), admin.RolloutCommand(),
			install.Command(admin.Usage), install.UninstallCommand(), install.CompletionCommand(),
			install.CompleteCommand(server.Names), doctor.Command(daemons()), doctor.BundleCommand(daemons()),
			versionCommand()},
	}
	cli.VersionPrinter = func(c *cli.Context) { _ = admin.PrintVersion(c.App.Writer, "", version, commit) }
	if filepath.Base(os.Args[0]) == "kubectl-skerry" {
		a.Name = "kubectl skerry"
	}
	admin.UsageErrors(a)
	return a
}

// daemons are what `skerry doctor` looks at.
func daemons() doctor.Daemons {
	return doctor.Daemons{Center: centerCommand().Flags, Agent: agentCommand().Flags, Keys: server.CheckKeys,
		Encryption: server.CheckEncryption, Version: version}
}

func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Usage: "print the version", Flags: []cli.Flag{admin.DataFlag()},
		Action: func(c *cli.Context) error {
			return admin.PrintVersion(c.App.Writer, c.String("output"), version, commit)
		}}
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

func certificateLife() cli.Flag {
	f := admin.DurationFlag(server.DefaultCertificateLife, "how long agents' certificates live; they renew them at two "+
		"thirds, and one that has expired may still be renewed", "certificate-life")
	f.EnvVars = env("certificate-life")
	return f
}

func centerCommand() *cli.Command {
	return &cli.Command{
		Name: "center", Usage: "run a center; with --parent, a relay", Before: admin.FromFile,
		Flags: append(slices.Concat(daemonFlags("center"), admin.ReplicaFlags(), server.WebhookFlags(admin.Usage),
			server.EncryptionFlags(), server.AuditFlags(), server.BackupFlags(),
			[]cli.Flag{server.NewSpacesDomainFlag(admin.Usage)}),
			text("listen", "127.0.0.1:7443", "HOST:PORT, TCP for the kube API and UDP for agents"),
			certificateLife(),
			text("authentication-config", "", "file with a Kubernetes AuthenticationConfiguration: OIDC providers of "+
				"people; empty means none"),
			&cli.StringSliceFlag{Name: "advertise", Usage: "further host names and addresses that the center " +
				"is reached by; the first one stands in kubeconfigs and join commands; one that is left out later " +
				"stays in the certificate until skerry ca forget", EnvVars: env("advertise")}),
		Action: func(c *cli.Context) error {
			log, err := logger(c)
			if err != nil {
				return err
			}
			traces, err := tracing.FromFlags(c, "skerry-center", version, log)
			if err != nil {
				return err
			}
			defer traces.Close()
			if err := admin.HostPort("--listen", c.String("listen")); err != nil {
				return err
			}
			if err := admin.HostNames("--advertise", c.StringSlice("advertise")); err != nil {
				return err
			}
			if c.Duration("certificate-life") < shortestCertificate {
				return admin.Usage("--certificate-life %s: at least %s", c.Duration("certificate-life"), shortestCertificate)
			}
			plan, err := server.BackupOf(c, admin.Usage)
			if err != nil {
				return err
			}
			var parent *agent.Upward // of a relay
			cfg := server.Config{DataDir: c.String("data-dir"), Datastore: c.String(admin.DatastoreFlag),
				DatastoreFiles: admin.DatastoreFiles(c), SecretFile: c.String(admin.DatastoreSecretFlag),
				ReplicaAddress: c.String(admin.ReplicaAddressFlag),
				Listen:         c.String("listen"), Advertise: c.StringSlice("advertise"),
				CertificateLife: c.Duration("certificate-life"), MetricsListen: c.String("metrics-listen"),
				AuthenticationConfig: c.String("authentication-config"), Audit: server.AuditOf(c),
				EncryptionKeyFile:        c.String(server.EncryptionKeyFlag),
				EncryptionProviderConfig: c.String(server.EncryptionConfigFlag),
				SpacesDomain:             c.String(server.SpacesDomainFlag), WebhookAllow: c.StringSlice(server.WebhookAllowFlag),
				WebhookDeny: c.StringSlice(server.WebhookDenyFlag), Backup: plan, Version: version, Revision: commit,
				Log: log}
			cfg.Tracer = traces.Tracer()
			if len(c.StringSlice("parent")) > 0 {
				parent = agent.NewUpward()
				cfg.Parent, cfg.ParentLease = parent, &lease.Published{}
			}
			s, err := server.New(cfg)
			if err != nil {
				return err
			}
			if parent == nil {
				return runCenter(c.Context, s, log, nil)
			}
			child, err := agentConfig(c, log)
			if err != nil {
				return err
			}
			child.DataDir, child.Relay, child.Target = filepath.Join(child.DataDir, "uplink"), true, agent.Relay(s)
			if c.String("audit-log-path") == server.NoAuditLog {
				child.AuditLog = agent.NoAuditLog
			}
			child.Intended, child.Subtree, child.Children, child.Upward = s.Intend, s.Subtree, s, parent
			child.SubtreeOffer = s.SubtreeOffer
			child.Center, child.Above = s.Incarnation(), s.Above
			child.Lease, child.LeasesBelow = cfg.ParentLease, s.LeasesBelow
			child.MetricsListen, child.Metrics = "", s.Metrics() // the center's listener shows both halves
			child.Tracer = traces.Tracer()
			return runCenter(c.Context, s, log, &child)
		},
		Subcommands: append(server.BackupCommands(version, admin.Usage), admin.RotateEncryptionKeyCommand()),
	}
}

// shortestCertificate is the shortest life of an agent's certificate: it has to outlast the way to
// the agent and its next session.
const shortestCertificate = 10 * time.Second

// centerGC is the garbage collector's target of a center: its live heap is watch caches that seldom
// change, so collecting a little more often costs little and keeps the process small.
const centerGC = 50

// runCenter runs a center and, when it is a relay, the agent that joins it to its parent. The first
// that ends ends the other.
func runCenter(ctx context.Context, s *server.Server, log *slog.Logger, child *agent.Config) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(centerGC)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 2)
	running := 1
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		fmt.Printf("skerry center ready: %s (admin kubeconfig %s)\n", s.URL(), s.AdminKubeconfig())
		manager := systemd.New(log, "serving "+s.URL())
		defer context.AfterFunc(ctx, manager.Stopping)()
		supervised := make(chan struct{})
		defer func() { cancel(nil); <-supervised }()
		go func() { defer close(supervised); manager.Supervise(ctx, s.Alive) }()
		if child != nil {
			running++
			go func() { ended <- agent.Run(ctx, *child) }()
		}
	case err := <-ended:
		return err
	}
	err := <-ended
	cancel(err)
	for range running - 1 {
		if other := <-ended; !errors.Is(other, err) { // the first one is why the other ended
			err = errors.Join(err, other)
		}
	}
	log.Info("stopped")
	return err
}

func agentCommand() *cli.Command {
	own := func() []cli.Flag {
		return append(daemonFlags("agent"), text("audit-log-path", "",
			"file that says what was written to the workload cluster, one JSON line a write; none turns it off; empty "+
				"means audit.log in the data directory"),
			text("kubeconfig", "", "of the workload cluster; empty means in-cluster"),
			&cli.BoolFlag{Name: "force", EnvVars: env("force"), Usage: "join although the center knows this cluster as " +
				"another site: where it is a copy of that one's"})
	}
	return &cli.Command{
		Name: "agent", Usage: "join a workload cluster to a center and keep it in sync", Before: admin.FromFile,
		Flags: append(own(), agent.AllowFlags()...),
		Action: func(c *cli.Context) error {
			log, err := logger(c)
			if err != nil {
				return err
			}
			traces, err := tracing.FromFlags(c, "skerry-agent", version, log)
			if err != nil {
				return err
			}
			defer traces.Close()
			cfg, err := agentConfig(c, log)
			if err != nil {
				return err
			}
			cfg.Tracer = traces.Tracer()
			cfg.AuditLog = c.String("audit-log-path")
			if cfg.Target, err = agent.Cluster(cmp.Or(c.String("kubeconfig"), systemd.Credential("kubeconfig"))); err != nil {
				return err
			}
			cfg.Force = c.Bool("force")
			manager := systemd.New(log, "keeping the cluster in sync with "+strings.Join(cfg.Parents, ", "))
			defer context.AfterFunc(c.Context, manager.Stopping)()
			cfg.Supervisor = manager
			return agent.Run(c.Context, cfg)
		},
		Subcommands: []*cli.Command{agent.CheckCommand(admin.Usage), agent.RBACCommand(admin.Usage, own(), admin.FromFile),
			agent.PolicyCommand(admin.Usage, own(), admin.FromFile)},
	}
}

func agentConfig(c *cli.Context, log *slog.Logger) (agent.Config, error) {
	if len(c.StringSlice("parent")) == 0 {
		return agent.Config{}, admin.Usage("--parent is required: the address of the center, https://HOST:PORT; see: "+
			"%s --help", c.Command.HelpName)
	}
	for _, address := range c.StringSlice("parent") {
		if err := admin.CenterURL("--parent", address); err != nil {
			return agent.Config{}, err
		}
	}
	name, err := agent.SiteNameOf(c)
	if err != nil {
		return agent.Config{}, err
	}
	way, err := proxy.New(proxy.Config{URL: c.String("proxy"), File: c.String("proxy-file")})
	if err != nil {
		return agent.Config{}, admin.Usage("%s", err)
	}
	token, err := agent.TokenOf(c, systemd.Credential("token"), admin.Usage)
	if err != nil {
		return agent.Config{}, err
	}
	l, err := admin.Labels(c)
	if share := c.Int("max-delete-share"); err == nil && (share < 1 || share > 100) {
		err = admin.Usage("--max-delete-share %d: give a percentage, 1 to 100", share)
	}
	allow, wrong := agent.AllowOf(c, admin.Usage)
	spaces, invalid := agent.SpacesNamespaceOf(c, admin.Usage)
	pods, unreachable := agent.GatewayAddressOf(c, admin.Usage)
	return agent.Config{Allow: allow, Leasing: agent.Leasing{RefuseStop: !c.Bool("allow-scale-to-zero")},
		Impersonate: c.Bool("impersonate"), SpacesNamespace: spaces,
		GatewayAddress: pods, DataDir: c.String("data-dir"), Parents: c.StringSlice("parent"), Proxy: way, Token: token,
		Name:   name,
		Labels: l, MaxDeleteShare: c.Int("max-delete-share"), MetricsListen: c.String("metrics-listen"),
		Version: version, Revision: commit, Log: log}, errors.Join(err, wrong, invalid, unreachable)
}

// logger makes the process's logger and hands the libraries' own loggers over to it, which tell only
// what is worth a warning.
func logger(c *cli.Context) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return nil, admin.Usage("--log-level %q: use debug, info, warn or error", c.String("log-level"))
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch c.String("log-format") {
	case "text":
		handler = slog.NewTextHandler(os.Stderr, options)
	case "json":
		handler = slog.NewJSONHandler(os.Stderr, options)
	default:
		return nil, admin.Usage("--log-format %q: use text or json", c.String("log-format"))
	}
	log := slog.New(handler)
	librarylog.TakeOver(c.Context, handler, max(level, slog.LevelWarn))
	return log, nil
}
