package doctor

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/tunnel/commandline"
)

// BundleCommand is `skerry support-bundle`.
func BundleCommand(d Daemons) *cli.Command {
	here := &machinePlaces{}
	file := &cli.StringFlag{Name: "file", Aliases: []string{"f"},
		Usage: "the bundle, which must not exist (default: skerry-support-HOST-TIME.tar.zst)"}
	command := func(name, usage string, flags []cli.Flag) *cli.Command {
		out := &cli.Command{Name: name, Usage: usage, Flags: append(slices.Clone(flags), file),
			Action: func(c *cli.Context) error {
				checks, err := d.checks(c, name, here)
				if err != nil {
					return err
				}
				return d.pack(c, here, []part{{name, checks, c}})
			}}
		if name != "workstation" {
			out.Before = commandline.FromFile
		}
		return out
	}
	return &cli.Command{
		Name:  "support-bundle",
		Usage: "pack what somebody needs who helps from far away: findings, status, logs, metrics; no secrets",
		Description: "Without a command it packs every part of Skerry that this machine has. It needs nothing running " +
			"and changes nothing. Look into it before you send it: tar --zstd -tvf FILE",
		Flags: []cli.Flag{file, &cli.StringFlag{Name: "kubeconfig", Usage: "of a center (default: $KUBECONFIG)"}},
		Action: func(c *cli.Context) error {
			parts, err := d.find(c, here)
			if err != nil {
				return err
			}
			return d.pack(c, here, parts)
		},
		Subcommands: []*cli.Command{
			command("center", "of the center or relay of this machine; its flags are those of skerry center", d.Center),
			command("agent", "of the agent of this machine; its flags are those of skerry agent", d.Agent),
			command("workstation", "of a center, from here, with a kubeconfig", admin.ClientFlags()),
		},
	}
}

// versions are those of the program and of the machine, and which variables are set.
func (d Daemons) versions(here *machinePlaces) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "skerry: %s\ngo: %s %s/%s\ncpus: %d\n", d.Version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU())
	for name, path := range map[string]string{"kernel": "/proc/sys/kernel/osrelease", "uptime": "/proc/uptime",
		"load": "/proc/loadavg"} {
		if text, err := os.ReadFile(here.path(path)); err == nil {
			fmt.Fprintf(&out, "%s: %s\n", name, bytes.TrimSpace(text))
		}
	}
	for path, prefix := range map[string]string{"/etc/os-release": "PRETTY_NAME=", "/proc/meminfo": "Mem"} {
		text, _ := os.ReadFile(here.path(path))
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, prefix) {
				out.WriteString(line)
			}
		}
	}
	var names []string
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value == "" {
			continue
		}
		if strings.HasPrefix(name, "SKERRY_") || strings.HasSuffix(strings.ToUpper(name), "_PROXY") || name == "KUBECONFIG" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Fprintf(&out, "variables that are set: %s\n", strings.Join(names, " "))
	return out.Bytes()
}
