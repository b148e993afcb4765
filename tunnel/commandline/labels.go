package commandline

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Labels are those of --labels k=v.
func Labels(c *cli.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range c.StringSlice("labels") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, Usage("--labels %q: write k=v", pair)
		}
		out[key] = value
	}
	return out, nil
}
