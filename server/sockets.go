package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"skerry.dev/skerry/server/pki"
)

// bind opens the same port for TCP and UDP. Port 0 takes one that is free for both.
func bind(address string) (net.Listener, net.PacketConn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen address %q: write HOST:PORT: %w", address, err)
	}
	for range 20 {
		tcp, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return nil, nil, fmt.Errorf("listen for the kube API: %w", err)
		}
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err == nil {
			return tcp, udp, nil
		}
		tcp.Close()
		if port != "0" {
			return nil, nil, fmt.Errorf("listen for agents: %w", err)
		}
	}
	return nil, nil, errors.New("listen: no port is free for both TCP and UDP")
}

// reachedBy lists HOST:PORT addresses that the center is reached by, the best one for its own
// kubeconfig first.
func reachedBy(bound net.Addr, cfg Config) []string {
	host, port, _ := net.SplitHostPort(bound.String())
	var hosts []string
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		hosts = append(hosts, cfg.Advertise...)
	} else {
		hosts = append(append(hosts, host), cfg.Advertise...)
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
