package admin

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A center writes its admin a kubeconfig that leads to where it listens, or to the loopback, and
// names in tls-server-name the address that it advertises. So the admin is not locked out by a name
// that does not resolve. Other machines get the advertised address.

// handshakeTime bounds how long the loopback may take to show the center's certificate.
const handshakeTime = 2 * time.Second

// localExtension names the extension of a cluster that a center wrote: its address is one for this
// machine, and tls-server-name is that for others.
const localExtension = "skerry.dev/local-address"

// LocalAddress has a cluster of a center's own kubeconfig say that its address is for this machine.
func LocalAddress(cluster *clientcmdapi.Cluster) error {
	says, err := extension(true)
	if err != nil {
		return err
	}
	cluster.Extensions = map[string]runtime.Object{localExtension: says}
	return nil
}

func saysLocal(cluster *clientcmdapi.Cluster) (local bool) {
	return cluster != nil && readExtension(cluster.Extensions, localExtension, &local) && local
}

// advertised returns the address of the center for other machines. It is false if the address of the
// kubeconfig is that for all. An address beside the loopback is for this machine if the kubeconfig says
// so: who writes tls-server-name by hand may have another way to the center.
func advertised(server, tlsName string, local bool) (string, bool) {
	u, err := url.Parse(server)
	if err != nil || tlsName == "" {
		return "", false
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() && !local {
		return "", false
	}
	u.Host = net.JoinHostPort(tlsName, u.Port())
	return u.String(), true
}

// leaveLoopback makes the advertised address that of the current context, if the loopback is not the
// center: the kubeconfig was copied to another machine.
func leaveLoopback(file *clientcmdapi.Config, config *rest.Config) {
	cluster := currentCluster(file)
	away, ok := advertised(config.Host, config.ServerName, saysLocal(cluster))
	if !ok || isCenter(config) {
		return
	}
	config.Host, config.ServerName = away, ""
	cluster.Server, cluster.TLSServerName = away, ""
}

// currentCluster is that of the current context, nil if there is none.
func currentCluster(file *clientcmdapi.Config) *clientcmdapi.Cluster {
	current := file.Contexts[file.CurrentContext]
	if current == nil {
		return nil
	}
	return file.Clusters[current.Cluster]
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
	if away, ok := advertised(at, c.config.ServerName, saysLocal(currentCluster(c.file))); ok {
		return away
	}
	return at
}
