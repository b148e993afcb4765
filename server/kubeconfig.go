package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/server/doctor"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/tunnel/keyfile"
)

// AdminKubeconfig is the path of the admin's kubeconfig, mode 0600, whose current context is root.
func (s *Server) AdminKubeconfig() string { return filepath.Join(s.cfg.DataDir, doctor.KubeconfigFile) }

// localCluster is the center as this machine reaches it: where it listens, if that is one address, and
// the loopback if it listens on all and is known by a host name. What --advertise gives may not lead
// here, or not yet. It is what the certificate is checked for, and package admin takes the address for
// other machines from it.
func (s *Server) localCluster() (*clientcmdapi.Cluster, error) {
	c := &clientcmdapi.Cluster{Server: s.url, CertificateAuthorityData: s.keys.Bundle()}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(s.url, "https://"))
	_, isName := netip.ParseAddr(host)
	if local := "https://" + s.local; err == nil && local != s.url && (isName != nil || !s.everywhere) {
		c.Server, c.TLSServerName = local, host
		return c, admin.LocalAddress(c)
	}
	return c, nil
}

// advertise returns the certificate for the names by which the center is reached. Those that
// kubeconfigs and join commands carry are kept in it: what is advertised and, unless other replicas
// have addresses of their own, the best one.
func (s *Server) advertise(names []string) (*pki.Serving, error) {
	lasting := slices.Clone(s.cfg.Advertise)
	if !s.store.Shared() && !slices.Contains(lasting, names[0]) {
		lasting = append(lasting, names[0])
	}
	s.keys.Advertise(names, lasting)
	if former := s.keys.FormerNames(); len(former) > 0 {
		s.cfg.Log.Warn("the certificate keeps names that are no longer advertised; see skerry ca status, and take one "+
			"off with skerry ca forget", "names", former)
	}
	certificate, err := s.keys.Serving(names...)
	if err != nil {
		return nil, fmt.Errorf("issue the server's certificate: %w", err)
	}
	return certificate, nil
}

// loopback is where this machine reaches a center that listens on all addresses.
const loopback = "127.0.0.1"

// localAddress is HOST:PORT by which this machine reaches what is bound to an address.
func localAddress(bound net.Addr) string {
	if _, port, err := net.SplitHostPort(bound.String()); err == nil && unspecified(bound) {
		return net.JoinHostPort(loopback, port)
	}
	return bound.String()
}

// writeAdminKubeconfig writes the file anew: the address may have changed, the authorities, and the
// certificate in it lives for a year. Contexts that somebody added are kept. The file names itself in
// an extension, so that `skerry space use` tells it from a user's own file.
func (s *Server) writeAdminKubeconfig() error {
	const name = v1alpha1.RootSpace
	cert, key, err := s.keys.ClientCertificate("skerry-admin", user.SystemPrivilegedGroup)
	if err != nil {
		return fmt.Errorf("issue the admin's certificate: %w", err)
	}
	path, err := filepath.Abs(s.AdminKubeconfig())
	if err != nil {
		return fmt.Errorf("find the admin's kubeconfig: %w", err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		config = clientcmdapi.NewConfig()
		config.CurrentContext = name
	}
	local, err := s.localCluster()
	if err != nil {
		return err
	}
	config.Clusters[name] = local
	for _, space := range config.Clusters {
		if strings.HasPrefix(space.Server, local.Server+"/") {
			space.CertificateAuthorityData = local.CertificateAuthorityData
		}
	}
	config.AuthInfos["skerry-admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: "skerry-admin"}
	if config.Extensions[admin.CenterFileExtension], err = admin.CenterFile(path); err != nil {
		return err
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode the admin's kubeconfig: %w", err)
	}
	return keyfile.Replace(path, data)
}

// renewClient issues another client certificate to who holds one.
func (s *Server) renewClient(peer *x509.Certificate, request []byte) (authn.Renewed, error) {
	cert, err := s.keys.RenewClient(peer, request)
	return authn.Renewed{Certificate: string(cert), Authorities: string(s.keys.Bundle())}, err
}

// rotated writes the admin's kubeconfig and the ConfigMaps kube-root-ca.crt anew: other authorities
// sign, or are trusted.
func (s *Server) rotated() {
	s.defaults.Renew(context.Background())
	s.tokens.Renew()
	if err := s.writeAdminKubeconfig(); err != nil {
		s.cfg.Log.Error(
			"the admin's kubeconfig could not be written with the authorities of the moment; the center writes it at "+
				"its next start",
			"err",
			err,
		)
	}
}

// kubeconfigDays is how often the admin's kubeconfig is written anew, long before the certificate
// in it ends.
const kubeconfigDays = 30 * 24 * time.Hour

// renewKubeconfig writes the admin's kubeconfig anew from time to time until ctx ends.
func (s *Server) renewKubeconfig(ctx context.Context) error {
	tick := time.NewTicker(kubeconfigDays)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.rotated()
		case <-ctx.Done():
			return nil
		}
	}
}
