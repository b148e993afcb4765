package admin

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A center that listens on all addresses writes its admin a kubeconfig that leads to the loopback, and
// names in tls-server-name the address that it advertises. So the admin is not locked out by a name
// that does not resolve. Other machines get the advertised address.

// handshakeTime bounds how long the loopback may take to show the center's certificate.
const handshakeTime = 2 * time.Second

// advertised returns the address of the center for other machines. It is false if the address of the
// kubeconfig is that for all.
func advertised(server, tlsName string) (string, bool) {
	u, err := url.Parse(server)
	if err != nil || tlsName == "" {
		return "", false
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return "", false
	}
	u.Host = net.JoinHostPort(tlsName, u.Port())
	return u.String(), true
}

// leaveLoopback makes the advertised address that of the current context, if the loopback is not the
// center: the kubeconfig was copied to another machine.
func leaveLoopback(file *clientcmdapi.Config, config *rest.Config) {
	away, ok := advertised(config.Host, config.ServerName)
	if !ok || isCenter(config) {
		return
	}
	config.Host, config.ServerName = away, ""
	cluster := file.Clusters[file.Contexts[file.CurrentContext].Cluster]
	cluster.Server, cluster.TLSServerName = away, ""
}

// isCenter reports whether the server of a configuration shows the certificate that it is to show.
func isCenter(config *rest.Config) bool {
	u, err := url.Parse(config.Host)
	if err != nil || rest.LoadTLSFiles(config) != nil {
		return false
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CAData) {
		return false
	}
	dialer := &net.Dialer{Timeout: handshakeTime}
	conn, err := tls.DialWithDialer(dialer, "tcp", u.Host, &tls.Config{RootCAs: roots, ServerName: config.ServerName,
		MinVersion: tls.VersionTLS12})
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// publicURL is the address of a space's kube API for other machines.
func (c *center) publicURL(space string) string {
	at := c.spaceURL(space)
	if away, ok := advertised(at, c.config.ServerName); ok {
		return away
	}
	return at
}
