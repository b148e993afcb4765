package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/keyfile"
)

// AdminKubeconfig is the path of the admin's kubeconfig, mode 0600, whose current context is root.
func (s *Server) AdminKubeconfig() string { return filepath.Join(s.cfg.DataDir, "admin.kubeconfig") }

// writeAdminKubeconfig writes the file anew: the address may have changed, the authorities, and the
// certificate in it lives for a year. Contexts that somebody added (skerry space use) are kept,
// with the authorities of the moment.
func (s *Server) writeAdminKubeconfig() error {
	const name = v1alpha1.RootSpace
	cert, key, err := s.keys.ClientCertificate("skerry-admin", user.SystemPrivilegedGroup)
	if err != nil {
		return fmt.Errorf("issue the admin's certificate: %w", err)
	}
	path := s.AdminKubeconfig()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		config = clientcmdapi.NewConfig()
		config.CurrentContext = name
	}
	config.Clusters[name] = &clientcmdapi.Cluster{Server: s.url, CertificateAuthorityData: s.keys.Bundle()}
	for _, space := range config.Clusters {
		if space.Server == s.url || strings.HasPrefix(space.Server, s.url+"/") {
			space.CertificateAuthorityData = s.keys.Bundle()
		}
	}
	config.AuthInfos["skerry-admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: "skerry-admin"}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode the admin's kubeconfig: %w", err)
	}
	return keyfile.Replace(path, data)
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
