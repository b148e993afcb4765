package walk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// lab is the center and the sites: each a host of a network with faults, its cluster and its agent
// in it.
type lab struct {
	drive.Site
	network string
	sites   []string
	configs map[string]string // kubeconfigs of the sites' clusters, which work from everywhere
	space   *drive.Kube
	admin   string // kubeconfig of the center's root
	listen  string // HOST:PORT of the center as its agents dial it
	uplink  string // as this process reaches it

	mu        sync.Mutex
	processes map[string]*drive.Process
	starts    int
}

const (
	centerHost = "center"
	port       = "7443"
	space      = "walk"
)

// up makes all of it; each thing that is made is taken down by down.
func (l *lab) up(ctx context.Context, log func(format string, args ...any)) error {
	log("make a network of %d hosts, and a simulated cluster in each but the center's", len(l.sites)+1)
	if _, err := l.Run(ctx, l.Testenv, append([]string{"net", "up", l.network, centerHost}, l.sites...)...); err != nil {
		return err
	}
	ups := make(chan error)
	for _, s := range l.sites {
		go func() {
			out, err := l.Run(ctx, l.Testenv, "up", "--kind", "simulated", "--host", l.network+"/"+s, l.cluster(s))
			l.mu.Lock()
			defer l.mu.Unlock()
			l.configs[s] = drive.LastLine(out)
			ups <- err
		}()
	}
	var errs []error
	for range l.sites {
		errs = append(errs, <-ups)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for name, flag := range map[*string]string{&l.uplink: "--uplink", &l.listen: ""} {
		args := []string{"net", "address", l.network, centerHost}
		if flag != "" {
			args = append(args, flag)
		}
		out, err := l.Run(ctx, l.Testenv, args...)
		if err != nil {
			return err
		}
		*name = net.JoinHostPort(strings.TrimSpace(out), port)
	}
	log("start the center and join the sites")
	return l.join(ctx)
}

func (l *lab) join(ctx context.Context) error {
	if _, err := l.startCenter(ctx); err != nil {
		return err
	}
	l.admin = filepath.Join(l.Dir, "center", "admin.kubeconfig")
	center := &drive.Center{Kubeconfig: l.admin, Process: &drive.Process{Name: "center"}}
	for _, s := range l.sites {
		token, err := l.Token(ctx, center)
		if err != nil {
			return err
		}
		if err := l.startAgent(s, "--token", token); err != nil {
			return err
		}
		for _, until := range []string{"create", "condition=Connected"} {
			if _, err := l.K(ctx, l.admin, "wait", "--for="+until, "synctarget/"+s, "--timeout=30s"); err != nil {
				return err
			}
		}
	}
	if _, err := l.Run(ctx, l.Skerry, "space", "create", space, "--kubeconfig", l.admin); err != nil {
		return err
	}
	config, err := l.SpaceKubeconfig(ctx, center, space)
	if err != nil {
		return err
	}
	l.space, err = drive.OpenKube(config)
	return err
}

func (l *lab) cluster(site string) string { return l.network + "-" + site }

// inside starts a program in a host of the network. Its process id is the program's, so that a kill
// reaches it.
func (l *lab) inside(host, name string, program ...string) (*drive.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts++
	p, err := drive.Start(l.Dir, fmt.Sprintf("%s.%d", name, l.starts), nil, l.Testenv,
		append([]string{"net", "exec", l.network, host, "--"}, program...)...)
	if err == nil {
		l.processes[host] = p
	}
	return p, err
}

// startCenter returns when the center is ready.
func (l *lab) startCenter(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	host, _, err := net.SplitHostPort(l.uplink)
	if err != nil {
		return 0, err
	}
	inner, _, err := net.SplitHostPort(l.listen)
	if err != nil {
		return 0, err
	}
	p, err := l.inside(centerHost, "center", l.Skerry, "center", "--data-dir", filepath.Join(l.Dir, "center"),
		"--listen", "0.0.0.0:"+port,
		"--advertise", host, "--advertise", inner)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = p.WaitLine(ctx, "center ready")
	return time.Since(began), err
}

func (l *lab) startAgent(site string, more ...string) error {
	_, err := l.inside(site, "agent-"+site,
		append([]string{l.Skerry, "agent", "--data-dir", filepath.Join(l.Dir, "agent-"+site),
			"--parent", "https://" + l.listen, "--name", site, "--kubeconfig", l.configs[site]}, more...)...)
	return err
}

// kill ends the program of a host with SIGKILL.
func (l *lab) kill(host string) {
	l.mu.Lock()
	p := l.processes[host]
	l.mu.Unlock()
	p.Kill()
}

// dead returns an error for each program that has ended by itself.
func (l *lab) dead() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, p := range l.processes {
		select {
		case <-p.Exited():
			errs = append(errs, fmt.Errorf("%s ended by itself (%v); the end of its log:\n%s", p.Name, p.Err(),
				drive.Tail(p.Log, 12)))
		default:
		}
	}
	return errors.Join(errs...)
}

func (l *lab) cut(ctx context.Context, site string, link bool) error {
	args := []string{"net", "cut", l.network, "--host", site}
	if link {
		args = append(args, "--link")
	}
	_, err := l.Run(ctx, l.Testenv, args...)
	return err
}

func (l *lab) heal(ctx context.Context, site string) error {
	_, err := l.Run(ctx, l.Testenv, "net", "heal", l.network, "--host", site)
	return err
}

// down takes everything down, as far as it was made.
func (l *lab) down() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l.mu.Lock()
	for _, p := range l.processes {
		p.Kill()
	}
	l.mu.Unlock()
	var errs []error
	for _, s := range l.sites {
		if _, ok := l.configs[s]; ok {
			_, err := l.Run(ctx, l.Testenv, "down", l.cluster(s))
			errs = append(errs, err)
		}
	}
	_, err := l.Run(ctx, l.Testenv, "net", "down", l.network)
	return errors.Join(append(errs, err)...)
}

// tail is the end of the log of what runs in a host.
func (l *lab) tail(host string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return drive.Tail(l.processes[host].Log, 8)
}

// logs are the ends of the logs of what runs.
func (l *lab) logs() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out strings.Builder
	for _, p := range l.processes {
		fmt.Fprintf(&out, "--- %s\n%s\n", p.Name, drive.Tail(p.Log, 15))
	}
	return out.String()
}
