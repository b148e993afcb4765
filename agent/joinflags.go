package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/enroll"
)

// SiteNameOf is the name of a site: the flag name, else the host's name up to its first dot.
func SiteNameOf(c *cli.Context) (string, error) {
	if name := c.String("name"); name != "" {
		return name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("no --name, and the host's name cannot be had: %w", err)
	}
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return name, nil
}

// TokenOf is the join token of the flags token and token-file, else that of the file credential; ""
// for none. Usage makes the error of a command line that cannot be meant so.
func TokenOf(c *cli.Context, credential string, usage func(string, ...any) error) (string, error) {
	file := c.String("token-file")
	if file == "" && c.String("token") == "" {
		file = credential
	}
	if file == "" {
		return c.String("token"), nil
	}
	if c.String("token") != "" {
		return "", usage("--token and --token-file: give one of them")
	}
	token, err := enroll.ReadToken(file, os.Stdin)
	if errors.Is(err, enroll.ErrTokenFormat) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err == nil && token == "" && file != "-" && !hasJoined(c.String("data-dir")) {
		err = fmt.Errorf("%w: the token file %[2]s is missing or empty, and this site has not joined yet; make a "+
			"token at the center with: skerry token create -o token >%s", ErrRefused, file, commandline.Word(file))
	}
	return token, err
}

// hasJoined reports whether the agent, or the relay, of a data directory has joined.
func hasJoined(dir string) bool {
	return enroll.HasJoined(dir) || enroll.HasJoined(filepath.Join(dir, "uplink"))
}
