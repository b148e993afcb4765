package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

// checkCommand is `skerry install check SERVICE`, by which packages look at a service's file before they start the
// service again with a new program.
func checkCommand(usage func(format string, args ...any) error, checks Checks) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "say whether this program takes the file of a service, center or agent, that is installed; change nothing",
		ArgsUsage: "SERVICE",
		Action: func(c *cli.Context) error {
			m := mode(c.Args().First())
			if !slices.Contains(modes, m) {
				return usage("%q is no service: give center (a relay is one) or agent", m)
			}
			on := here(c)
			text, err := os.ReadFile(on.path(m.config()))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("there is no %s; to make it: skerry install %s", m.config(), m)
			} else if err != nil {
				return err
			}
			if err := acceptable(c.App, m, string(text), checks[string(m)]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, "skerry %s takes %s\n", c.App.Version, m.config())
			return err
		},
	}
}

// acceptable refuses the file of a service that this program would refuse. Where the program is replaced, too, it
// refuses that of another service which starts with the machine and runs the same program.
func (m *machine) acceptable(app *cli.App, service mode, config string, replaced bool) error {
	if err := acceptable(app, service, config, m.checks[string(service)]); err != nil {
		return err
	}
	for _, other := range modes {
		if other == service || !replaced || !m.enabled(other) {
			continue
		}
		text, err := os.ReadFile(m.path(other.config()))
		if err != nil {
			return err
		}
		if err := acceptable(app, other, string(text), m.checks[string(other)]); err != nil {
			return fmt.Errorf("%w; %s runs the same program and would not start with this one: mend its file first, or "+
				"systemctl disable %[2]s", err, other.unit())
		}
	}
	return nil
}

// enabled reports whether a service starts with the machine.
func (m *machine) enabled(service mode) bool {
	_, err := os.Lstat(m.path(filepath.Join(systemUnits, "multi-user.target.wants", service.unit())))
	return err == nil
}

// acceptable reads a service's file as the service will, and returns what that one would say of it: an
// unknown key, or a value that a key does not take, or what check says of all of them.
func acceptable(app *cli.App, m mode, config string, check func(*cli.Context) error) error {
	daemon := app.Command(string(m))
	if daemon == nil || daemon.Before == nil {
		return nil
	}
	file, err := os.CreateTemp("", "skerry-*.yaml")
	if err != nil {
		return fmt.Errorf("check the configuration: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(config)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("check the configuration: %w", err)
	}
	if check == nil {
		check = func(*cli.Context) error { return nil }
	}
	reader := &cli.App{Name: app.Name, Writer: io.Discard, ErrWriter: io.Discard, HideHelp: true,
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{{Name: daemon.Name, Flags: daemon.Flags, Before: daemon.Before, HideHelp: true,
			Action: check}}}
	defer withoutVariables()()
	if err := reader.Run([]string{app.Name, daemon.Name, "--config", file.Name()}); err != nil {
		return commandline.KnownAs(err, file.Name(), m.config())
	}
	return nil
}

// withoutVariables takes the variables of flags out of this process's environment, which the service does not
// have, and returns what puts them back.
func withoutVariables() (restore func()) {
	taken := map[string]string{}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "SKERRY_") {
			taken[name] = value
			_ = os.Unsetenv(name) // it fails for no name that Environ returns
		}
	}
	return func() {
		for name, value := range taken {
			_ = os.Setenv(name, value)
		}
	}
}
