package server

import (
	"crypto/rand"
	"fmt"
	"net"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// A replica's identity in the Lease of the leader is "URL LIFE HOST:PORT": where users reach it,
// what tells two lives of it apart, and where the other replicas reach it.

func replicaIdentity(
	url, address string,
) string {
	return url + " " + rand.Text()[:8] + " " + address
}

// url is where users reach the leader, empty while none is known.
func (l *leadership) url() string {
	if leader := l.leader.Load(); leader != nil {
		url, _, _ := strings.Cut(*leader, " ")
		return url
	}
	return ""
}

// address is where the other replicas reach the leader, empty while none but this one is known.
func (l *leadership) address() string {
	leader := l.leader.Load()
	if leader == nil || *leader == l.identity {
		return ""
	}
	if fields := strings.SplitN(*leader, " ", 3); len(fields) == 3 {
		return fields[2]
	}
	return ""
}

// replicaAddress is HOST:PORT by which the other replicas reach this one: what is configured, or
// where it listens. One that listens everywhere takes the address of its default route.
func replicaAddress(configured string, bound net.Addr) (string, error) {
	if configured != "" {
		return configured, nil
	}
	host, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return "", err
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsUnspecified() {
		return net.JoinHostPort(host, port), nil
	}
	if ip, err = utilnet.ResolveBindAddress(ip); err != nil {
		return "", fmt.Errorf(
			"no address by which the other replicas reach this one is known; "+
				"name one with --replica-address: %w",
			err,
		)
	}
	return net.JoinHostPort(ip.String(), port), nil
}
