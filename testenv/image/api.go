package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// accountDirectory is where a pod finds the credentials of its ServiceAccount.
const accountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

// cluster is the API that a pod is given: what client libraries call the
// configuration in a cluster.
type cluster struct {
	base      string
	namespace string
	client    *http.Client
}

// inCluster reads where the API is, as client libraries do.
func inCluster() (*cluster, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("the environment does not say where the API is")
	}
	ca, err := os.ReadFile(filepath.Join(accountDirectory, "ca.crt"))
	if err != nil {
		return nil, err
	}
	namespace, err := os.ReadFile(filepath.Join(accountDirectory, "namespace"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt has no certificate")
	}
	return &cluster{"https://" + net.JoinHostPort(host, port), string(namespace), &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
	}}, nil
}

// do sends a request. The token is read each time, because it is renewed. With
// token "-" the request has none.
func (c *cluster) do(ctx context.Context, method, path, token, kind string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token == "" {
		text, err := os.ReadFile(filepath.Join(accountDirectory, "token"))
		if err != nil {
			return nil, err
		}
		token = string(text)
	}
	if token != "-" {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return c.client.Do(req)
}

// object sends an object and reads one; the code tells what became of it.
func (c *cluster) object(method, path string, in, out any) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	var body []byte
	if in != nil {
		body, _ = json.Marshal(in) // maps of strings always encode
	}
	resp, err := c.do(ctx, method, path, "", "application/json", body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return resp.StatusCode, json.Unmarshal(answer, out)
}

// api sends one request to the API that the pod is given.
func api(args []string) error {
	flags := flag.NewFlagSet("api", flag.ContinueOnError)
	token := flags.String("token", "", "token to show; - shows none, empty that of the pod")
	body := flags.String("body", "", "JSON to send")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("want METHOD PATH")
	}
	c, err := inCluster()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := c.do(ctx, flags.Arg(0), flags.Arg(1), *token, "application/json", []byte(*body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
