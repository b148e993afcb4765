package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"

	"skerry.dev/skerry/server/pki"
)

// bind opens the same port for TCP and UDP. Port 0 takes one that is free for both.
func bind(address string) (net.Listener, net.PacketConn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen address %q: write HOST:PORT: %w", address, err)
	}
	for range 20 {
		var tcp net.Listener
		var udp net.PacketConn
		if err := patiently(syscall.EADDRINUSE, func() (err error) {
			tcp, err = net.Listen("tcp", net.JoinHostPort(host, port))
			return err
		}); err != nil {
			return nil, nil, fmt.Errorf("listen for the kube API: %w; %s", err, otherwise(err))
		}
		listen := func() (err error) {
			udp, err = net.ListenPacket("udp", tcp.Addr().String())
			return err
		}
		if port == "0" { // another one is as good
			err = listen()
		} else {
			err = patiently(syscall.EADDRINUSE, listen)
		}
		if err == nil {
			return tcp, udp, nil
		}
		tcp.Close()
		if port != "0" {
			return nil, nil, fmt.Errorf("listen for agents: %w; %s", err, otherwise(err))
		}
	}
	return nil, nil, errors.New("listen: no port is free for both TCP and UDP")
}

// otherwise says what to do where it is not possible to listen.
func otherwise(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no interface of this machine has that address: write another with --listen, such as 0.0.0.0:7443"
	case errors.Is(err, syscall.EACCES):
		return "this user may not use that port: choose one above 1023 with --listen"
	}
	return "stop what uses the port, or choose another --listen"
}

// reachedBy lists HOST:PORT addresses that the center is reached by, the best one for other
// machines first: what it advertises, then where it listens. One that listens on all addresses is
// reached by that of the machine's default route.
func reachedBy(bound net.Addr, cfg Config) []string {
	host, port, _ := net.SplitHostPort(bound.String())
	hosts := slices.Clone(cfg.Advertise)
	if unspecified(bound) {
		host = routeAddress(bound)
	}
	if host != "" {
		hosts = append(hosts, host)
	}
	hosts = append(hosts, "127.0.0.1", "localhost", "::1")
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	var out []string
	for _, h := range hosts {
		if a := net.JoinHostPort(h, port); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// routeAddress is the address of this machine's default route, empty where it has none. It is the one
// by which other replicas reach it, too.
func routeAddress(bound net.Addr) string {
	address, err := replicaAddress("", bound)
	if err != nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(address)
	return host
}

// unspecified reports whether an address means all of the machine's.
func unspecified(a net.Addr) bool {
	host, _, _ := net.SplitHostPort(a.String())
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

func withoutPorts(addresses []string) []string {
	var out []string
	for _, a := range addresses {
		host, _, _ := net.SplitHostPort(a)
		out = append(out, host)
	}
	return out
}

func serverTLS(c *pki.Serving) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.Certificate}
}

// quietly is for sockets that their users close too.
func quietly(close func() error) func() error {
	return func() error {
		if err := close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}
