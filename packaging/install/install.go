package install

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"
)

// binary is where the program is installed. kubectl finds it as a plugin at plugin, and asks it at
// completer what may come next.
const (
	binary    = "/usr/bin/skerry"
	plugin    = "/usr/bin/kubectl-skerry"
	completer = "/usr/bin/" + KubectlName
)

// install puts the files of a service in place and starts it. Doing it again changes nothing but
// what is asked for.
func (m *machine) install(ctx context.Context, app *cli.App, r request) error {
	if err := m.ready("install "+string(r.mode), r.start); err != nil {
		return err
	}
	if !m.packaged() {
		if err := m.files(ctx, app); err != nil {
			return err
		}
	}
	if err := m.configure(r); err != nil {
		return err
	}
	if r.start {
		if err := m.systemctl(ctx, "daemon-reload"); err != nil {
			return err
		}
	}
	if err := m.systemctl(ctx, "enable", r.mode.unit()); err != nil {
		return err
	}
	if r.start {
		if err := m.systemctl(ctx, "restart", r.mode.unit()); err != nil {
			return fmt.Errorf("%w\nsee why: journalctl -u %s -n 30", err, r.mode.unit())
		}
	}
	_, err := fmt.Fprintln(m.out, m.outcome(r))
	return err
}

// outcome says what is now, and what comes next.
func (m *machine) outcome(r request) string {
	switch {
	case m.dryRun:
		return "nothing was changed"
	case !r.start:
		return fmt.Sprintf("%s starts with the next boot, or by: systemctl start %[1]s", r.mode.unit())
	case r.mode == "agent":
		return r.mode.unit() + " runs. Next:\n  systemctl status skerry-agent    # and at the center: skerry status"
	default:
		return r.mode.unit() + " runs. Next:\n  skerry token create -o token     # then, on a site: " +
			"skerry install agent --parent https://THIS-HOST:7443 --token-file FILE"
	}
}

// packaged reports whether the files came with a deb or rpm, which then owns them.
func (m *machine) packaged() bool {
	_, err := os.Stat(m.path(packageUnits + "/" + mode("center").unit()))
	return err == nil
}

func (m *machine) files(ctx context.Context, app *cli.App) error {
	files, err := Files(app, systemUnits)
	if err != nil {
		return err
	}
	err = m.step("write "+binary+", units, samples in "+configDir+", man page and completions", func() error {
		if err := m.copyBinary(); err != nil {
			return err
		}
		return write(m.root, files)
	})
	if err != nil {
		return err
	}
	return m.step("systemd-sysusers, sysctl", func() error {
		if err := m.run(ctx, "systemd-sysusers", "skerry.conf"); err != nil {
			return err
		}
		if err := m.run(ctx, "/lib/systemd/systemd-sysctl", "60-skerry.conf"); err != nil {
			fmt.Fprintln(m.out, "the UDP buffers stay as they are:", err)
		}
		return nil
	})
}

// copyBinary copies the running program, whole or not at all.
func (m *machine) copyBinary() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if to, err := os.Stat(m.path(binary)); err == nil {
		if from, err := os.Stat(self); err == nil && os.SameFile(from, to) {
			return nil
		}
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	if err := put(m.path(binary), string(program), 0o755); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	for _, name := range []string{plugin, completer} {
		if _, err := os.Lstat(m.path(name)); err == nil {
			continue
		}
		if err := os.Symlink("skerry", m.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// configure writes what r sets into the service's file and into the credentials.
func (m *machine) configure(r request) error {
	path := m.path(r.mode.config())
	if len(r.keys) > 0 {
		err := m.step("set keys in "+r.mode.config(), func() error {
			text, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				return err
			}
			merged, err := merge(string(text), r.keys)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return put(path, merged, 0o644)
		})
		if err != nil {
			return err
		}
	}
	for name, text := range r.credentials {
		file := credentialsDir + "/" + name
		if err := m.step("write "+file, func() error { return m.credential(file, text) }); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) credential(file, text string) error {
	if err := os.MkdirAll(m.path(credentialsDir), 0o700); err != nil {
		return err
	}
	return put(m.path(file), text, 0o600)
}
