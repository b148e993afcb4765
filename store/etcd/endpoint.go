package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// ErrEndpoint is returned by Open for an invalid Config.Endpoint.
var ErrEndpoint = errors.New("the datastore's endpoint must be https://HOST:PORT of each etcd member, with commas, " +
	"and the last one may have a path, below which all keys are")

// defaultPrefix is where keys are unless the endpoint has a path.
const defaultPrefix = "/skerry"

// Files are those of TLS with etcd. A certificate is read again for each connection.
type Files struct {
	// CA has the authorities of the members' certificates; empty means the system's.
	CA string
	// Cert and Key are of this center, as a client of etcd.
	Cert, Key string
}

// address is where a cluster is.
type address struct {
	members        []string // URLs without a path
	prefix         string   // "/skerry", without a slash at its end
	user, password string
	plain          bool // without TLS
}

// IsEndpoint reports whether a datastore's endpoint is meant to be one of etcd.
func IsEndpoint(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

func parse(text string) (a address, err error) {
	for member := range strings.SplitSeq(text, ",") {
		if a.prefix != "" {
			return a, ErrEndpoint // the path is the last one's
		}
		u, err := url.Parse(strings.TrimSpace(member))
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" ||
			u.RawQuery != "" || u.Fragment != "" {
			return a, ErrEndpoint // without the text, which may have a password
		}
		if u.User != nil {
			a.user = u.User.Username()
			a.password, _ = u.User.Password()
		}
		if u.Scheme == "http" {
			if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
				return a, fmt.Errorf("the datastore's endpoint http://%s: without TLS only on this machine; write https://",
					u.Host)
			}
			a.plain = true
		}
		a.prefix = strings.TrimRight(u.Path, "/")
		a.members = append(a.members, u.Scheme+"://"+u.Host)
	}
	if a.prefix == "" {
		a.prefix = defaultPrefix
	}
	return a, nil
}

// config reads the files. Certificates that are renewed in place count from the next connection on.
func (f Files) config() (*tls.Config, error) {
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("--datastore-cert-file and --datastore-key-file go together")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("--datastore-ca-file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--datastore-ca-file %s: no certificate is in it", f.CA)
		}
	}
	if f.Cert != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			if err != nil {
				return nil, fmt.Errorf("--datastore-cert-file %s, --datastore-key-file %s: %w", f.Cert, f.Key, err)
			}
			return &pair, nil
		}
		if _, err := load(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return c, nil
}
