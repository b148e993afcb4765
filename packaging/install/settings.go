package install

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// pairs are the values of --set as they are given. A comma does not end one: it may be part of a value.
type pairs []string

// Set implements cli.Generic.
func (p *pairs) Set(value string) error {
	*p = append(*p, value)
	return nil
}

func (p *pairs) String() string { return strings.Join(*p, " ") }

// settings are the keys that --set gives, a value each. One that is given again is a list. Where the flag
// of a key takes many values, commas separate them, as they do on the command line of the daemon.
func settings(set any, flags []cli.Flag) (map[string]any, error) {
	given := map[string][]string{}
	all, _ := set.(*pairs)
	if all == nil {
		return nil, nil
	}
	for _, pair := range *all {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--set %q: write KEY=VALUE", pair)
		}
		values := []string{value}
		if takesMany(flags, key) {
			values = strings.Split(value, ",")
		}
		given[key] = append(given[key], values...)
	}
	keys := map[string]any{}
	for key, values := range given {
		if keys[key] = values; len(values) == 1 {
			keys[key] = values[0]
		}
	}
	return keys, nil
}

// takesMany reports whether a flag takes a list.
func takesMany(flags []cli.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool {
		many, ok := f.(cli.DocGenerationSliceFlag)
		return ok && many.IsSliceFlag() && f.Names()[0] == name
	})
}

// flagsOf are the flags of the daemon that is installed.
func flagsOf(c *cli.Context, m mode) []cli.Flag {
	if daemon := c.App.Command(string(m)); daemon != nil {
		return daemon.Flags
	}
	return nil
}

// acceptable reads a service's file as the service will, and returns what that one would say of it: an
// unknown key, or a value that a key does not take, or what check says of all of them.
func acceptable(app *cli.App, m mode, config string, check cli.ActionFunc) error {
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
		return &refusedConfig{strings.ReplaceAll(err.Error(), file.Name(), m.config()), err}
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

// refusedConfig is an error about a file that is not written yet, by the name that it would have.
type refusedConfig struct {
	text string
	err  error
}

func (e *refusedConfig) Error() string { return e.text }
func (e *refusedConfig) Unwrap() error { return e.err }
