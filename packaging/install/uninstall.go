package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// UninstallCommand is `skerry uninstall`.
func UninstallCommand() *cli.Command {
	return &cli.Command{
		Name: "uninstall", Usage: "stop the services and remove the program; data and configuration stay, but for --purge",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "purge", Usage: "delete data, keys and configuration too: a center's spaces are gone for good"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, change nothing"},
			quietFlag(),
		},
		Action: func(c *cli.Context) error { return here(c).uninstall(c.Context, c.App, c.Bool("purge")) },
	}
}

func (m *machine) uninstall(ctx context.Context, app *cli.App, purge bool) error {
	if err := m.ready("uninstall", true); err != nil {
		return err
	}
	if m.packaged() {
		return errors.New("skerry came as a package, which owns its files: " +
			"apt-get remove skerry (purge deletes the data), or rpm -e skerry")
	}
	files, err := Files(app, systemUnits)
	if err != nil {
		return err
	}
	var errs []error
	for _, unit := range []string{upgradePath, mode("center").unit(), mode("agent").unit()} {
		if _, err := os.Stat(m.path(systemUnits + "/" + unit)); err == nil {
			errs = append(errs, m.systemctl(ctx, "disable", "--now", unit))
		}
	}
	there, missing := m.installed(files)
	if len(there) == 0 {
		fmt.Fprintln(m.out, "no file of an installation is here")
	} else {
		if len(missing) > 0 {
			fmt.Fprintln(m.out, "not there:", named(missing))
		}
		errs = append(errs, m.step("remove "+named(there), func() error {
			var gone []error
			for _, path := range there {
				gone = append(gone, remove(m.path(path)))
			}
			return errors.Join(gone...)
		}))
	}
	if _, err := os.Stat(m.path(mode("agent").data())); err == nil {
		fmt.Fprintln(m.out, "at the cluster the namespace skerry-spaces and the ClusterRoles of agent and spaces "+
			"stay; where no other center uses it, from a machine with skerry: skerry agent rbac | kubectl delete -f -")
	}
	for _, dir := range []string{configDir, mode("center").data(), mode("agent").data()} {
		if _, err := os.Stat(m.path(dir)); err != nil {
			continue
		}
		if !purge {
			fmt.Fprintln(m.out, dir, "stays; skerry uninstall --purge deletes it")
			continue
		}
		errs = append(errs, m.step("delete "+dir, func() error { return os.RemoveAll(m.path(dir)) }))
	}
	return errors.Join(append(errs, m.systemctl(ctx, "daemon-reload"))...)
}

// named lists files for people: the man pages, one for each command, are one word.
func named(paths []string) string {
	var out []string
	for _, path := range paths {
		if strings.HasPrefix(path, manDir) {
			path = manDir + "skerry*.1"
		}
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return strings.Join(out, ", ")
}

// installed returns which files of an installation are there, and which are missing of the layout that
// has most of them.
func (m *machine) installed(files []File) (there, missing []string) {
	for i, at := range []layout{{program: usual}, {program: ofAdmins}} {
		paths := append(at.links(), at.program)
		for _, f := range at.place(files) {
			if !f.Config {
				paths = append(paths, f.Path)
			}
		}
		var here, gone []string
		for _, path := range paths {
			if _, err := os.Lstat(m.path(path)); err == nil {
				here = append(here, path)
			} else {
				gone = append(gone, path)
			}
		}
		if i == 0 || len(here) > len(there) {
			missing = gone
		}
		for _, path := range here {
			if !slices.Contains(there, path) {
				there = append(there, path)
			}
		}
	}
	return there, missing
}

// remove removes a file or an empty directory, if it is there. It asks first, because a file system
// that is read-only refuses also to remove what it does not have.
func remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return os.Remove(path)
}
