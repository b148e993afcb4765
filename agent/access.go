package agent

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/agent/target"
)

// Cluster returns the target of an agent beside a workload cluster: the current context of a
// kubeconfig file. If kubeconfig is empty, it is the cluster that this process runs in.
func Cluster(kubeconfig string) (target.Access, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the workload cluster (give --kubeconfig FILE when not inside of it): %w", err)
		}
		return target.Cluster(config), nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w; name that of the workload cluster with --kubeconfig", kubeconfig, err)
	}
	return target.Cluster(config), nil
}

// Relay returns the target of a center that joins a parent: its own spaces.
func Relay(center interface {
	Loopback(space string) *rest.Config
}) target.Access {
	return target.Relay(center.Loopback)
}
