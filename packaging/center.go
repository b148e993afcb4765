//go:build !agentonly

package packaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/packaging/systemd"
	"skerry.dev/skerry/packaging/tracing"
	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/lease"
)

func certificateLife() cli.Flag {
	f := commandline.DurationFlag(server.DefaultCertificateLife,
		commandline.Bounds{Least: shortestCertificate, Most: pki.AuthorityLife}, "how long agents' certificates live; "+
			"they renew them at two thirds, and one that has expired may still be renewed", "certificate-life")
	f.EnvVars = env("certificate-life")
	return f
}

func centerCommand() *cli.Command {
	return &cli.Command{
		Name: "center", Usage: "run a center; with --parent, a relay", Before: commandline.FromFile,
		Flags: append(slices.Concat(daemonFlags("center"), admin.ReplicaFlags(), server.WebhookFlags(commandline.Usage),
			server.EncryptionFlags(), server.AuditFlags(), server.BackupFlags(),
			server.IngressFlags(commandline.Usage),
			[]cli.Flag{server.NewSpacesDomainFlag(commandline.Usage), server.NewMoverImageFlag()}),
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
			if err := checkCenter(c); err != nil {
				return err
			}
			plan, err := server.BackupOf(c, commandline.Usage)
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
				MoverImage:               c.String(server.MoverImageFlag),
				SpacesDomain:             c.String(server.SpacesDomainFlag), WebhookAllow: c.StringSlice(server.WebhookAllowFlag),
				WebhookDeny: c.StringSlice(server.WebhookDenyFlag), Backup: plan, Version: version, Revision: commit,
				Ingress: server.IngressOf(c), Log: log}
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
			child.Intended, child.Subtree, child.Children, child.Upward = s.Intend, s.Subtree, s.Children(), parent
			child.SubtreeOffer = s.SubtreeOffer
			child.Center, child.Above = s.Incarnation(), s.Above
			child.Lease, child.LeasesBelow = cfg.ParentLease, s.LeasesBelow
			child.MetricsListen, child.Metrics = "", s.Metrics() // the center's listener shows both halves
			child.Tracer = traces.Tracer()
			return runCenter(c.Context, s, log, &child)
		},
		Subcommands: append(server.BackupCommands(version, commandline.Usage), admin.RotateEncryptionKeyCommand()),
	}
}

// checkCenter refuses flags of a center, or of a relay, that it cannot run with, before it has written anything.
func checkCenter(c *cli.Context) error {
	if err := commandline.HostPort("--listen", c.String("listen")); err != nil {
		return err
	}
	if err := commandline.HostNames("--advertise", c.StringSlice("advertise")); err != nil {
		return err
	}
	if len(c.StringSlice("parent")) > 0 {
		return checkAgent(c)
	}
	if c.String("token") != "" || c.String("token-file") != "" {
		return commandline.Usage("--token and --token-file join a parent: give --parent, https://HOST:PORT, for a relay; " +
			"a center by itself needs no token")
	}
	return nil
}

// shortestCertificate is the shortest life of an agent's certificate: it has to outlast the way to
// the agent and its next session. None outlives the authority that signs it.
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
