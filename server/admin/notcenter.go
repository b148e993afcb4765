package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// notCenter is the error of a request to a server that is no center, such as a workload cluster.
type notCenter struct{ host string }

func (e *notCenter) Error() string {
	return e.host + " is no Skerry center; give --kubeconfig the file of a center: admin.kubeconfig in its data " +
		"directory, or that of a space"
}

// centerVersion ends the version of Kubernetes that a center says it has.
const centerVersion = "+skerry"

// CheckCenter returns an error where a configuration leads to the API of another server than a center,
// before anything is written there. One that does not say what it is passes.
func CheckCenter(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	u, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	another, err := isAnother(ctx, client.Do, u)
	if err == nil && another {
		err = &notCenter{u.Host}
	}
	return err
}

// isAnother asks the server of a URL for its version, and reports whether that is not a center's.
func isAnother(ctx context.Context, do func(*http.Request) (*http.Response, error), of *url.URL) (bool, error) {
	at := url.URL{Scheme: of.Scheme, Host: of.Host, Path: "/version"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return false, err
	}
	response, err := do(request)
	if err != nil {
		return false, fmt.Errorf("ask %s for its version: %w", of.Host, err)
	}
	defer response.Body.Close()
	var version struct {
		GitVersion string
		Skerry     bool // of a space that has a host's name for itself
	}
	const most = 64 << 10
	if response.StatusCode != http.StatusOK ||
		json.NewDecoder(io.LimitReader(response.Body, most)).Decode(&version) != nil {
		return false, nil
	}
	return version.GitVersion != "" && !version.Skerry && !strings.HasSuffix(version.GitVersion, centerVersion), nil
}
