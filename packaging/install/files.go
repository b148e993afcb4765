package install

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/packaging/reference"
	"skerry.dev/skerry/packaging/systemd"
)

//go:embed files
var embedded embed.FS

// File is one file of an installation.
type File struct {
	// Path is absolute, on the machine.
	Path string
	// Text is its content.
	Text string
	// Config is true where an admin's own file is kept.
	Config bool
}

// Files returns what is installed beside the binary, with man pages and samples of the flags of app.
// units is the directory of the units: /etc/systemd/system, or /lib/systemd/system of a package.
func Files(app *cli.App, units string) ([]File, error) {
	var out []File
	names, err := fs.Glob(systemd.Units, "*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		unit, err := fs.ReadFile(systemd.Units, name)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: filepath.Join(units, name), Text: string(unit)})
	}
	for _, mode := range modes {
		out = append(out, File{Path: mode.config(), Text: Sample(app.Command(string(mode))), Config: true})
	}
	for name, path := range map[string]string{
		"skerry.sysusers": "/usr/lib/sysusers.d/skerry.conf",
		"skerry.sysctl":   "/usr/lib/sysctl.d/60-skerry.conf",
	} {
		text, err := embedded.ReadFile("files/" + name)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: path, Text: string(text)})
	}
	for name, text := range reference.Man(app) {
		out = append(out, File{Path: manDir + name + ".1", Text: text})
	}
	for shell, path := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/skerry",
		"zsh":  "/usr/share/zsh/vendor-completions/_skerry",
		"fish": "/usr/share/fish/vendor_completions.d/skerry.fish",
	} {
		out = append(out, File{Path: path, Text: Completions[shell]})
	}
	return out, nil
}

// upgradePath is the unit that a site's owner enables, so that the agent's version follows the wish of its center.
const upgradePath = "skerry-agent-upgrade.path"

// manDir has a man page for each command.
const manDir = "/usr/share/man/man1/"

// mode is how the program runs under a unit.
type mode string

var modes = []mode{"center", "agent"}

func (m mode) unit() string   { return "skerry-" + string(m) + ".service" }
func (m mode) config() string { return filepath.Join(configDir, string(m)+".yaml") }

func (m mode) data() string {
	if m == "agent" {
		return "/var/lib/skerry-agent"
	}
	return "/var/lib/skerry"
}

const (
	configDir      = "/etc/skerry"
	credentialsDir = configDir + "/credentials"
	systemUnits    = "/etc/systemd/system"
	packageUnits   = "/lib/systemd/system"
)

// write writes the files below root and makes the directory of credentials. An admin's own file is
// kept.
func write(root string, files []File, put func(path, text string, mode os.FileMode) error) error {
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		if _, err := os.Stat(path); err == nil && f.Config {
			continue
		}
		if err := put(path, f.Text, 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, credentialsDir), 0o700); err != nil {
		return fmt.Errorf("make the directory of credentials: %w", err)
	}
	return nil
}

// put writes a file whole or not at all, with the directories above it.
func put(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	defer os.Remove(temporary)
	if err := os.WriteFile(temporary, []byte(text), mode); err != nil {
		return err
	}
	if err := os.Chmod(temporary, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
