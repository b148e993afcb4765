package drive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Site is a directory in which centers and agents run, with the programs that they are run with.
type Site struct {
	// Skerry and Testenv are the paths of the built binaries, Kubectl that of kubectl.
	Skerry, Testenv, Kubectl string
	// Dir holds data directories and logs.
	Dir string
}

// Center is a running center.
type Center struct {
	*Process
	// Kubeconfig is the admin's kubeconfig: root.
	Kubeconfig string
	// Address is host:port of its API and of its agents' sessions.
	Address string
	// Ready is how long it took from start to ready.
	Ready time.Duration
}

// FreeAddress returns a loopback address that nothing listens on, for TCP and UDP alike. A process gets each
// address once: a server that is down for a while finds its own again.
func FreeAddress() (string, error) {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.N(endPort-firstPort))
		if _, given := givenAddresses.LoadOrStore(address, true); given {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		u, err := net.ListenPacket("udp", address)
		l.Close()
		if err == nil {
			u.Close()
			return address, nil
		}
	}
	return "", fmt.Errorf("find a free port: none from %d to %d is free for both TCP and UDP", firstPort, endPort-1)
}

// Ports below those that the kernel gives to whoever asks for any (net.ipv4.ip_local_port_range):
// such a one could be taken between the look and the use.
const firstPort, endPort = 20_000, 30_000

// givenAddresses are those that this process has had from FreeAddress, or found taken.
var givenAddresses sync.Map

// StartCenter starts `skerry center` and waits until it says that it is ready. An empty address
// means a free one on loopback.
func (s Site) StartCenter(ctx context.Context, name, address string, args ...string) (*Center, error) {
	if address == "" {
		var err error
		if address, err = FreeAddress(); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(s.Dir, name)
	started := time.Now()
	p, err := Start(s.Dir, name, nil, s.Skerry, append([]string{"center", "--data-dir", data, "--listen", address},
		args...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := p.WaitLine(ctx, "ready"); err != nil {
		p.Stop()
		return nil, err
	}
	return &Center{Process: p, Kubeconfig: filepath.Join(data, "admin.kubeconfig"), Address: address,
		Ready: time.Since(started)}, nil
}

// Token asks the center for a join token.
func (s Site) Token(ctx context.Context, c *Center, args ...string) (string, error) {
	out, err := s.Run(ctx, s.Skerry, append([]string{"token", "create", "--kubeconfig", c.Kubeconfig, "-o", "token"},
		args...)...)
	return strings.TrimSpace(out), err
}

// StartAgent enrols and starts `skerry agent` beside the cluster of kubeconfig, as a child of the
// center.
func (s Site) StartAgent(ctx context.Context, c *Center, name, kubeconfig string, args ...string) (*Process, error) {
	token, err := s.Token(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.ResumeAgent(c.Address, name, kubeconfig, append([]string{"--token", token}, args...)...)
}

// ResumeAgent starts `skerry agent` with what it enrolled with before.
func (s Site) ResumeAgent(parent, name, kubeconfig string, args ...string) (*Process, error) {
	return Start(s.Dir, "agent-"+name, nil, s.Skerry,
		append([]string{"agent", "--data-dir", filepath.Join(s.Dir, "agent-"+name),
			"--parent", "https://" + parent, "--name", name, "--kubeconfig", kubeconfig}, args...)...)
}

// SpaceKubeconfig writes a kubeconfig for a space and returns its path.
func (s Site) SpaceKubeconfig(ctx context.Context, c *Center, space string) (string, error) {
	out, err := s.Run(ctx, s.Skerry, "space", "kubeconfig", space, "--role", "cluster-admin", "--kubeconfig", c.Kubeconfig)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, c.Name+"-"+space+".kubeconfig")
	return path, os.WriteFile(path, []byte(out), 0o600)
}

// Run runs a program and returns its standard output; the error carries what it wrote to standard
// error.
func (s Site) Run(ctx context.Context, program string, args ...string) (string, error) {
	return s.RunWithInput(ctx, "", program, args...)
}

// RunWithInput is Run with a text on standard input.
func (s Site) RunWithInput(ctx context.Context, input, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// K runs kubectl with a kubeconfig.
func (s Site) K(ctx context.Context, kubeconfig string, args ...string) (string, error) {
	return s.Run(ctx, s.Kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
}

// Apply runs `kubectl apply` on a manifest.
func (s Site) Apply(ctx context.Context, kubeconfig, manifest string, args ...string) (string, error) {
	return s.RunWithInput(ctx, manifest, s.Kubectl, append([]string{"--kubeconfig", kubeconfig, "apply", "-f", "-"},
		args...)...)
}

// Until runs check every 100 ms until it returns nil. When the time is up it returns the last error that
// says more than that.
func Until(ctx context.Context, limit time.Duration, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not after %s: %w", what, limit, last)
		case <-tick.C:
		}
	}
}

// LastLine returns the last line of a program's output.
func LastLine(out string) string {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	return lines[len(lines)-1]
}
