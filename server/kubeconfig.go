package server

import (
	"fmt"
	"path/filepath"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/tunnel/keyfile"
)

// AdminKubeconfig is the path of the admin's kubeconfig, mode 0600, whose current context is root.
func (s *Server) AdminKubeconfig() string { return filepath.Join(s.cfg.DataDir, "admin.kubeconfig") }

// writeAdminKubeconfig writes the file anew at each start: the address may have changed, and the certificate in it lives for a year. Contexts
// that somebody added (skerry space use) are kept.
func (s *Server) writeAdminKubeconfig(keys *pki.PKI) error {
	const name = v1alpha1.RootSpace
	cert, key, err := keys.ClientCertificate("skerry-admin", user.SystemPrivilegedGroup)
	if err != nil {
		return fmt.Errorf("issue the admin's certificate: %w", err)
	}
	path := s.AdminKubeconfig()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		config = clientcmdapi.NewConfig()
		config.CurrentContext = name
	}
	config.Clusters[name] = &clientcmdapi.Cluster{Server: s.url, CertificateAuthorityData: keys.Bundle()}
	config.AuthInfos["skerry-admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: "skerry-admin"}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode the admin's kubeconfig: %w", err)
	}
	return keyfile.Replace(path, data)
}
