package crd

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"skerry.dev/skerry/server/apiserver/kinds"
	"skerry.dev/skerry/server/apiserver/request"
)

// sharedDefinitions has the decoded and compiled parts of definitions, once for all spaces with equal
// ones. An operator installs the same definitions in each space, and these parts take most of the
// memory of a definition. The context of a request names the space of its objects, as for built-in
// kinds.
type sharedDefinitions struct {
	config   *Config
	unserved http.Handler

	mu  sync.Mutex
	all map[content]weak.Pointer[sharedDefinition]
}

// content is a hash of all fields that decide how a definition's objects are served.
type content [sha256.Size]byte

// sharedDefinition lives as long as some Server has a definition of its content.
type sharedDefinition struct {
	crd     *apiextensionsv1.CustomResourceDefinition // without fields of a space
	handler func() (http.Handler, error)
}

func newSharedDefinitions(c *Config, unserved http.Handler) *sharedDefinitions {
	return &sharedDefinitions{config: c, unserved: unserved, all: map[content]weak.Pointer[sharedDefinition]{}}
}

// of returns the shared part of a definition of a space. A definition with a conversion webhook is
// not shared with other spaces: their objects would reach its webhook.
func (s *sharedDefinitions) of(
	crd *apiextensionsv1.CustomResourceDefinition,
	space string,
) (*sharedDefinition, error) {
	if c := crd.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
		space = ""
	}
	one := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, UID: "shared"},
		Spec:       crd.Spec,
	}
	one.Status.AcceptedNames = crd.Status.AcceptedNames
	for _, kind := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted,
		apiextensionsv1.Established, apiextensionsv1.Terminating} {
		for _, c := range crd.Status.Conditions { // in whatever order they came
			if c.Type == kind {
				// Without its time: trimDefinition says why.
				one.Status.Conditions = append(
					one.Status.Conditions,
					apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: c.Status},
				)
			}
		}
	}
	all, err := json.Marshal(one)
	if err != nil {
		return nil, fmt.Errorf("encode definition %s: %w", crd.Name, err)
	}
	is := content(sha256.Sum256(append(all, space...))) // unambiguous: JSON ends with a brace
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[is].Value(); known != nil {
		return known, nil
	}
	made := &sharedDefinition{crd: one}
	made.handler = sync.OnceValues(func() (http.Handler, error) { return s.config.serveOne(one, space, s.unserved) })
	s.all[is] = weak.Make(made)
	runtime.AddCleanup(made, s.forget, is)
	return made, nil
}

// forget deletes an entry that nobody uses any more.
func (s *sharedDefinitions) forget(is content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[is].Value() == nil { // else it was made anew meanwhile
		delete(s.all, is)
	}
}

// serveOne returns a handler for the objects of a definition in any space. If the definition has a
// conversion webhook, space is the space that it is of; else it is empty.
func (c *Config) serveOne(
	crd *apiextensionsv1.CustomResourceDefinition,
	space string,
	unserved http.Handler,
) (http.Handler, error) {
	h, err := apiextensionsapiserver.NewCustomResourceDefinitionHandler(
		nil,
		nil,
		onlyDefinition{crd: crd},
		unserved,
		withCodec{
			c.Storages,
			unstructured.UnstructuredJSONScheme,
			false,
			"",
		},
		c.Base.AdmissionControl,
		nil,
		c.Webhooks.Resolver(),
		c.Webhooks.Converters(space),
		1,
		c.Base.Authorization.Authorizer,
		c.Base.RequestTimeout,
		time.Duration(c.Base.MinRequestTimeout)*time.Second,
		map[string]*spec.Schema{},
		c.Base.MaxRequestBodyBytes,
	)
	if err != nil {
		return nil, fmt.Errorf("serve the objects of %s: %w", crd.Name, err)
	}
	return h, nil
}

// onlyDefinition implements upstream's informer over one definition that does not change.
type onlyDefinition struct {
	cache.SharedIndexInformer // nil: the handler calls none of its other methods
	crd                       *apiextensionsv1.CustomResourceDefinition
}

// Informer implements upstream's informer of definitions.
func (o onlyDefinition) Informer() cache.SharedIndexInformer { return o }

// AddEventHandler implements cache.SharedIndexInformer. There are no events.
func (onlyDefinition) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return nil, nil
}

// Lister implements upstream's informer of definitions.
func (o onlyDefinition) Lister() listers.CustomResourceDefinitionLister {
	all := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	_ = all.Add(o.crd) // it has a name
	return listers.NewCustomResourceDefinitionLister(all)
}

// isServed reports whether the objects of a definition can be read and written.
func isServed(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !isInstalling(crd) &&
		slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return (c.Type == apiextensionsv1.NamesAccepted || c.Type == apiextensionsv1.Established) &&
				c.Status == apiextensionsv1.ConditionTrue
		})
}

// isInstalling reports whether the names of a definition are accepted, and it is not established
// yet. Upstream already serves its objects then. But it also deletes such a definition without its
// objects, so here it is not served before it is established.
func isInstalling(crd *apiextensionsv1.CustomResourceDefinition) bool {
	accepted, installing := false, true
	for _, c := range crd.Status.Conditions {
		switch c.Type {
		case apiextensionsv1.NamesAccepted:
			accepted = c.Status == apiextensionsv1.ConditionTrue
		case apiextensionsv1.Established:
			installing = c.Status != apiextensionsv1.ConditionTrue && c.Reason == "Installing"
		}
	}
	return accepted && installing
}

// serving has the shared parts of one Server's definitions, by name.
type serving struct {
	shared *sharedDefinitions
	space  string // whose definitions they are; "" for those of the center's own kinds

	mu     sync.Mutex
	byName map[string]served
}

type served struct {
	crd    *apiextensionsv1.CustomResourceDefinition // as the server knows it
	shared *sharedDefinition
}

// keep is the transform of a Server's informer. It trims each definition, and replaces its spec by
// the shared one.
func (s *serving) keep(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil // the tombstone of a missed deletion
	}
	trimDefinition(crd)
	if s.space != "" { // objects of the center's own kinds are not placed
		kinds.ShowPlace(crd)
	}
	shared, err := s.of(crd)
	if err != nil {
		return nil, err
	}
	crd.Spec = shared.crd.Spec
	return crd, nil
}

// wrap returns a handler that serves the objects of definitions by their shared parts. All other
// requests go to own, the handler of upstream's server for the space.
func (s *serving) wrap(known listers.CustomResourceDefinitionLister, own http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := apirequest.RequestInfoFrom(r.Context()); ok && info.IsResourceRequest {
			crd, err := known.Get(info.Resource + "." + info.APIGroup)
			if err == nil && isInstalling(crd) {
				s.shared.unserved.ServeHTTP(w, r)
				return
			}
			if err == nil && isServed(crd) {
				if shared, err := s.of(crd); err == nil {
					if h, err := shared.handler(); err == nil {
						// The shared handler serves all spaces, so the context names the definer.
						h.ServeHTTP(w, r.WithContext(request.WithDefiner(r.Context(), s.space)))
						return
					}
				}
			}
		}
		own.ServeHTTP(w, r) // it says what is wrong with the definition
	})
}

// of returns the shared part of a definition that the Server has.
func (s *serving) of(crd *apiextensionsv1.CustomResourceDefinition) (*sharedDefinition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.byName[crd.Name]; have.crd == crd {
		return have.shared, nil
	}
	shared, err := s.shared.of(crd, s.space)
	if err != nil {
		return nil, err
	}
	s.byName[crd.Name] = served{crd, shared}
	return shared, nil
}
