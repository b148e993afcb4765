// Package kube is the little of the Kubernetes API that starting a cluster
// needs, over plain HTTP and YAML: a kubeconfig, a client that reads and applies
// objects, a poll. It keeps client-go out of this module.
package kube

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Access says how to reach an API server, as whom.
type Access struct {
	// Server is its URL.
	Server string
	// CA is the PEM of the authority that its certificate must come from.
	CA []byte
	// Token is a bearer token.
	Token string
}

// WriteKubeconfig writes the access as a kubeconfig that is complete in itself,
// readable by its owner alone. The context and the cluster are named name.
func (a Access) WriteKubeconfig(path, name string) error {
	var f file
	f.APIVersion, f.Kind, f.CurrentContext = "v1", "Config", name
	f.Clusters = []namedCluster{{name, clusterEntry{Server: a.Server, CA: a.CA}}}
	f.Users = []namedUser{{name, userEntry{Token: a.Token}}}
	f.Contexts = []namedContext{{name, contextEntry{Cluster: name, User: name}}}
	data, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// ReadKubeconfig reads what [Access.WriteKubeconfig] wrote.
func ReadKubeconfig(path string) (Access, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Access{}, err
	}
	var f file
	if err := yaml.Unmarshal(data, &f); err != nil {
		return Access{}, fmt.Errorf("read %s: %w", path, err)
	}
	if len(f.Clusters) != 1 || len(f.Users) != 1 {
		return Access{}, fmt.Errorf("read %s: want one cluster and one user", path)
	}
	cluster := f.Clusters[0].Cluster
	return Access{Server: cluster.Server, CA: cluster.CA, Token: f.Users[0].User.Token}, nil
}

// file is the part of a kubeconfig that is used here.
type file struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	Clusters       []namedCluster `json:"clusters"`
	Users          []namedUser    `json:"users"`
	Contexts       []namedContext `json:"contexts"`
	CurrentContext string         `json:"current-context"`
}

type namedCluster struct {
	Name    string       `json:"name"`
	Cluster clusterEntry `json:"cluster"`
}

type clusterEntry struct {
	Server string `json:"server"`
	CA     []byte `json:"certificate-authority-data"`
}

type namedUser struct {
	Name string    `json:"name"`
	User userEntry `json:"user"`
}

type userEntry struct {
	Token string `json:"token"`
}

type namedContext struct {
	Name    string       `json:"name"`
	Context contextEntry `json:"context"`
}

type contextEntry struct {
	Cluster string `json:"cluster"`
	User    string `json:"user"`
}
