package install

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"
)

// install puts the files of a service in place and starts it. Doing it again changes nothing but
// what is asked for. Whatever can be refused is refused before anything is written, and a step that
// fails takes back those before it.
func (m *machine) install(ctx context.Context, app *cli.App, r request) error {
	if err := m.ready("install "+string(r.mode), r.start); err != nil {
		return err
	}
	files, at, err := m.planned(app)
	if err == nil && len(files) > 0 {
		err = m.checkDowngrade(ctx, at, app.Version)
	}
	if err != nil {
		return err
	}
	config, err := m.merged(r, files)
	if err == nil {
		err = m.acceptable(app, r.mode, config, len(files) > 0 && !at.inPlace)
	}
	if err != nil {
		return err
	}
	if at.why != "" {
		fmt.Fprintln(m.out, at.why)
	}
	var u undo
	if err := m.write(ctx, &u, at, files, config, r); err != nil {
		if undone := u.all(); undone != nil {
			return fmt.Errorf("%w; not all could be taken back: %w", err, undone)
		}
		if m.dryRun {
			return err
		}
		return fmt.Errorf("%w; what was written before is taken back", err)
	}
	if err := u.finish(); err != nil {
		return err
	}
	if r.start {
		if err := m.systemctl(ctx, "restart", r.mode.unit()); err != nil {
			return fmt.Errorf("%w\nsee why: journalctl -u %s -n 30", err, r.mode.unit())
		}
	}
	_, err = fmt.Fprintln(m.out, m.outcome(r, config))
	return err
}

// planned returns the files beside those of the admin, and where they go. A package has its own.
func (m *machine) planned(app *cli.App) (files []File, at layout, err error) {
	if m.packaged() {
		return nil, layout{program: usual}, m.checkWritable(layout{program: usual, inPlace: true}, nil)
	}
	if files, err = Files(app, systemUnits); err != nil {
		return nil, at, err
	}
	at, err = m.choose(files)
	return at.place(files), at, err
}

// write writes all files, and has the service start at the next boot.
func (m *machine) write(ctx context.Context, u *undo, at layout, files []File, config string, r request) error {
	if len(files) > 0 {
		if err := m.files(ctx, u, at, files); err != nil {
			return err
		}
	}
	if err := m.configure(u, config, r); err != nil {
		return err
	}
	if r.start {
		if err := m.systemctl(ctx, "daemon-reload"); err != nil {
			return err
		}
	}
	return m.systemctl(ctx, "enable", r.mode.unit())
}

// outcome says what is now, with this configuration, and what comes next.
func (m *machine) outcome(r request, config string) string {
	switch {
	case m.dryRun:
		return "nothing was changed"
	case !r.start:
		return fmt.Sprintf("%s starts with the next boot, or by: systemctl start %[1]s", r.mode.unit())
	case r.mode == "agent":
		return r.mode.unit() + " runs. Next:\n  systemctl status skerry-agent    # and at the center: skerry status"
	}
	address, known := advertised(config)
	text := r.mode.unit() + " runs. Next:\n  skerry token create -o token     # then, on a site: " +
		"skerry install agent --parent https://" + address + " --token-file FILE"
	if !known {
		text += "\nSites and users will know this center by the address of its default route. Give it a name that " +
			"stays, before they do:\n  skerry install center --advertise NAME"
	}
	return text
}

// advertised is HOST:PORT by which a center with this configuration is known to others; known is false where the
// configuration does not say the host.
func advertised(config string) (address string, known bool) {
	var is struct {
		Listen    string
		Advertise any
	}
	if yaml.Unmarshal([]byte(config), &is) != nil { // it was read before
		return "", false
	}
	_, port, err := net.SplitHostPort(is.Listen)
	if err != nil {
		port = "7443"
	}
	first := is.Advertise
	if list, ok := first.([]any); ok && len(list) > 0 {
		first = list[0]
	}
	text, _ := first.(string)
	name, _, _ := strings.Cut(text, ",")
	if name = strings.TrimSpace(name); name == "" {
		return net.JoinHostPort("THIS-HOST", port), false
	}
	return net.JoinHostPort(name, port), true
}

// packaged reports whether the files came with a deb or rpm, which then owns them.
func (m *machine) packaged() bool {
	_, err := os.Stat(m.path(packageUnits + "/" + mode("center").unit()))
	return err == nil
}

func (m *machine) files(ctx context.Context, u *undo, at layout, files []File) error {
	what := "write " + at.program + ", units, samples in " + configDir + ", man pages and completions"
	if !at.usual() {
		what = "write " + at.program + ", units, samples in " + configDir
	}
	if at.inPlace {
		what = "write units, samples in " + configDir
	}
	err := m.step(what, func() error {
		if err := m.copyBinary(u, at); err != nil {
			return err
		}
		u.directories(m.path(credentialsDir))
		return write(m.root, files, u.put)
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
func (m *machine) copyBinary(u *undo, at layout) error {
	self, err := m.self()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if at.inPlace {
		return nil
	}
	if to, err := os.Stat(m.path(at.program)); err == nil {
		if from, err := os.Stat(self); err == nil && os.SameFile(from, to) {
			return nil
		}
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	if err := u.put(m.path(at.program), string(program), 0o755); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	for _, path := range at.links() {
		if err := u.link(filepath.Base(at.program), m.path(path)); err != nil {
			return err
		}
	}
	return nil
}

// merged is the service's file, or the sample among files, with what r sets.
func (m *machine) merged(r request, files []File) (string, error) {
	path := m.path(r.mode.config())
	text, err := os.ReadFile(path)
	if i := slices.IndexFunc(files, func(f File) bool { return f.Path == r.mode.config() }); os.IsNotExist(err) {
		if err = nil; i >= 0 {
			text = []byte(files[i].Text)
		}
	}
	if err != nil {
		return "", err
	}
	merged, err := merge(string(text), r.keys)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return merged, nil
}

// configure writes what r sets into the service's file and into the credentials.
func (m *machine) configure(u *undo, config string, r request) error {
	if len(r.keys) > 0 {
		err := m.step("set keys in "+r.mode.config(), func() error {
			return u.put(m.path(r.mode.config()), config, 0o644)
		})
		if err != nil {
			return err
		}
	}
	for name, text := range r.credentials {
		file := credentialsDir + "/" + name
		if err := m.step("write "+file, func() error { return m.credential(u, file, text) }); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) credential(u *undo, file, text string) error {
	u.directories(m.path(credentialsDir))
	if err := os.MkdirAll(m.path(credentialsDir), 0o700); err != nil {
		return err
	}
	return u.put(m.path(file), text, 0o600)
}
