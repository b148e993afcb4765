package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

type configMap struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]any    `json:"metadata"`
	Data       map[string]string `json:"data,omitempty"`
}

// operator is a small controller without any library: it holds the Lease
// "operator" of its namespace, and for each ConfigMap with the label work=todo
// keeps another one, NAME-done, which says what is in the first and which pod
// has written it.
func operator([]string) error {
	c, err := inCluster()
	if err != nil {
		return err
	}
	pod, _ := os.Hostname()
	go func() {
		for ; ; time.Sleep(2 * time.Second) {
			if _, err := c.hold("operator", pod); err != nil {
				log.Printf("lease: %v", err)
			}
		}
	}()
	for ; ; time.Sleep(time.Second) {
		log.Printf("watch: %v", c.follow(pod))
	}
}

// follow does the work of all there is, and of what comes, until the watch ends.
func (c *cluster) follow(pod string) error {
	path := "/api/v1/namespaces/" + c.namespace + "/configmaps"
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []configMap `json:"items"`
	}
	if _, err := c.object(http.MethodGet, path+"?labelSelector=work%3Dtodo", nil, &list); err != nil {
		return err
	}
	for _, one := range list.Items {
		if err := c.work(pod, one); err != nil {
			return err
		}
	}
	resp, err := c.do(context.Background(), http.MethodGet,
		path+"?watch=true&labelSelector=work%3Dtodo&resourceVersion="+list.Metadata.ResourceVersion, "", "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watch: %s", resp.Status)
	}
	log.Printf("watching from %s", list.Metadata.ResourceVersion)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var event struct {
			Type   string    `json:"type"`
			Object configMap `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		if event.Type == "ADDED" || event.Type == "MODIFIED" {
			if err := c.work(pod, event.Object); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the watch has ended: %w", lines.Err())
}

// work does the work of one.
func (c *cluster) work(pod string, todo configMap) error {
	path := "/api/v1/namespaces/" + c.namespace + "/configmaps"
	name := fmt.Sprint(todo.Metadata["name"]) + "-done"
	done := configMap{APIVersion: "v1", Kind: "ConfigMap", Metadata: map[string]any{"name": name},
		Data: map[string]string{"by": pod, "what": todo.Data["what"]}}
	var live configMap
	code, err := c.object(http.MethodGet, path+"/"+name, nil, &live)
	switch {
	case code == http.StatusNotFound:
		_, err = c.object(http.MethodPost, path, done, &live)
	case err == nil && live.Data["what"] != done.Data["what"]:
		_, err = c.object(http.MethodPut, path+"/"+name, done, &live)
	}
	if err == nil {
		log.Printf("done: %s", name)
	}
	return err
}

// hold renews a Lease, or takes it when nobody has renewed it for 10 s, and tells whether the pod has
// it.
func (c *cluster) hold(name, pod string) (holds bool, err error) {
	path := "/apis/coordination.k8s.io/v1/namespaces/" + c.namespace + "/leases"
	const form = "2006-01-02T15:04:05.000000Z07:00"
	var live map[string]any
	code, err := c.object(http.MethodGet, path+"/"+name, nil, &live)
	if code == http.StatusNotFound {
		_, err = c.object(http.MethodPost, path, map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"holderIdentity": pod, "leaseDurationSeconds": 10,
				"renewTime": time.Now().UTC().Format(form)},
		}, &live)
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	spec, _ := live["spec"].(map[string]any)
	renewed, _ := time.Parse(form, fmt.Sprint(spec["renewTime"]))
	if spec["holderIdentity"] != pod && time.Since(renewed) < 10*time.Second {
		return false, nil
	}
	spec["holderIdentity"], spec["renewTime"] = pod, time.Now().UTC().Format(form)
	_, err = c.object(http.MethodPut, path+"/"+name, live, &live)
	return err == nil, err
}
