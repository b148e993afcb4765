package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sigs.k8s.io/yaml"
)

// Client speaks to one API server.
type Client struct {
	access Access
	http   *http.Client
}

// NewClient returns a client; it does not connect yet.
func NewClient(a Access) *Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CA)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true,
	}
	return &Client{access: a, http: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// Get reads the JSON object at an API path.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	data, err := c.do(ctx, http.MethodGet, path, "", nil)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Object is as much of any object as its address needs.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// plurals are the kinds that [Client.Apply] knows.
var plurals = map[string]string{
	"ClusterRole":        "clusterroles",
	"ClusterRoleBinding": "clusterrolebindings",
	"ConfigMap":          "configmaps",
	"Deployment":         "deployments",
	"Node":               "nodes",
	"Service":            "services",
	"ServiceAccount":     "serviceaccounts",
	"StorageClass":       "storageclasses",
}

func (o Object) path() (string, error) {
	plural, ok := plurals[o.Kind]
	if !ok {
		return "", fmt.Errorf("kind %q is not known here", o.Kind)
	}
	path := "/apis/" + o.APIVersion
	if o.APIVersion == "v1" {
		path = "/api/v1"
	}
	if o.Metadata.Namespace != "" {
		path += "/namespaces/" + o.Metadata.Namespace
	}
	return path + "/" + plural + "/" + o.Metadata.Name, nil
}

// Apply applies every document of a YAML stream on the server's side.
func (c *Client) Apply(ctx context.Context, stream []byte) error {
	for document := range bytes.SplitSeq(stream, []byte("\n---\n")) {
		var o Object
		if err := yaml.Unmarshal(document, &o); err != nil {
			return err
		}
		path, err := o.path()
		if err != nil {
			return err
		}
		_, err = c.do(ctx, http.MethodPatch, path+"?fieldManager=testenv&force=true", "application/apply-patch+yaml",
			document)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.Kind, o.Metadata.Name, err)
		}
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.access.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.access.Token)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(data))
	}
	return data, err
}

// Wait calls the condition until it returns nil, ctx ends, or stop is closed
// because waiting has no sense any more. The error then is the condition's last.
func Wait(ctx context.Context, stop <-chan struct{}, condition func(context.Context) error) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-stop:
			return errors.Join(errors.New("a process of the cluster ended"), err)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
