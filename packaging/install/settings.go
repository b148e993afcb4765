package install

import (
	"fmt"
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
