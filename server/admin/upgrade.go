package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// noVersion is the word of --to that takes a wish back.
const noVersion = "none"

// upgradeCommand is `skerry target upgrade`.
func upgradeCommand() *cli.Command {
	return &cli.Command{
		Name:      "upgrade",
		Usage:     "wish a version of the agent of sites; their owners say whether that is installed, and from where",
		ArgsUsage: "NAME...",
		Flags: ClientFlags(
			DataFlag(),
			SelectorFlag(),
			&cli.BoolFlag{Name: "all", Usage: "all sites"},
			&cli.StringFlag{Name: "to", Required: true, Usage: "version, as package managers name it; none takes the wish back"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show which sites that would be"},
			WaitFlag(0, "how long to wait until the sites have it; 0 does not wait"),
			QuietFlag(),
		),
		Action: func(c *cli.Context) error {
			o := UpgradeOptions{Kubeconfig: c.String("kubeconfig"), Names: c.Args().Slice(), Selector: c.String("selector"),
				To: c.String("to"), DryRun: c.Bool("dry-run"), Wait: c.Duration("wait"), Output: c.String("output"),
				Progress: NewProgress(c), Out: c.App.Writer}
			said := 0
			for _, is := range []bool{len(o.Names) > 0, o.Selector != "", c.Bool("all")} {
				if is {
					said++
				}
			}
			if said != 1 {
				return Usage("name the sites, or give --selector or --all; see: %s --help", c.Command.HelpName)
			}
			return UpgradeTargets(c.Context, o)
		},
	}
}

// UpgradeOptions say which sites are to have which version.
type UpgradeOptions struct {
	Kubeconfig string
	Names      []string
	Selector   string // with neither it is all sites
	To         string // "none" for no wish
	DryRun     bool
	Wait       time.Duration
	Output     string // "", json or yaml
	Progress   *Progress
	Out        io.Writer
}

// upgradedTarget is a site as -o json and yaml print it.
type upgradedTarget struct {
	Name string `json:"name"`
	// Version is that of its agent, Wished the one that it is to have.
	Version string `json:"version"`
	Wished  string `json:"wished,omitempty"`
	// Left is why the site is left alone.
	Left string `json:"left,omitempty"`
	// Done: its agent has the version. Failed and Message are what the site says of it otherwise.
	Done    bool   `json:"done"`
	Failed  bool   `json:"failed,omitempty"`
	Message string `json:"message,omitempty"`
}

// errNotUpgraded is returned when sites do not have the version that they are to have.
var errNotUpgraded = errors.New("not all sites have the version")

// UpgradeTargets wishes a version of the agents of sites, and waits until they have it.
func UpgradeTargets(ctx context.Context, o UpgradeOptions) error {
	if err := checkDataOutput(o.Output); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	u := upgrade{o, c, nil}
	if err := u.find(ctx); err != nil {
		return err
	}
	for i := range u.sites {
		if err := u.wish(ctx, &u.sites[i]); err != nil {
			return err
		}
		o.Progress.Count("wishing", i+1, len(u.sites))
	}
	if o.Wait > 0 && !o.DryRun && o.To != noVersion {
		err = u.await(ctx)
	}
	o.Progress.Done()
	if o.Output != "" {
		return errors.Join(err, printData(o.Out, o.Output, u.sites, nil))
	}
	for i := range u.sites {
		fmt.Fprintln(o.Out, fleet.OneLine(u.sites[i].text(o)))
	}
	return err
}

// upgrade is one run of the command.
type upgrade struct {
	UpgradeOptions
	center *center
	sites  []upgradedTarget
}

// find finds the sites that are meant, in the order of their names.
func (u *upgrade) find(ctx context.Context) error {
	sites, _, err := u.center.sites(ctx, selection{labels: u.Selector})
	if err != nil {
		return err
	}
	missing := slices.Clone(u.Names)
	for i := range sites {
		t := &sites[i]
		if len(u.Names) > 0 && !slices.Contains(u.Names, t.Name) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == t.Name })
		is := upgradedTarget{Name: t.Name}
		is.see(t)
		if t.Status.Relay {
			is.Left = "it is a relay: upgrade the package on its machine"
		}
		u.sites = append(u.sites, is)
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("there is no site %q; see them with: skerry status", missing[0])
	case len(u.sites) == 0:
		return errors.New("no site is meant; see them with: skerry target list")
	}
	slices.SortFunc(u.sites, func(a, b upgradedTarget) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// see takes over what a site says of its version.
func (u *upgradedTarget) see(t *v1alpha1.SyncTarget) {
	u.Version, u.Wished = t.Status.AgentVersion, t.Spec.AgentVersion
	u.Done, u.Failed, u.Message = u.Wished != "" && u.Version == u.Wished, false, ""
	said := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionVersionAsWished)
	if said != nil && !u.Done && strings.HasPrefix(said.Message, tunnel.Wished(u.Wished)) {
		u.Failed, u.Message = said.Reason == tunnel.VersionFailed, said.Message
	}
}

// wish writes the wish for one site, where it is another one.
func (u *upgrade) wish(ctx context.Context, site *upgradedTarget) error {
	var version any // none removes the field
	if u.To != noVersion {
		version = u.To
	}
	if site.Left != "" || site.Wished == u.To || version == nil && site.Wished == "" {
		return nil
	}
	change := func(*unstructured.Unstructured) (map[string]any, string, error) {
		return map[string]any{"spec": map[string]any{"agentVersion": version}}, "", nil
	}
	made, _, err := u.center.changeTarget(ctx, site.Name, u.DryRun, change)
	if err != nil {
		return fmt.Errorf("wish version %s for site %s: %w", u.To, site.Name, err)
	}
	var t v1alpha1.SyncTarget
	if err := siteOf(made, &t); err != nil {
		return err
	}
	site.see(&t)
	return nil
}

// upgradeLook is how often it is looked how far the sites are.
const upgradeLook = time.Second

// await waits until all sites have their version, or all others have failed.
func (u *upgrade) await(ctx context.Context) error {
	late := time.NewTimer(u.Wait)
	defer late.Stop()
	for {
		done, open, err := u.look(ctx)
		if err != nil {
			return err
		}
		u.Progress.Count("upgraded", done, len(u.sites))
		if open == 0 {
			if slices.ContainsFunc(u.sites, func(site upgradedTarget) bool { return site.Failed }) {
				return errNotUpgraded
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("%w after %s: %d still have to follow; see: skerry status", errNotUpgraded, u.Wait, open)
		case <-time.After(upgradeLook):
		}
	}
}

// look takes over how far the sites are: how many have their version, and how many may still get it.
func (u *upgrade) look(ctx context.Context) (done, open int, err error) {
	list, _, err := u.center.sites(ctx, selection{labels: u.Selector})
	if err != nil {
		return 0, 0, err
	}
	now := map[string]*v1alpha1.SyncTarget{}
	for i := range list {
		now[list[i].Name] = &list[i]
	}
	for i := range u.sites {
		site := &u.sites[i]
		t, is := now[site.Name]
		if site.Left != "" || !is {
			continue
		}
		if site.see(t); site.Done {
			done++
		} else if !site.Failed {
			open++
		}
	}
	return done, open, nil
}

// text is a site in a line.
func (u *upgradedTarget) text(o UpgradeOptions) string {
	dry := ""
	if o.DryRun {
		dry = " (dry run)"
	}
	switch {
	case u.Left != "":
		return u.Name + ": left alone, since " + u.Left
	case u.Done:
		return u.Name + ": has " + u.Version
	case o.To == noVersion:
		return u.Name + ": stays at " + u.Version + dry
	case u.Message != "" && o.Wait > 0:
		return u.Name + ": " + u.Message
	}
	return fmt.Sprintf("%s: %s, and %s is wished%s", u.Name, orElse(u.Version, "an unknown version"), o.To, dry)
}
