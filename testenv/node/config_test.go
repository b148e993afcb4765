package node

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var testSpec = Spec{
	Name:       "a-node-1",
	Dir:        "/state/node",
	PKI:        "/state/pki",
	Proxy:      "/state/proxy.kubeconfig",
	Address:    "10.202.0.2",
	PodRange:   "10.244.0.0/24",
	DNS:        "10.96.0.10",
	Cgroup:     "skt-a",
	PauseImage: "localhost/pause:1",
}

func TestKubeletConfig(t *testing.T) {
	data, err := testSpec.render("kubelet.yaml", "/usr/sbin/runc")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(data, &got); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	for key, want := range map[string]any{
		"address":               "10.202.0.2",
		"cgroupRoot":            "/skt-a",
		"failCgroupV1":          false,
		"oomScoreAdj":           float64(0),
		"protectKernelDefaults": true,
		"resolvConf":            "/state/node/resolv.conf",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

func TestProxyAndNetworkConfig(t *testing.T) {
	data, err := testSpec.render("proxy.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	var proxy map[string]any
	if err := yaml.UnmarshalStrict(data, &proxy); err != nil || proxy["hostnameOverride"] != "a-node-1" {
		t.Errorf("%v: %v", err, proxy)
	}
	if data, err = testSpec.render("10-pods.conflist", ""); err != nil {
		t.Fatal(err)
	}
	var network map[string]any
	if err := json.Unmarshal(data, &network); err != nil || !strings.Contains(string(data), `"10.244.0.0/24"`) {
		t.Errorf("%v: %s", err, data)
	}
}

func TestContainerdConfig(t *testing.T) {
	data, err := testSpec.render("containerd.toml", "/usr/sbin/runc")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sandbox = 'localhost/pause:1'", "BinaryName = '/usr/sbin/runc'",
		"restrict_oom_score_adj = true"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no line %s in\n%s", want, data)
		}
	}
}
