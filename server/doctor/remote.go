package doctor

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Remote is a center that is asked with a kubeconfig.
type Remote struct{ config *rest.Config }

// Open returns the center of a kubeconfig, as kubectl reads it where the path is empty. Where listen
// is given it is the center of this machine, which listens there.
func Open(kubeconfig, listen string) (*Remote, error) {
	config, _, err := load(kubeconfig)
	if err != nil {
		return nil, err
	}
	if listen != "" {
		config.Host = "https://" + localAddress(listen, config.Host)
	}
	return &Remote{config}, nil
}

// Get returns what the center answers at a path of root.
func (r *Remote) Get(ctx context.Context, path string) ([]byte, error) {
	client, err := rest.HTTPClientFor(r.config)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.config.Host+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %s", path, reach(err).why)
	}
	defer response.Body.Close()
	body, err := readBounded(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: HTTP %d", path, response.StatusCode)
	}
	return body, err
}

// Object is what is shown of a site or a space: no annotations, and nothing of anybody's objects.
type Object struct {
	Kind   string            `json:"kind"`
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Spec   any               `json:"spec,omitempty"`
	Status any               `json:"status,omitempty"`
}

// Objects returns the sites and the spaces of the center.
func (r *Remote) Objects(ctx context.Context) (out []Object, err error) {
	w := &workstation{config: r.config}
	err = w.each(ctx, "synctargets", func(u *unstructured.Unstructured) error {
		var t v1alpha1.SyncTarget
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &t); err != nil {
			return err
		}
		out = append(out, Object{"SyncTarget", t.Name, t.Labels, t.Spec, t.Status})
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = w.each(ctx, "spaces", func(u *unstructured.Unstructured) error {
		var s v1alpha1.Space
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
			return err
		}
		out = append(out, Object{"Space", s.Name, s.Labels, s.Spec, s.Status})
		return nil
	})
	return out, err
}
