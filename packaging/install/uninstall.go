package install

import (
	"context"
	"errors"
	"fmt"
	"os"

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
	for _, mode := range modes {
		if _, err := os.Stat(m.path(systemUnits + "/" + mode.unit())); err != nil {
			continue
		}
		if err := m.systemctl(ctx, "disable", "--now", mode.unit()); err != nil {
			return err
		}
	}
	err = m.step("remove "+binary+", units, man page and completions", func() error {
		gone := []error{remove(m.path(plugin)), remove(m.path(completer)), remove(m.path(binary))}
		for _, f := range files {
			if !f.Config {
				gone = append(gone, remove(m.path(f.Path)))
			}
		}
		return errors.Join(gone...)
	})
	if err != nil {
		return err
	}
	for _, dir := range []string{configDir, mode("center").data(), mode("agent").data()} {
		if !purge {
			fmt.Fprintln(m.out, dir, "stays; skerry uninstall --purge deletes it")
			continue
		}
		if err := m.step("delete "+dir, func() error { return os.RemoveAll(m.path(dir)) }); err != nil {
			return err
		}
	}
	return m.systemctl(ctx, "daemon-reload")
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
