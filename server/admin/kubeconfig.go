package admin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// forUser returns a kubeconfig with one context, for the space or its view at a path of targets, for
// another user. It has nothing of the caller's but the center's address and authorities.
func (c *center) forUser(space, at, ns, user string, shows *clientcmdapi.AuthInfo) (*clientcmdapi.Config, error) {
	current, ok := c.file.Contexts[c.file.CurrentContext]
	if !ok || c.file.Clusters[current.Cluster] == nil {
		return nil, fmt.Errorf("kubeconfig %s has no current context, or it names a cluster that is not there", c.path)
	}
	cluster := c.file.Clusters[current.Cluster].DeepCopy()
	cluster.TLSServerName = publicName(cluster) // before its address is another one
	cluster.Server = urlAt(c.publicURL(space), at)
	delete(cluster.Extensions, localExtension)
	name, out := contextAt(space, at), clientcmdapi.NewConfig()
	out.Clusters[name] = cluster
	out.AuthInfos[user] = shows
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: ns}
	out.CurrentContext = name
	if err := clientcmdapi.FlattenConfig(out); err != nil {
		return nil, fmt.Errorf("embed the authorities that %s names: %w", c.path, err)
	}
	return out, nil
}

// publicName is the tls-server-name for other machines: that of the cluster, if its address is also
// theirs.
func publicName(cluster *clientcmdapi.Cluster) string {
	if _, local := advertised(cluster.Server, cluster.TLSServerName, saysLocal(cluster)); local {
		return ""
	}
	return cluster.TLSServerName
}

func replaceFile(path string, config *clientcmdapi.Config) error {
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w; name a file in a directory that is there, and that you may write to",
			path, errors.Unwrap(err))
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return os.Rename(tmp.Name(), path)
}
