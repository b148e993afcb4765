// Package node is the machine of a real cluster: containerd, kubelet and
// kube-proxy, and the first process of the pid namespace in which they run.
//
// [Init] is that process. It makes the mounts that give the node directories of
// its own at the usual places, starts the three programs in order, reaps what
// is left to it (the shims of containers), and ends when one of the programs
// ends. When it ends, however that comes, the kernel ends everything else in
// the pid namespace and undoes the mounts: as with a machine that loses power.
//
// The cluster package writes the [Spec] and starts it.
package node

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// InitCommand is the first argument that makes the testenv binary call [Init].
const InitCommand = "node-init"

// Spec is what a node is made from. Paths are absolute.
type Spec struct {
	// Name is the name of the machine and of the Node.
	Name string `json:"name"`
	// Dir holds the node's disk: what is mounted at /var/lib/kubelet and so on.
	Dir string `json:"dir"`
	// Log is the directory of the programs' logs.
	Log string `json:"log"`
	// Bin is the directory of programs, Images the archive to import.
	Bin    string `json:"bin"`
	Images string `json:"images"`
	// PKI is the directory of certificates.
	PKI string `json:"pki"`
	// Kubelet and Proxy are kubeconfigs.
	Kubelet string `json:"kubelet"`
	Proxy   string `json:"proxy"`
	// Server is the URL of the API server.
	Server string `json:"server"`
	// Address is the node's own address.
	Address string `json:"address"`
	// PodRange is the range of the node's pods, DNS the address of cluster DNS.
	PodRange string `json:"podRange"`
	DNS      string `json:"dns"`
	// Cgroup is the name of the control group that holds the pods.
	Cgroup string `json:"cgroup"`
	// PauseImage is the image of pod sandboxes.
	PauseImage string `json:"pauseImage"`
}

// Init runs the node that a file describes. It must be the first process of new
// pid, mount, UTS and IPC namespaces, in the cluster's network namespace.
func Init(file string) error {
	if os.Getpid() != 1 {
		return errors.New("node-init must be the first process of a pid namespace")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(data, &spec); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := raiseInotify(); err != nil {
		return err
	}
	if err := spec.mount(); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if err := spec.writeConfig(); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(spec.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return err
	}
	return spec.run(ctx)
}

// A node takes about 50 instances of inotify, and a machine that says nothing else gives its users 128.
const (
	inotifyFile      = "/proc/sys/fs/inotify/max_user_instances"
	inotifyInstances = 2048
)

// raiseInotify gives the machine enough instances of inotify for several nodes. It never lowers them.
func raiseInotify() error {
	text, err := os.ReadFile(inotifyFile)
	if err != nil {
		return err
	}
	has, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("read %s: %w", inotifyFile, err)
	}
	if has >= inotifyInstances {
		return nil
	}
	return os.WriteFile(inotifyFile, []byte(strconv.Itoa(inotifyInstances)), 0o644)
}

// run starts the programs, each when what it needs is there, and returns when
// one of them ends or ctx does.
func (s Spec) run(ctx context.Context) error {
	programs := newPrograms(s)
	defer programs.kill()
	err := programs.start("containerd", s.program("containerd"), "--config", s.config(containerdFile))
	if err != nil {
		return err
	}
	if err := programs.wait(ctx, "containerd", listening(ContainerdSocket)); err != nil {
		return err
	}
	err = programs.once(ctx, "ctr", s.program("ctr"), "--namespace", ImageNamespace, "images", "import", s.Images)
	if err != nil {
		return fmt.Errorf("import images: %w", err)
	}
	if err := programs.wait(ctx, "API server", serverReady(s.Server)); err != nil {
		return err
	}
	err = programs.start("kubelet", s.program("kubelet"),
		"--config", s.config(kubeletFile),
		"--kubeconfig", s.Kubelet,
		"--hostname-override", s.Name,
		"--node-ip", s.Address,
	)
	if err != nil {
		return err
	}
	if err := programs.start("kube-proxy", s.program("kube-proxy"), "--config", s.config(proxyFile)); err != nil {
		return err
	}
	return programs.watch(ctx)
}

func (s Spec) program(name string) string { return filepath.Join(s.Bin, name) }

func (s Spec) config(file string) string { return filepath.Join(s.Dir, file) }

func listening(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// serverReady asks without credentials, so whom it asks does not matter. A
// kubelet that starts before the API server is ready waits for seconds between
// its attempts.
func serverReady(url string) func(context.Context) error {
	client := &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
}
