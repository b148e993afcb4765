package packaging

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/agent/upgrade"
	"skerry.dev/skerry/packaging/systemd"
	"skerry.dev/skerry/packaging/tracing"
	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/proxy"
)

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
		Name: "agent", Usage: "join a workload cluster to a center and keep it in sync", Before: commandline.FromFile,
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
		Subcommands: []*cli.Command{agent.CheckCommand(commandline.Usage),
			agent.RBACCommand(commandline.Usage, own(), commandline.FromFile),
			agent.PolicyCommand(commandline.Usage, own(), commandline.FromFile), upgrade.Command()},
	}
}

// checkAgent refuses flags by which nobody can join a parent, before anything is written.
func checkAgent(c *cli.Context) error {
	_, err := joinConfig(c)
	return err
}

// agentConfig is joinConfig with the join token and the logger.
func agentConfig(c *cli.Context, log *slog.Logger) (agent.Config, error) {
	cfg, err := joinConfig(c)
	if err != nil {
		return agent.Config{}, err
	}
	cfg.Log = log
	cfg.Token, err = agent.TokenOf(c, systemd.Credential("token"), commandline.Usage)
	return cfg, err
}

// joinConfig is what flags say of an agent, or of the half of a relay that joins a parent.
func joinConfig(c *cli.Context) (agent.Config, error) {
	if len(c.StringSlice("parent")) == 0 {
		return agent.Config{}, commandline.Usage("--parent is required: the address of the center, https://HOST:PORT; see: "+
			"%s --help", c.Command.HelpName)
	}
	for _, address := range c.StringSlice("parent") {
		if err := commandline.CenterURL("--parent", address); err != nil {
			return agent.Config{}, err
		}
	}
	name, err := agent.SiteNameOf(c)
	if err != nil {
		return agent.Config{}, err
	}
	way, err := proxy.New(proxy.Config{URL: c.String("proxy"), File: c.String("proxy-file")})
	if err != nil {
		return agent.Config{}, commandline.Usage("%s", err)
	}
	l, err := commandline.Labels(c)
	if share := c.Int("max-delete-share"); err == nil && (share < 1 || share > 100) {
		err = commandline.Usage("--max-delete-share %d: give a percentage, 1 to 100", share)
	}
	allow, wrong := agent.AllowOf(c, commandline.Usage)
	spaces, invalid := agent.SpacesNamespaceOf(c, commandline.Usage)
	pods, unreachable := agent.GatewayAddressOf(c, commandline.Usage)
	return agent.Config{Allow: allow, Leasing: agent.Leasing{RefuseStop: !c.Bool("allow-scale-to-zero")},
		Impersonate: c.Bool("impersonate"), SpacesNamespace: spaces,
		GatewayAddress: pods, DataDir: c.String("data-dir"), Parents: c.StringSlice("parent"), Proxy: way,
		Name:   name,
		Labels: l, MaxDeleteShare: c.Int("max-delete-share"), MetricsListen: c.String("metrics-listen"),
		Version: version, Revision: commit}, errors.Join(err, wrong, invalid, unreachable)
}
