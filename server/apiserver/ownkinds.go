package apiserver

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/crd"
	"skerry.dev/skerry/server/apiserver/discovery"
	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// The kinds of skerry.dev are custom resources whose definitions stand in a space of their own. One
// crd.Server serves them to all spaces: the definitions come from there, the objects from the space
// of the request.

// installOwnKinds writes the definitions that this version brings, if they differ from what is
// stored.
func installOwnKinds(ctx context.Context, c *rest.Config) error {
	client, err := clientset.NewForConfig(c)
	if err != nil {
		return fmt.Errorf("client for own kinds: %w", err)
	}
	crds, err := ownCRDs()
	if err != nil {
		return err
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, want := range crds {
		have, err := api.Get(ctx, want.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			_, err = api.Create(ctx, want, metav1.CreateOptions{})
		case err == nil && !sameSpec(have, want):
			have.Spec, have.Annotations = want.Spec, want.Annotations
			_, err = api.Update(ctx, have, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("install %s: %w", want.Name, err)
		}
	}
	return nil
}

// ownCRDs reads the embedded definitions.
func ownCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, from := range []embed.FS{v1alpha1.CRDs, inventory.CRDs} {
		read, err := readCRDs(from)
		if err != nil {
			return nil, err
		}
		out = append(out, read...)
	}
	return out, nil
}

func readCRDs(from embed.FS) (out []*apiextensionsv1.CustomResourceDefinition, err error) {
	files, err := fs.Glob(from, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := from.ReadFile(f)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(b, crd); err != nil {
			return nil, fmt.Errorf("read %s: %w", f, err)
		}
		out = append(out, crd)
	}
	return out, nil
}

// sameSpec compares what is stored, which is defaulted, with what we bring, which is not, by the
// parts that we write.
func sameSpec(have, want *apiextensionsv1.CustomResourceDefinition) bool {
	h, w := have.Spec.DeepCopy(), want.Spec.DeepCopy()
	h.Conversion = w.Conversion
	return equality.Semantic.DeepEqual(h, w)
}

// waitServed returns when the server of the own kinds has started and all of them are established.
func waitServed(ctx context.Context, c *rest.Config, started func() bool) error {
	client, err := clientset.NewForConfig(c)
	if err != nil {
		return fmt.Errorf("client for own kinds: %w", err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if started() {
			list, err := client.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
			if err == nil && allEstablished(list.Items) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for own kinds: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func allEstablished(crds []apiextensionsv1.CustomResourceDefinition) bool {
	for i := range crds {
		if !crd.IsEstablished(&crds[i]) {
			return false
		}
	}
	return len(crds) > 0
}

// serveOwn serves the group of skerry.dev in a space.
func serveOwn(own http.Handler, w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, discovery.OwnGroup), "/")
	version, resource, _ := strings.Cut(rest, "/")
	if version != "" && resource == "" {
		serveOwnResources(own, w, r)
		return
	}
	if request.Space(r.Context()) == request.RootSpace || request.Space(r.Context()) == request.AllSpaces ||
		version == "" {
		own.ServeHTTP(w, r)
		return
	}
	if !discovery.InEverySpace(resource) {
		response.Write(w, response.NotFound())
		return
	}
	own.ServeHTTP(w, r)
}

// serveOwnResources lists the kinds that exist in a space.
func serveOwnResources(own http.Handler, w http.ResponseWriter, r *http.Request) {
	a := response.Ask(own, r, r.URL.Path, "application/json")
	var list metav1.APIResourceList
	if a.Code != http.StatusOK || json.Unmarshal(a.Body, &list) != nil {
		a.Replay(w)
		return
	}
	list.APIResources = discovery.OwnResources(list.APIResources, request.Space(r.Context()))
	response.WriteJSON(w, r, "application/json", list)
}
