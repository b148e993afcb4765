// Package period reads and writes durations as people write them on command lines and in files: what
// time.ParseDuration reads, and days.
//
//	d, err := period.Parse("7d")   // 168h0m0s
//	period.Format(d)               // "7d"
package period

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Day is 24 hours, whatever clocks do in summer.
const Day = 24 * time.Hour

// ErrSyntax is returned for what is no duration.
var ErrSyntax = errors.New("write a duration, such as 30s, 5m, 24h or 7d")

// Parse reads a duration: a whole number of days (7d), what time.ParseDuration reads (1h30m), or both
// (1d12h). A sign stands before all of it.
func Parse(text string) (time.Duration, error) {
	rest, sign := text, time.Duration(1)
	if after, ok := strings.CutPrefix(rest, "-"); ok {
		rest, sign = after, -1
	} else {
		rest = strings.TrimPrefix(rest, "+")
	}
	days, below, ok := strings.Cut(rest, "d")
	if !ok {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q: %w", text, ErrSyntax)
		}
		return d, nil
	}
	n, err := strconv.ParseUint(days, 10, 31)
	if err != nil || n > uint64(math.MaxInt64/Day)-1 {
		return 0, fmt.Errorf("%q: %w", text, ErrSyntax)
	}
	d := time.Duration(n) * Day
	if below != "" {
		more, err := time.ParseDuration(below)
		if err != nil || more < 0 || more >= Day || strings.HasPrefix(below, "+") {
			return 0, fmt.Errorf("%q: %w", text, ErrSyntax)
		}
		d += more
	}
	return sign * d, nil
}

// Format writes a duration so that Parse reads it: without units that are zero, and in days from two
// days on where it is whole days.
func Format(d time.Duration) string {
	if d >= 2*Day && d%Day == 0 {
		return strconv.FormatInt(int64(d/Day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Value is a duration as a flag.Value. Its String is what time.ParseDuration reads.
type Value time.Duration

// Set implements flag.Value.
func (v *Value) Set(text string) error {
	d, err := Parse(text)
	if err == nil {
		*v = Value(d)
	}
	return err
}

// String implements flag.Value.
func (v *Value) String() string { return time.Duration(*v).String() }
