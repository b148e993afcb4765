package drive

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
	"os"
	"time"

	"sigs.k8s.io/yaml"
)

// Kube is a bare client of one kube API: what a program needs that measures, and nothing that would
// cost time in between.
type Kube struct {
	base string
	auth string
	http *http.Client
	// Resumed is told when the API has ended a watch and it goes on behind an event; it may be nil.
	Resumed func(path, version string)
}

type kubeconfigFile struct {
	Clusters []struct {
		Cluster struct {
			Server                   string `json:"server"`
			CertificateAuthority     string `json:"certificate-authority"`
			CertificateAuthorityData []byte `json:"certificate-authority-data"`
			ServerName               string `json:"tls-server-name"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Token                 string `json:"token"`
			ClientCertificate     string `json:"client-certificate"`
			ClientKey             string `json:"client-key"`
			ClientCertificateData []byte `json:"client-certificate-data"`
			ClientKeyData         []byte `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

// OpenKube reads a kubeconfig with one cluster and one user.
func OpenKube(path string) (*Kube, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	var f kubeconfigFile
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	if len(f.Clusters) == 0 || len(f.Users) == 0 {
		return nil, fmt.Errorf("kubeconfig %s has no cluster or no user", path)
	}
	cluster, user := f.Clusters[0].Cluster, f.Users[0].User
	ca, err := either(cluster.CertificateAuthorityData, cluster.CertificateAuthority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("kubeconfig %s has no usable certificate authority", path)
	}
	config := &tls.Config{RootCAs: pool, ServerName: cluster.ServerName}
	if cert, err := either(user.ClientCertificateData, user.ClientCertificate); err == nil && len(cert) > 0 {
		key, err := either(user.ClientKeyData, user.ClientKey)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	k := &Kube{base: cluster.Server, http: &http.Client{Transport: &http.Transport{TLSClientConfig: config,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 32}}}
	if user.Token != "" {
		k.auth = "Bearer " + user.Token
	}
	return k, nil
}

// Base is the URL of the API.
func (k *Kube) Base() string { return k.base }

func either(data []byte, path string) ([]byte, error) {
	if len(data) > 0 || path == "" {
		return data, nil
	}
	return os.ReadFile(path)
}

// StatusError is an answer of the API that is not a success.
type StatusError struct {
	Code int
	Body string
}

// Error says the code and the beginning of the answer.
func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %.300s", e.Code, e.Body) }

// Do sends one request and returns the body of a successful answer.
func (k *Kube) Do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	res, err := k.send(ctx, method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = &StatusError{res.StatusCode, string(data)}
	}
	return data, err
}

func (k *Kube) send(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, k.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if k.auth != "" {
		req.Header.Set("Authorization", k.auth)
	}
	return k.http.Do(req)
}

// Create posts an object.
func (k *Kube) Create(ctx context.Context, path string, obj any) error {
	body, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	_, err = k.Do(ctx, http.MethodPost, path, "application/json", body)
	return err
}

// MergePatch sends a JSON merge patch.
func (k *Kube) MergePatch(ctx context.Context, path string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = k.Do(ctx, http.MethodPatch, path, "application/merge-patch+json", body)
	return err
}

// Watch calls visit for every event of a collection from now on, until ctx ends. began is closed
// when the watch stands, so that nothing that is written afterwards is missed; where the API ends
// the watch, as it does after some time, it goes on behind the last event.
func (k *Kube) Watch(
	ctx context.Context,
	path string,
	began chan<- struct{},
	visit func(typ string, at time.Time, obj json.RawMessage),
) error {
	list, err := k.Do(ctx, http.MethodGet, path+"?limit=1", "", nil)
	if err != nil {
		return err
	}
	version, err := versionOf(list)
	for err == nil && ctx.Err() == nil {
		if began == nil && k.Resumed != nil {
			k.Resumed(path, version)
		}
		version, err = k.watchFrom(ctx, path, version, began, visit)
		began = nil
	}
	return err
}

// watchFrom is one watch. It returns the version of the last event when the API has ended it.
func (k *Kube) watchFrom(ctx context.Context, path, version string, began chan<- struct{},
	visit func(typ string, at time.Time, obj json.RawMessage)) (string, error) {
	res, err := k.send(ctx, http.MethodGet, path+"?watch=true&allowWatchBookmarks=true&resourceVersion="+version, "", nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(res.Body)
		return "", &StatusError{res.StatusCode, string(data)}
	}
	if began != nil {
		close(began)
	}
	for d := json.NewDecoder(res.Body); ; {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return version, nil
		case err != nil:
			return "", err
		case e.Type == "ERROR":
			return "", fmt.Errorf("watch %s: %.300s", path, e.Object)
		}
		if version, err = versionOf(e.Object); err != nil {
			return "", err
		}
		if e.Type != "BOOKMARK" {
			visit(e.Type, time.Now(), e.Object)
		}
	}
}

func versionOf(object []byte) (string, error) {
	var meta struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &meta); err != nil {
		return "", fmt.Errorf("read a resource version: %w", err)
	}
	return meta.Metadata.ResourceVersion, nil
}
