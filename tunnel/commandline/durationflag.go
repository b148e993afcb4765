package commandline

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/period"
)

// Bounds are the least and the most that a flag's duration may be. A Most of 0 is no bound, for what
// waits until it is done.
type Bounds struct{ Least, Most time.Duration }

// Longest is the most that something may be good for which somebody can take along, such as a token.
const Longest = 366 * period.Day

// DurationFlag is a flag that takes a duration, also in days (package period), within bounds.
// cli.Context.Duration returns it. The first name is the flag's, the others are aliases.
func DurationFlag(usual time.Duration, within Bounds, usage string, names ...string) *cli.GenericFlag {
	f := &cli.GenericFlag{Name: names[0], Aliases: names[1:], Value: &bounded{period.Value(usual), within}, Usage: usage}
	if usual != 0 {
		f.DefaultText = period.Format(usual)
	}
	return f
}

// bounded is a duration as a flag.Value that takes nothing outside of its bounds.
type bounded struct {
	period.Value
	within Bounds
}

func (b *bounded) Set(text string) error {
	d, err := period.Parse(text)
	if err != nil {
		return err
	}
	if d < b.within.Least || b.within.Most > 0 && d > b.within.Most {
		return fmt.Errorf("write %s", b.within)
	}
	b.Value = period.Value(d)
	return nil
}

// String says what may be written.
func (b Bounds) String() string {
	least := period.Format(b.Least)
	if b.Most == 0 {
		return "a duration of at least " + least
	}
	return fmt.Sprintf("a duration between %s and %s", least, period.Format(b.Most))
}
