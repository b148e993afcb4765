package commandline

import (
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/period"
)

// DurationFlag is a flag that takes a duration, also in days (package period). cli.Context.Duration
// returns it. The first name is the flag's, the others are aliases.
func DurationFlag(usual time.Duration, usage string, names ...string) *cli.GenericFlag {
	v := period.Value(usual)
	f := &cli.GenericFlag{Name: names[0], Aliases: names[1:], Value: &v, Usage: usage}
	if usual != 0 {
		f.DefaultText = period.Format(usual)
	}
	return f
}
