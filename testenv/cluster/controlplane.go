package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"skerry.dev/skerry/testenv/kube"
	"skerry.dev/skerry/testenv/pki"
)

// Address ranges inside a cluster; the same in every one.
const (
	podRange       = "10.244.0.0/16"
	nodePodRange   = "10.244.0.0/24"
	serviceRange   = "10.96.0.0/16"
	firstServiceIP = "10.96.0.1"
	dnsServiceIP   = "10.96.0.10"
)

// storageProvisioner is the provisioner that "wec server" runs.
const storageProvisioner = "testenv.skerry.dev/directory"

// serverConfig is the file of "wec server".
type serverConfig struct {
	Store             string   `json:"store"`
	StoreSocket       string   `json:"storeSocket"`
	Kubeconfig        string   `json:"kubeconfig"`
	APIServer         []string `json:"apiServer"`
	ControllerManager []string `json:"controllerManager"`
	Scheduler         []string `json:"scheduler"`
	Volumes           string   `json:"volumes"`
	Kwok              any      `json:"kwok,omitempty"`
}

// users are the identities of a cluster's own components: user name and groups
// by the name of their kubeconfig.
func (c *Cluster) users() map[string][]string {
	users := map[string][]string{
		"kubeconfig":                    {"admin", "system:masters"},
		"controller-manager.kubeconfig": {"system:kube-controller-manager"},
		"scheduler.kubeconfig":          {"system:kube-scheduler"},
	}
	if c.Kind == Real {
		users["kubelet.kubeconfig"] = []string{"system:node:" + c.NodeName(1), "system:nodes"}
		users["proxy.kubeconfig"] = []string{"system:kube-proxy"}
	}
	return users
}

// writeCredentials makes certificates, tokens and kubeconfigs, and returns the
// administrator's access. They are made once in a cluster's life.
func (c *Cluster) writeCredentials() (kube.Access, error) {
	ca, err := pki.New(c.path("pki"), c.Name+"-ca")
	if err != nil {
		return kube.Access{}, err
	}
	hosts := []string{c.Address, "127.0.0.1", firstServiceIP, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if c.Place != nil {
		hosts = append(hosts, c.Place.Others...)
	}
	err = errors.Join(
		ca.Issue("apiserver", "kube-apiserver", nil, hosts...),
		ca.Issue("kubelet-client", "kube-apiserver-kubelet-client", []string{"system:masters"}),
		ca.Issue("front-proxy-client", frontProxy, nil),
		ca.Issue("kubelet", "system:node:"+c.NodeName(1), []string{"system:nodes"}, c.Address, "127.0.0.1", c.NodeName(1)),
		ca.WriteKey("service-account"),
	)
	if err != nil {
		return kube.Access{}, err
	}
	var admin kube.Access
	var tokens strings.Builder
	for file, user := range c.users() {
		access := kube.Access{Server: c.Server(), CA: ca.CertificatePEM(), Token: rand.Text()}
		if file == "kubeconfig" {
			admin = access
		}
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", access.Token, user[0], user[0], strings.Join(user[1:], ","))
		if err := access.WriteKubeconfig(c.path(file), c.Name); err != nil {
			return kube.Access{}, err
		}
	}
	return admin, os.WriteFile(c.path("pki", "tokens.csv"), []byte(tokens.String()), 0o600)
}

// writeServerConfig writes server.json, whose paths are relative to the
// cluster's directory.
func (c *Cluster) writeServerConfig() error {
	config := serverConfig{
		Store:             "memory://",
		StoreSocket:       storeSocket,
		Kubeconfig:        "kubeconfig",
		APIServer:         c.apiServerFlags(),
		ControllerManager: c.controllerManagerFlags(),
		Scheduler:         componentFlags("scheduler"),
		Volumes:           c.path("volumes"),
	}
	if c.Persist {
		config.Store = "sqlite://store.db?_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate"
	}
	if c.Kind == Simulated {
		config.Kwok = c.kwokOptions()
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("server.json"), data, 0o600)
}

const (
	storeSocket = "kine.sock"
	// frontProxy is the common name with which the API server asks others for its users.
	frontProxy = "front-proxy-client"
)

func (c *Cluster) apiServerFlags() []string {
	bind := c.Address
	if c.Place != nil {
		bind = "0.0.0.0" // other hosts reach it, too
	}
	flags := []string{
		"--etcd-servers=unix://" + c.path(storeSocket),
		fmt.Sprintf("--secure-port=%d", apiPort),
		"--bind-address=" + bind,
		"--advertise-address=" + c.Address,
		"--tls-cert-file=pki/apiserver.crt",
		"--tls-private-key-file=pki/apiserver.key",
		"--client-ca-file=pki/ca.crt",
		"--token-auth-file=pki/tokens.csv",
		"--service-account-key-file=pki/service-account.key",
		"--service-account-signing-key-file=pki/service-account.key",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--profiling=false",
		"--kubelet-client-certificate=pki/kubelet-client.crt",
		"--kubelet-client-key=pki/kubelet-client.key",
		"--kubelet-certificate-authority=pki/ca.crt",
		"--kubelet-preferred-address-types=InternalIP",
		// How an API behind an APIService knows whom this API server asks for.
		"--requestheader-client-ca-file=pki/ca.crt",
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=pki/front-proxy-client.crt",
		"--proxy-client-key-file=pki/front-proxy-client.key",
	}
	if c.Kind == Simulated {
		// The service "kubernetes" may not have a loopback address behind it.
		flags = append(flags, "--endpoint-reconciler-type=none")
	}
	return flags
}

func (c *Cluster) controllerManagerFlags() []string {
	return append(componentFlags("controller-manager"),
		"--service-account-private-key-file=pki/service-account.key",
		"--root-ca-file=pki/ca.crt",
		"--use-service-account-credentials",
		"--allocate-node-cidrs",
		"--cluster-cidr="+podRange,
		"--service-cluster-ip-range="+serviceRange,
		"--cluster-signing-cert-file=pki/ca.crt",
		"--cluster-signing-key-file=pki/ca.key",
	)
}

// componentFlags are those of the API server's clients in its own process.
// Nothing of them listens, and the usual limit of requests a second, which at
// the start costs four seconds, would protect the process from itself.
func componentFlags(name string) []string {
	kubeconfig := name + ".kubeconfig"
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

// kwokOptions are the options of kwok's configuration. The library does not set
// the defaults of parallelism, and zero workers do nothing.
func (c *Cluster) kwokOptions() map[string]any {
	return map[string]any{
		"manageAllNodes":            true,
		"cidr":                      nodePodRange,
		"nodeIP":                    c.Address,
		"nodePort":                  kubeletPort,
		"serverAddress":             fmt.Sprintf("%s:%d", c.Address, kubeletPort),
		"tlsCertFile":               c.path("pki", "kubelet.crt"),
		"tlsPrivateKeyFile":         c.path("pki", "kubelet.key"),
		"enableDebuggingHandlers":   true,
		"podPlayStageParallelism":   4,
		"nodePlayStageParallelism":  4,
		"nodeLeaseDurationSeconds":  40,
		"nodeLeaseParallelism":      4,
		"podsOnNodeSyncParallelism": 1,
	}
}
