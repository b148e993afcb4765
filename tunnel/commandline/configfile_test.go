package commandline

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestFromFile(t *testing.T) {
	for name, tc := range map[string]struct {
		file, args, cause string
		listen, group     string
		advertise         []string
	}{
		"values":             {file: "listen: a:1\nadvertise: [x, z]\n", listen: "a:1", advertise: []string{"x", "z"}},
		"one for a list":     {file: "advertise: x\n", listen: "default", advertise: []string{"x"}},
		"number":             {file: "listen: 7443\n", listen: "7443"},
		"flag wins":          {file: "listen: a:1\n", args: "--listen=b:2", listen: "b:2"},
		"empty":              {listen: "default"},
		"unknown key":        {file: "listne: a:1\n", cause: `unknown key "listne"`},
		"itself":             {file: "config: x\n", cause: `unknown key "config"`},
		"list for one":       {file: "listen: [a:1, b:2]\n", cause: "listen: takes one value"},
		"mapping":            {file: "listen: {a: 1}\n", cause: "listen: takes plain text"},
		"mapping in a list":  {file: "advertise: [{a: 1}]\n", cause: "advertise: takes plain text"},
		"group of flags":     {file: "group: {externalIPs: [a, b], denyKinds: [c]}\n", listen: "default", group: "a b c"},
		"unknown in a group": {file: "group: {other: 1}\n", cause: `unknown key "group-other"`},
		"nothing":            {file: "listen:\n", cause: "listen: has no value"},
		"wrong type":         {file: "number: many\n", cause: "number"},
		"twice":              {file: "listen: a\nlisten: b\n", cause: "already set"},
		"no mapping at all":  {file: "- a\n", cause: "there are no keys in it"},
		"a text alone":       {file: "listen\n", cause: "there are no keys in it"},
		"large number stays": {file: "listen: 12345678\n", listen: "12345678"},
		"a site called no":   {file: "listen: no\n", cause: "listen: takes a text, and YAML reads yes, no"},
		"in quotes":          {file: "listen: \"no\"\n", listen: "no"},
		"true in a list":     {file: "advertise: false\n", listen: "default", advertise: []string{"false"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "center.yaml")
			if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			var listen string
			var advertise, group []string
			app := &cli.App{
				Name:      "skerry",
				Writer:    io.Discard,
				ErrWriter: io.Discard,
				Commands: []*cli.Command{{Name: "center", Before: FromFile,
					Flags: []cli.Flag{
						&cli.StringFlag{Name: "config"},
						&cli.StringFlag{Name: "listen", Value: "default"},
						&cli.StringSliceFlag{Name: "advertise"},
						&cli.IntFlag{Name: "number"},
						&cli.StringSliceFlag{
							Name: "group-external-ips",
						},
						&cli.StringSliceFlag{Name: "group-deny-kinds"},
					},
					Action: func(c *cli.Context) error {
						listen, advertise = c.String("listen"), c.StringSlice("advertise")
						group = slices.Concat(c.StringSlice("group-external-ips"), c.StringSlice("group-deny-kinds"))
						return nil
					}}},
			}
			err := app.Run(append([]string{"skerry", "center", "--config", path}, strings.Fields(tc.args)...))
			if tc.cause != "" {
				if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), tc.cause) ||
					!strings.Contains(err.Error(), path) {
					t.Fatalf("got %v, want ErrUsage that names the file and says %q", err, tc.cause)
				}
				return
			}
			if err != nil || listen != tc.listen || !slices.Equal(advertise, tc.advertise) ||
				strings.Join(group, " ") != tc.group {
				t.Fatalf(
					"got %q %q %q %v, want %q %q %q",
					listen,
					advertise,
					group,
					err,
					tc.listen,
					tc.advertise,
					tc.group,
				)
			}
		})
	}
}

func TestFromFileMissing(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "center.yaml")
	run := func(args ...string) error {
		app := &cli.App{
			Name:      "skerry",
			Writer:    io.Discard,
			ErrWriter: io.Discard,
			Commands: []*cli.Command{{Name: "center", Before: FromFile,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "config", Value: missing},
				}, Action: func(*cli.Context) error { return nil }}},
		}
		return app.Run(append([]string{"skerry", "center"}, args...))
	}
	if err := run(); err != nil {
		t.Fatalf("a file at the default path need not exist: %v", err)
	}
	if err := run("--config", missing); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a file that was asked for must exist, got %v", err)
	}
}

func TestHostNames(t *testing.T) {
	for value, good := range map[string]bool{"center.example.com": true, "Center": true, "10.0.0.1": true, "::1": true,
		"*.spaces.example.com": true, "center_1": true, "center.example.com.": true, "https://center:7443": false,
		"center:7443": false, "bad name": false, "-a": false, "": false, "a..b": false, "[::1]": false} {
		if err := HostNames("--advertise", []string{"good", value}); (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestHostPort(t *testing.T) {
	for address, good := range map[string]bool{"127.0.0.1:7443": true, ":0": true, "[::1]:7443": true, "center:7443": true,
		"": false, "7443": false, "::1:7443": false, "h:https": false, "h:70000": false, "h:-1": false} {
		if err := HostPort("--listen", address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}
