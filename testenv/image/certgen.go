package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// createSecret does what the Job of a chart does before the chart is installed: it makes a
// certificate for the hosts and writes it into a Secret, with its authority, unless there is one.
func createSecret(args []string) error {
	flags := flag.NewFlagSet("create", flag.ContinueOnError)
	hosts := flags.String("host", "", "names of the certificate, joined by commas")
	namespace := flags.String("namespace", "", "namespace of the Secret")
	name := flags.String("secret-name", "", "name of the Secret")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := inCluster()
	if err != nil {
		return err
	}
	path := "/api/v1/namespaces/" + *namespace + "/secrets"
	var live map[string]any
	if code, err := c.object(http.MethodGet, path+"/"+*name, nil, &live); code != http.StatusNotFound {
		return err
	}
	public, private, err := selfSigned(strings.Split(*hosts, ",")...)
	if err != nil {
		return err
	}
	_, err = c.object(http.MethodPost, path, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": *name},
		"data": map[string]any{"ca": public, "cert": public, "key": private},
	}, &live)
	return err
}

// patchWebhook does what the Job of a chart does when the chart is installed: it writes the
// authority of a Secret into every webhook of a ValidatingWebhookConfiguration.
func patchWebhook(args []string) error {
	flags := flag.NewFlagSet("patch", flag.ContinueOnError)
	webhook := flags.String("webhook-name", "", "name of the configuration")
	namespace := flags.String("namespace", "", "namespace of the Secret")
	name := flags.String("secret-name", "", "name of the Secret")
	policy := flags.String("patch-failure-policy", "Fail", "failurePolicy to set")
	mutating := flags.Bool("patch-mutating", false, "not supported")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *mutating {
		return errors.New("only validating webhooks are patched")
	}
	c, err := inCluster()
	if err != nil {
		return err
	}
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	if _, err := c.object(http.MethodGet, "/api/v1/namespaces/"+*namespace+"/secrets/"+*name, nil, &secret); err != nil {
		return err
	}
	path := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" + *webhook
	var live map[string]any
	if _, err := c.object(http.MethodGet, path, nil, &live); err != nil {
		return err
	}
	webhooks, _ := live["webhooks"].([]any)
	for _, w := range webhooks {
		one, _ := w.(map[string]any)
		to, ok := one["clientConfig"].(map[string]any)
		if !ok {
			return fmt.Errorf("%s has a webhook without clientConfig", *webhook)
		}
		to["caBundle"], one["failurePolicy"] = secret.Data["ca"], *policy
	}
	_, err = c.object(http.MethodPut, path, live, &live)
	return err
}

// ingressController takes the command line of ingress-nginx and does what a space sees of it: it
// answers its webhook and its probes, holds its Lease, and writes the address of its Service into
// the Ingresses of its class. It routes nothing.
func ingressController(args []string) error {
	flags := flag.NewFlagSet("ingress", flag.ContinueOnError)
	service := flags.String("publish-service", "", "NAMESPACE/NAME of the Service whose address is told")
	lease := flags.String("election-id", "", "name of the Lease")
	listen := flags.String("validating-webhook", "", "address of the webhook")
	certificate := flags.String("validating-webhook-certificate", "", "its certificate's file")
	key := flags.String("validating-webhook-key", "", "its key's file")
	for _, name := range []string{
		"controller-class", "ingress-class", "configmap", "enable-metrics", "enable-annotation-validation",
	} {
		flags.String(name, "", "accepted")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := inCluster()
	if err != nil {
		return err
	}
	if _, err := tls.LoadX509KeyPair(*certificate, *key); err != nil {
		return err
	}
	failed := make(chan error)
	for _, address := range []string{":10254", ":80"} {
		go func() {
			failed <- http.ListenAndServe(address, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		}()
	}
	go func() {
		failed <- http.ListenAndServeTLS(*listen, filepath.Clean(*certificate), filepath.Clean(*key), hooks())
	}()
	pod, _ := os.Hostname()
	namespace, name, _ := strings.Cut(*service, "/")
	go func() {
		for ; ; time.Sleep(2 * time.Second) {
			leads, err := c.hold(*lease, pod)
			if err == nil && leads {
				err = c.publish("/api/v1/namespaces/" + namespace + "/services/" + name)
			}
			if err != nil {
				log.Printf("ingress: %v", err)
			}
		}
	}()
	return <-failed
}

// publish writes the address of a Service into the status of the Ingresses of class nginx.
func (c *cluster) publish(service string) error {
	var from struct {
		Status struct {
			LoadBalancer struct {
				Ingress []map[string]any `json:"ingress"`
			} `json:"loadBalancer"`
		} `json:"status"`
	}
	if _, err := c.object(http.MethodGet, service, nil, &from); err != nil {
		return err
	}
	var list struct {
		Items []map[string]any `json:"items"`
	}
	const all = "/apis/networking.k8s.io/v1/"
	if _, err := c.object(http.MethodGet, all+"ingresses", nil, &list); err != nil {
		return err
	}
	for _, one := range list.Items {
		spec, _ := one["spec"].(map[string]any)
		meta, _ := one["metadata"].(map[string]any)
		before, _ := json.Marshal(one["status"]) // what was decoded always encodes
		after, _ := json.Marshal(from.Status)
		if spec["ingressClassName"] != "nginx" || len(from.Status.LoadBalancer.Ingress) == 0 || bytes.Equal(before, after) {
			continue
		}
		one["status"] = from.Status
		log.Printf("ingress %v is at %v", meta["name"], from.Status.LoadBalancer.Ingress)
		path := fmt.Sprintf("%snamespaces/%v/ingresses/%v/status", all, meta["namespace"], meta["name"])
		if _, err := c.object(http.MethodPut, path, one, &one); err != nil {
			return err
		}
	}
	return nil
}
