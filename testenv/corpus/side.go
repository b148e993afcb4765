package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"skerry.dev/skerry/testenv/drive"
)

// side is one of the two APIs that are compared.
type side struct {
	name       string // cluster or space
	kubeconfig string
	kube       *drive.Kube

	mu        sync.Mutex
	resources map[string]map[string]resource // by group and version, then by kind
}

// resource is how a kind is reached.
type resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// identity names an object of a manifest.
type identity struct {
	apiVersion, kind, namespace, name string
}

// path is that of an object in a namespace.
func (id identity) path(r resource) string {
	return prefix(id.apiVersion) + "/namespaces/" + id.namespace + "/" + r.Name + "/" + id.name
}

func openSide(name, kubeconfig string) (*side, error) {
	kube, err := drive.OpenKube(kubeconfig)
	return &side{name: name, kubeconfig: kubeconfig, kube: kube, resources: map[string]map[string]resource{}}, err
}

// born are the kinds that are looked at in every namespace of a unit, whether a manifest has them or
// not: what controllers make, and what every namespace has.
var born = []identity{
	{apiVersion: "v1", kind: "Pod"}, {apiVersion: "v1", kind: "PersistentVolumeClaim"},
	{apiVersion: "v1", kind: "ConfigMap"},
	{apiVersion: "v1", kind: "Secret"}, {apiVersion: "v1", kind: "ServiceAccount"}, {apiVersion: "v1", kind: "Service"},
	{apiVersion: "apps/v1", kind: "ReplicaSet"}, {apiVersion: "batch/v1", kind: "Job"},
	{apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice"},
}

// observe returns what the unit has: the objects of the manifests and of the kinds that are born.
func (s *side) observe(ctx context.Context, namespaces []string, manifests []identity) ([]object, error) {
	seen := map[identity]bool{}
	var out []object
	look := func(id identity, path string) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		objects, err := s.read(ctx, path, id)
		out = append(out, objects...)
		return err
	}
	kinds := append(append([]identity{}, born...), manifests...)
	for _, id := range kinds {
		r, found, err := s.resource(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !found:
			continue
		case !r.Namespaced:
			if err := look(id, prefix(id.apiVersion)+"/"+r.Name+"/"+id.name); err != nil {
				return nil, err
			}
			continue
		}
		if slices.Contains(kept, id.namespace) {
			if err := look(id, id.path(r)); err != nil {
				return nil, err
			}
		}
		for _, ns := range namespaces {
			all := identity{apiVersion: id.apiVersion, kind: id.kind, namespace: ns}
			if err := look(all, prefix(id.apiVersion)+"/namespaces/"+ns+"/"+r.Name); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// read gets an object or a list. What is not there is an empty answer.
func (s *side) read(ctx context.Context, path string, id identity) ([]object, error) {
	data, err := s.kube.Do(ctx, http.MethodGet, path, "", nil)
	if notFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", s.name, path, err)
	}
	var list struct {
		Kind  string   `json:"kind"`
		Items []object `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", s.name, path, err)
	}
	if !strings.HasSuffix(list.Kind, "List") {
		var one object
		err := json.Unmarshal(data, &one)
		return []object{one}, err
	}
	for _, o := range list.Items {
		o["apiVersion"], o["kind"] = id.apiVersion, id.kind
	}
	return list.Items, nil
}

func notFound(err error) bool {
	var status *drive.StatusError
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}

func prefix(apiVersion string) string {
	if apiVersion == "v1" {
		return "/api/v1"
	}
	return "/apis/" + apiVersion
}

// resource asks discovery how a kind is reached. An answer without the kind is not kept: its
// definition may have been applied a moment ago.
func (s *side) resource(ctx context.Context, id identity) (resource, bool, error) {
	s.mu.Lock()
	r, found := s.resources[id.apiVersion][id.kind]
	s.mu.Unlock()
	if found {
		return r, true, nil
	}
	data, err := s.kube.Do(ctx, http.MethodGet, prefix(id.apiVersion), "", nil)
	if notFound(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("%s: discover %s: %w", s.name, id.apiVersion, err)
	}
	var list struct {
		Resources []resource `json:"resources"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return r, false, fmt.Errorf("%s: discover %s: %w", s.name, id.apiVersion, err)
	}
	kinds := map[string]resource{}
	for _, one := range list.Resources {
		if !strings.Contains(one.Name, "/") {
			kinds[one.Kind] = one
		}
	}
	s.mu.Lock()
	s.resources[id.apiVersion] = kinds
	s.mu.Unlock()
	r, found = kinds[id.kind]
	return r, found, nil
}
