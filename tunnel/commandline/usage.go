package commandline

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"skerry.dev/skerry/tunnel/period"
)

// ErrUsage is matched by errors of Usage.
var ErrUsage = errors.New("usage")

// Usage is the error for a command line that cannot be meant so: its text says what to write
// instead.
func Usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// UsageErrors makes what urfave/cli says of a command line an ErrUsage that names the flag, what it
// takes and the command's help. It is called once, when the app has all its commands.
func UsageErrors(app *cli.App) {
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return flagError(err, app.Flags, app.Name)
	}
	for _, c := range app.Commands {
		usageErrors(c, app.Name)
	}
}

func usageErrors(c *cli.Command, path string) {
	path += " " + c.Name
	c.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return flagError(err, c.Flags, path)
	}
	for _, sub := range c.Subcommands {
		usageErrors(sub, path)
	}
}

// What urfave/cli and the package flag say of a flag.
var (
	badValue    = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-+([^:]+): `)
	badVariable = regexp.MustCompile(`^could not parse "(.*)" (?:as .* )?from environment variable "(.*)"` +
		`(?: as value)? for flag ([^:]+): `)
	noValue = regexp.MustCompile(`^flag needs an argument: -+(.+)$`)
	noFlag  = regexp.MustCompile(`^flag provided but not defined: -+(.+)$`)
)

// flagError is the usage error for what urfave/cli says of a flag of the command at path.
func flagError(err error, flags []cli.Flag, path string) error {
	text, help := err.Error(), "; see: "+path+" --help"
	if m := badValue.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%s %q: %s", dashed(m[2]), m[1], takes(flags, m[2], m[1]))
	} else if m := badVariable.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%s=%q: %s", m[2], m[1], takes(flags, m[3], m[1]))
	} else if m := noValue.FindStringSubmatch(text); m != nil {
		text = dashed(m[1]) + " needs a value"
	} else if m := noFlag.FindStringSubmatch(text); m != nil {
		text = "unknown flag " + dashed(m[1])
		if near := nearestFlag(flags, m[1]); near != "" {
			text += fmt.Sprintf("; did you mean %s?", dashed(near))
			help = strings.TrimPrefix(help, ";")
		}
	}
	return Usage("%s%s", text, help)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// CenterURL refuses what is no address of a center, as ErrUsage that names the flag.
func CenterURL(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" {
		return Usage("%s %q: write https://HOST:PORT", flag, address)
	}
	return nil
}

// hostName is a name that certificates may have; that of a whole domain begins with *.
var hostName = func() *regexp.Regexp {
	const label = `[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?`
	return regexp.MustCompile(`^(?i)(\*\.)?` + label + `(\.` + label + `)*\.?$`)
}()

// HostNames returns an ErrUsage for a value of a flag that is no host name and no address.
func HostNames(flag string, values []string) error {
	for _, v := range values {
		if net.ParseIP(v) == nil && !hostName.MatchString(v) {
			return Usage("%s %q: write a host name or an address alone, without https:// and a port", flag, v)
		}
	}
	return nil
}

// takes says what a flag takes that did not take a value.
func takes(flags []cli.Flag, name, value string) string {
	switch f := flagNamed(flags, name).(type) {
	case *cli.GenericFlag:
		if b, ok := f.Value.(*bounded); ok {
			if _, err := period.Parse(value); err == nil {
				return "write " + b.within.String()
			}
		}
		return period.ErrSyntax.Error()
	case *cli.IntFlag, *cli.Int64Flag:
		return "write a whole number"
	case *cli.BoolFlag:
		return "write true or false"
	}
	return "it does not take that"
}

// nearestFlag is the flag that a name may be a slip of, "" if none is near.
func nearestFlag(flags []cli.Flag, name string) (near string) {
	best := len(name)/3 + 2
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) == 1 {
				continue
			}
			if len(name) > 1 && strings.HasPrefix(n, name) {
				return n
			}
			if d := smetrics.WagnerFischer(name, n, 1, 1, 1); d < best {
				best, near = d, n
			}
		}
	}
	return near
}

// checkRequired refuses a command line without a flag that its command requires, before urfave/cli
// prints the whole help for it.
func checkRequired(c *cli.Command, args []string, path string) error {
	if c == nil || len(c.Subcommands) > 0 || slices.ContainsFunc(args, asksHelp) {
		return nil
	}
	for _, f := range c.Flags {
		required, ok := f.(cli.RequiredFlag)
		if !ok || !required.IsRequired() || set(f, args) {
			continue
		}
		return Usage("%s is required; see: %s --help", dashed(f.Names()[0]), path)
	}
	return nil
}

// set reports whether a command line or the environment sets a flag.
func set(f cli.Flag, args []string) bool {
	if doc, ok := f.(cli.DocGenerationFlag); ok {
		for _, name := range doc.GetEnvVars() {
			if _, found := os.LookupEnv(name); found {
				return true
			}
		}
	}
	return slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-") && flagNamed([]cli.Flag{f}, a) != nil
	})
}
