package admin

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// forCaller returns a kubeconfig with one context, for the space or its view at a path of targets,
// that uses the caller's own credentials. It is for the caller's own file only: never hand it to
// somebody else.
func (c *center) forCaller(space, at string) (*clientcmdapi.Config, error) {
	current, ok := c.file.Contexts[c.file.CurrentContext]
	if !ok {
		return nil, fmt.Errorf("kubeconfig %s has no current context", c.path)
	}
	cluster, user := c.file.Clusters[current.Cluster], c.file.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return nil, fmt.Errorf("the current context %q of kubeconfig %s names a cluster or user that is not there",
			c.file.CurrentContext, c.path)
	}
	out := clientcmdapi.NewConfig()
	cluster, user = cluster.DeepCopy(), user.DeepCopy()
	cluster.Server = urlAt(c.spaceURL(space), at)
	name := contextAt(space, at)
	out.Clusters[name] = cluster
	out.AuthInfos[current.AuthInfo] = user
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: current.AuthInfo}
	out.CurrentContext = name
	if err := clientcmdapi.FlattenConfig(out); err != nil {
		return nil, fmt.Errorf("embed the credentials of %s: %w", c.path, err)
	}
	return out, nil
}

// use adds a context for the space, or its view at a path of targets, to the kubeconfig file and
// makes it the current one. The file is replaced as a whole, mode 0600.
func (c *center) use(space, at string) error {
	merged := c.file.DeepCopy()
	if space == "root" && at == "" {
		if _, ok := merged.Contexts["root"]; ok {
			merged.CurrentContext = "root"
			return replaceFile(c.path, merged)
		}
	}
	one, err := c.forCaller(space, at)
	if err != nil {
		return err
	}
	for name, cluster := range one.Clusters {
		merged.Clusters[name] = cluster
	}
	for name, ctx := range one.Contexts {
		merged.Contexts[name] = ctx
	}
	merged.CurrentContext = contextAt(space, at)
	return replaceFile(c.path, merged)
}

// forToken returns a kubeconfig with one context, for the space or its view at a path of targets,
// that uses a user's token. It has nothing of the caller's but the center's address and authorities.
func (c *center) forToken(space, at, ns, user, token string) (*clientcmdapi.Config, error) {
	current, ok := c.file.Contexts[c.file.CurrentContext]
	if !ok || c.file.Clusters[current.Cluster] == nil {
		return nil, fmt.Errorf("kubeconfig %s has no current context, or it names a cluster that is not there", c.path)
	}
	cluster := c.file.Clusters[current.Cluster].DeepCopy()
	cluster.Server = urlAt(c.spaceURL(space), at)
	name, out := contextAt(space, at), clientcmdapi.NewConfig()
	out.Clusters[name] = cluster
	out.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: ns}
	out.CurrentContext = name
	if err := clientcmdapi.FlattenConfig(out); err != nil {
		return nil, fmt.Errorf("embed the authorities that %s names: %w", c.path, err)
	}
	return out, nil
}

func replaceFile(path string, config *clientcmdapi.Config) error {
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
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
