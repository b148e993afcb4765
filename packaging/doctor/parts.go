package doctor

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	agentdoctor "skerry.dev/skerry/agent/doctor"
	"skerry.dev/skerry/packaging/systemd"
	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/backup"
	serverdoctor "skerry.dev/skerry/server/doctor"
	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/machine"
	"skerry.dev/skerry/tunnel/doctor/parent"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/proxy"
)

// machinePlaces are where packages and `skerry install` put things; root is "" but for tests.
type machinePlaces struct{ root string }

func (m *machinePlaces) path(p string) string { return filepath.Join(m.root, p) }

func (m *machinePlaces) exists(p string) bool {
	_, err := os.Lstat(m.path(p))
	return !errors.Is(err, fs.ErrNotExist) // what may not be looked at is there
}

// Where the units have their data.
const (
	centerData     = "/var/lib/skerry"
	agentData      = "/var/lib/skerry-agent"
	credentialsDir = "/etc/skerry/credentials"
)

// credential is the path of a credential of the service: what systemd gave to this process, else
// where an admin has put it for the service, else "".
func (m *machinePlaces) credential(name string) string {
	if path := systemd.Credential(name); path != "" {
		return path
	}
	if p := filepath.Join(credentialsDir, name); m.exists(p) {
		return m.path(p)
	}
	return ""
}

// find returns the parts that a machine has, or with --parent the one that is about to join.
func (d Daemons) find(c *cli.Context, here *machinePlaces) (parts []part, err error) {
	add := func(name string, c *cli.Context, err error) error {
		if err != nil {
			return err
		}
		checks, err := d.checks(c, name, here)
		parts = append(parts, part{name, checks, c})
		return err
	}
	if len(c.StringSlice("parent")) > 0 || c.String("token-file") != "" {
		return parts, add("join", c, nil)
	}
	if c.String("kubeconfig") == "" {
		for _, p := range here.daemons() {
			configured, err := d.configured(c, p, here)
			if err := add(p, configured, err); err != nil {
				return nil, err
			}
		}
	}
	if len(parts) == 0 {
		return parts, add("workstation", c, nil)
	}
	return parts, nil
}

// daemons are the parts that have run on a machine.
func (m *machinePlaces) daemons() (names []string) {
	if m.exists(centerData + "/pki") {
		names = append(names, "center")
	}
	if m.exists(agentData) || m.exists(centerData+"/"+agent.StoreFile) {
		names = append(names, "agent")
	}
	return names
}

// configured is a context with the flags of a part, set by its variables and its file alone.
func (d Daemons) configured(c *cli.Context, name string, here *machinePlaces) (*cli.Context, error) {
	i := slices.IndexFunc(c.Command.Subcommands, func(s *cli.Command) bool { return s.Name == name })
	command := c.Command.Subcommands[i]
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	for _, f := range command.Flags {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	out := cli.NewContext(c.App, set, c)
	out.Command = command
	if file := here.path("/etc/skerry/" + name + ".yaml"); here.root != "" {
		if err := out.Set("config", file); err != nil {
			return nil, err
		}
	}
	return out, commandline.FromFile(out)
}

// checks returns the checks of a part.
func (d Daemons) checks(c *cli.Context, name string, here *machinePlaces) ([]doctor.Check, error) {
	switch name {
	case "center":
		return d.center(c, here)
	case "workstation":
		return serverdoctor.Workstation(serverdoctor.WorkstationConfig{
			Kubeconfig: workstationFile(c, here), Version: d.Version}), nil
	}
	site, err := d.site(c, here)
	if err != nil {
		return nil, err
	}
	if name == "join" {
		site.NoTarget, site.Joining = c.String("kubeconfig") == "", c.String("token-file") != ""
		return agentdoctor.Site(site), nil
	}
	checks := agentdoctor.Site(site)
	return append(checks, machine.Service(site.Unit, site.Units, doctor.Names(checks))), nil
}

// workstationFile is the kubeconfig of a center: what kubectl would use, else that of the center on
// this machine.
func workstationFile(c *cli.Context, here *machinePlaces) string {
	if path := c.String("kubeconfig"); path != "" || os.Getenv("KUBECONFIG") != "" {
		return path
	}
	if here.exists(admin.DefaultKubeconfig) {
		return here.path(admin.DefaultKubeconfig)
	}
	return ""
}

const (
	centerUnit = "skerry-center.service"
	agentUnit  = "skerry-agent.service"
)

func (d Daemons) center(c *cli.Context, here *machinePlaces) ([]doctor.Check, error) {
	dir := here.centerDir(c)
	scheduled, err := backups(c)
	if err != nil {
		return nil, err
	}
	checks := serverdoctor.Center(serverdoctor.CenterConfig{DataDir: dir, Listen: c.String("listen"),
		Advertise: c.StringSlice("advertise"), MetricsListen: c.String("metrics-listen"), Backups: scheduled,
		Datastore: c.String(admin.DatastoreFlag), DatastoreFiles: admin.DatastoreFiles(c), Keys: d.Keys,
		Encryption: d.encryption(c, here, dir), Version: d.Version,
		Machine: machine.Config{Private: []string{here.path(credentialsDir), c.String(admin.DatastoreSecretFlag)}}})
	if len(c.StringSlice("parent")) > 0 {
		relay, err := d.site(c, here)
		if err != nil {
			return nil, err
		}
		relay.DataDir, relay.Relay = filepath.Join(dir, "uplink"), true
		checks = append(checks, agentdoctor.Site(relay)...)
	}
	return append(checks, machine.Service(centerUnit, machine.Systemd{}, doctor.Names(checks))), nil
}

// encryption looks at the keys that encrypt a center's Secrets. nil is that systemd has them where
// this process cannot read them.
func (d Daemons) encryption(c *cli.Context, here *machinePlaces, dir string) func(context.Context) (bool, error) {
	key := cmp.Or(c.String("encryption-key-file"), here.credential(encryptionCredential))
	if key == "" && (machine.Systemd{}).HasCredential(c.Context, centerUnit, encryptionCredential) {
		return nil
	}
	return func(ctx context.Context) (bool, error) {
		return d.Encryption(ctx, dir, key, c.String("encryption-provider-config"))
	}
}

// encryptionCredential is the credential of the service with the keys that encrypt Secrets.
const encryptionCredential = "skerry_encryption-key"

// backups are those that a center's flags ask for. Their credentials are not needed.
func backups(c *cli.Context) (b serverdoctor.Backups, err error) {
	plan, err := backup.PlanOf(c, "", commandline.Usage)
	if err != nil {
		return b, err
	}
	return serverdoctor.Backups{To: c.String(backup.ToFlag), Due: plan.Schedule.Due}, nil
}

// site is the configuration of an agent, as skerry agent reads it.
func (d Daemons) site(c *cli.Context, here *machinePlaces) (cfg agentdoctor.Config, err error) {
	way, err := proxy.New(proxy.Config{URL: c.String("proxy"), File: c.String("proxy-file")})
	if err != nil {
		return cfg, commandline.Usage("%s", err)
	}
	labels, err := commandline.Labels(c)
	if err != nil {
		return cfg, err
	}
	tokenFile := c.String("token-file")
	if tokenFile == "" {
		tokenFile = here.credential("token")
	}
	token, tokenErr := c.String("token"), error(nil)
	if token == "" && tokenFile != "" {
		token, tokenErr = enroll.ReadToken(tokenFile, os.Stdin)
	} else if token != "" {
		_, tokenErr = enroll.ParseToken(token)
	}
	cfg = agentdoctor.Config{DataDir: agentDir(c, here), SpacesNamespace: c.String("spaces-namespace"),
		Impersonate:   !has(c, "impersonate") || c.Bool("impersonate"),
		MetricsListen: c.String("metrics-listen"), Unit: agentUnit, Units: machine.Systemd{},
		Parent: parent.Config{Parents: c.StringSlice("parent"), Proxy: way, Token: token, TokenErr: tokenErr,
			Name: cmp.Or(c.String("name"), hostName()), Labels: labels, Version: d.Version},
		Machine: machine.Config{Private: []string{here.path(credentialsDir), tokenFile, c.String("proxy-file")}}}
	cfg.Target, cfg.TargetErr = agent.Cluster(cmp.Or(c.String("kubeconfig"), here.credential("kubeconfig")))
	return cfg, nil
}

// has reports whether a command has a flag.
func has(c *cli.Context, name string) bool {
	return slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == name })
}

// centerDir is the data directory of a center.
func (m *machinePlaces) centerDir(c *cli.Context) string {
	if c.IsSet("data-dir") {
		return c.String("data-dir")
	}
	return m.path(c.String("data-dir"))
}

// agentDir is the data directory of an agent: the one that it is told, else the unit's.
func agentDir(c *cli.Context, here *machinePlaces) string {
	if c.IsSet("data-dir") || here.root == "" && !here.exists(agentData) && has(c, "data-dir") {
		return c.String("data-dir")
	}
	return here.path(agentData)
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return name
}
