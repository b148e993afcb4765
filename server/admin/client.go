package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// DefaultKubeconfig is where a center on this machine leaves the admin's kubeconfig.
const DefaultKubeconfig = "/var/lib/skerry/admin.kubeconfig"

// ErrNoKubeconfig is returned when no kubeconfig was named and none is where one is expected.
var ErrNoKubeconfig = errors.New("no kubeconfig: give --kubeconfig FILE or set KUBECONFIG; " +
	"the center writes one to admin.kubeconfig in its data directory")

// center is an opened connection to a center's root space.
type center struct {
	path   string // of the kubeconfig file, or files
	file   *clientcmdapi.Config
	url    *url.URL // of root, without a space
	config *rest.Config
	root   dynamic.Interface
}

// open reads the kubeconfig that the user means (readKubeconfig). A context that points at a space is
// taken to its center's root.
func open(path string) (*center, error) {
	file, path, err := readKubeconfig(path)
	if err != nil {
		return nil, err
	}
	return openConfig(file, path)
}

// openConfig is open for a kubeconfig that was read from a path.
func openConfig(file *clientcmdapi.Config, path string) (*center, error) {
	config, err := clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return nil, unusable(file, path, err)
	}
	leaveLoopback(file, config)
	u, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("server address in %s: %w", path, err)
	}
	u.Path, _, _ = strings.Cut(u.Path, "/clusters/")
	u.Path, _, _ = strings.Cut(u.Path, viewPath)
	config.Host = u.String()
	config.UserAgent = "skerry"
	config.QPS, config.Burst = -1, -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reaching{file.CurrentContext, next} })
	root, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use kubeconfig %s: %w", path, err)
	}
	return &center{path: path, file: file, url: u, config: config, root: root}, nil
}

// spaceURL is the address of a space's kube API; root has no prefix.
func (c *center) spaceURL(space string) string {
	if space == "root" {
		return c.url.String()
	}
	return c.url.JoinPath("clusters", space).String()
}
