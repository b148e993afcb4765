package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"skerry.dev/skerry/testenv/netns"
)

// RouterCommand is the first argument that makes the testenv binary call
// [Route].
const RouterCommand = "net-router"

const (
	tunDevice  = "faults"
	faultTable = "100" // the routing table for what comes from a host
)

// Route runs a network's router: args are the network's directory. It must be
// in the router's network namespace. It answers on the control socket when
// packets flow.
func Route(args []string) error {
	if len(args) != 1 {
		return errors.New(RouterCommand + ": want DIRECTORY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	n, err := load(args[0])
	if err != nil {
		return err
	}
	tun, err := openTUN(tunDevice)
	if err != nil {
		return err
	}
	if err := n.routeThroughTUN(ctx); err != nil {
		return err
	}
	hosts := map[netip.Addr]string{}
	for _, h := range n.Hosts {
		hosts[h.Address] = h.Name
	}
	l := newLink(tun, hosts)
	listener, err := net.Listen("unix", n.socket())
	if err != nil {
		return err
	}
	defer listener.Close()
	go l.control(listener)
	return l.run(ctx)
}

// routeThroughTUN sends what comes from a host to the TUN device; what comes
// from there is routed as usual.
func (n *Net) routeThroughTUN(ctx context.Context) error {
	// Both ways of a packet come in on devices that the other way does not go
	// out on, which a reverse path filter would not let pass.
	filters, err := filepath.Glob("/proc/sys/net/ipv4/conf/*/rp_filter")
	if err != nil {
		return err
	}
	for _, file := range append(filters, "/proc/sys/net/ipv4/ip_forward") {
		value := "0"
		if filepath.Base(file) == "ip_forward" {
			value = "1"
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return err
		}
	}
	if err := netns.IP(ctx, "link", "set", tunDevice, "up"); err != nil {
		return err
	}
	if err := netns.IP(ctx, "route", "add", "default", "dev", tunDevice, "table", faultTable); err != nil {
		return err
	}
	for _, h := range n.Hosts {
		if err := netns.IP(ctx, "rule", "add", "iif", h.leg(), "lookup", faultTable); err != nil {
			return err
		}
	}
	return nil
}

// control takes the rules of each connection, answers when they are in force,
// and ends with the listener.
func (l *link) control(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = fmt.Fprint(conn, l.accept(conn)) // the caller may have gone
		conn.Close()
	}
}

// accepted is the answer to rules that are in force.
const accepted = "ok"

func (l *link) accept(from io.Reader) string {
	var rules Rules
	if err := json.NewDecoder(from).Decode(&rules); err != nil {
		return err.Error()
	}
	l.rules.Store(&rules)
	return accepted
}

// send puts rules in force.
func (n *Net) send(ctx context.Context, rules Rules) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", n.socket())
	if err != nil {
		return fmt.Errorf("the router of network %s does not run: %w", n.Name, err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(rules); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && string(answer) != accepted {
		err = errors.New("router: " + string(answer))
	}
	return err
}

func (n *Net) socket() string { return filepath.Join(n.dir, "router.sock") }
