// Package netns makes and removes named network namespaces, as "ip netns" does.
//
//  1. [Add] makes a namespace with its loopback up.
//  2. [Connect] lays a cable, a veth pair with addresses of its own, between this machine and it. That
//     is an [Uplink].
//  3. Processes enter the namespace by its [File].
//  4. [KillMembers] ends what still runs inside. [Remove] removes the cables and the namespace.
//
// It runs the ip command and needs root.
package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrExists is returned when there already is a device of that name.
var ErrExists = errors.New("exists already")

// File returns the file that stands for a namespace.
func File(name string) string { return filepath.Join("/run/netns", name) }

// Add makes a namespace with its loopback interface up.
func Add(ctx context.Context, name string) error {
	if err := IP(ctx, "netns", "add", name); err != nil {
		return err
	}
	return IP(ctx, "-n", name, "link", "set", "lo", "up")
}

// Remove removes a namespace if it exists, and with it the cables that end in
// it: they are removed by name, since the kernel would do it some time later.
func Remove(ctx context.Context, name string) error {
	if _, err := os.Stat(File(name)); err != nil {
		return nil
	}
	// A namespace whose creation was interrupted is an empty file, without links.
	links, err := exec.CommandContext(ctx, "ip", "-n", name, "-o", "link", "show", "type", "veth").Output()
	if err == nil {
		for line := range strings.Lines(string(links)) {
			if fields := strings.Fields(line); len(fields) > 1 {
				device, _, _ := strings.Cut(strings.TrimSuffix(fields[1], ":"), "@")
				_ = IP(ctx, "-n", name, "link", "del", device) // its peer was in the list, too
			}
		}
	}
	return IP(ctx, "netns", "del", name)
}

// IP runs the ip command; its error holds what ip said.
func IP(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(string(output))
	if strings.Contains(said, "File exists") {
		return fmt.Errorf("ip %s: %w", strings.Join(args, " "), ErrExists)
	}
	return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, said)
}
