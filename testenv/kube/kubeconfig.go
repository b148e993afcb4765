// Package kube is the little of the Kubernetes API that starting a cluster
// needs, over plain HTTP and YAML: a kubeconfig, a client that reads and applies
// objects, a poll. It keeps client-go out of this module.
package kube

import (
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
	type object = map[string]any
	data, err := yaml.Marshal(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{"name": name, "cluster": object{
			"server":                     a.Server,
			"certificate-authority-data": a.CA,
		}}},
		"users":           []object{{"name": name, "user": object{"token": a.Token}}},
		"contexts":        []object{{"name": name, "context": object{"cluster": name, "user": name}}},
		"current-context": name,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
