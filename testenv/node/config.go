package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"
)

//go:embed config/*
var configFiles embed.FS

var templates = template.Must(template.ParseFS(configFiles, "config/*"))

// The files of the node's directory that its programs read.
const (
	containerdFile = "containerd.toml"
	kubeletFile    = "kubelet.yaml"
	proxyFile      = "proxy.yaml"
	networkFile    = "cni-config/net.d/10-pods.conflist"
	resolvFile     = "resolv.conf"
	registryFile   = "registries/_default/hosts.toml"
)

// ImageNamespace is containerd's namespace of the images that pods run.
const ImageNamespace = "k8s.io"

// ContainerdSocket is where containerd listens, as the node sees it.
const ContainerdSocket = "/run/containerd/containerd.sock"

// writeConfig writes the programs' configuration.
func (s Spec) writeConfig() error {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	for _, file := range []string{containerdFile, kubeletFile, proxyFile, networkFile, resolvFile, registryFile} {
		data, err := s.render(filepath.Base(file), runc)
		if err != nil {
			return err
		}
		path := s.config(file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// render returns a configuration file of this node.
func (s Spec) render(file, runc string) ([]byte, error) {
	var b bytes.Buffer
	values := struct {
		Spec
		Runc, Socket, Resolv, Registries string
	}{s, runc, ContainerdSocket, s.config(resolvFile), filepath.Dir(filepath.Dir(s.config(registryFile)))}
	if err := templates.ExecuteTemplate(&b, file, values); err != nil {
		return nil, fmt.Errorf("render %s: %w", file, err)
	}
	return b.Bytes(), nil
}
