// Package debian installs the system packages that real clusters need.
//
//	missing, err := debian.Missing(ctx)   // names of packages
//	err = debian.Install(ctx, os.Stderr)  // those alone, by apt-get
//
// It is for Debian and its relatives. Elsewhere the error says what to install.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Packages are what a real cluster and networks with faults need.
var Packages = []string{
	"runc", "containernetworking-plugins", "iptables", "nftables", "conntrack", "iproute2", "socat", "ethtool",
}

// Missing returns those of the packages that are not installed.
func Missing(ctx context.Context) ([]string, error) {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		return nil, fmt.Errorf("not a Debian system (%w): install by its own means: %s", err, strings.Join(Packages, " "))
	}
	var missing []string
	for _, p := range Packages {
		status, err := exec.CommandContext(ctx, "dpkg-query", "--show", "--showformat=${db:Status-Status}", p).Output()
		if err != nil || string(status) != "installed" {
			missing = append(missing, p)
		}
	}
	return missing, ctx.Err()
}

// Install installs what is missing and asks no questions. apt's output goes to
// log.
func Install(ctx context.Context, log io.Writer) error {
	missing, err := Missing(ctx)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		fmt.Fprintln(log, "all packages are installed:", strings.Join(Packages, " "))
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("missing packages; as root: apt-get install --no-install-recommends " + strings.Join(missing, " "))
	}
	fmt.Fprintln(log, "installing", strings.Join(missing, " "))
	for _, args := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-qq", "-y", "--no-install-recommends"}, missing...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", args[0], err)
		}
	}
	return nil
}
