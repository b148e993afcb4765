package authn

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	"k8s.io/kubernetes/pkg/registry/authentication/tokenreview"

	"skerry.dev/skerry/server/apiserver/request"
)

// Reviews is the group authentication.k8s.io. Its TokenReviews check a token in the space of the
// request. Upstream checks it in a request without a context, and so without a space.
type Reviews struct {
	authenticationrest.RESTStorageProvider
}

// NewRESTStorage returns the REST storages of the group.
func (g Reviews) NewRESTStorage(
	rc serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := g.RESTStorageProvider.NewRESTStorage(rc, og)
	if err != nil {
		return info, err
	}
	v1 := info.VersionedResourcesStorageMap["v1"]
	v1["tokenreviews"] = &tokenReviews{v1["tokenreviews"].(*tokenreview.REST), g.Authenticator, g.APIAudiences}
	return info, nil
}

type tokenReviews struct {
	*tokenreview.REST
	authn     authenticator.Request
	audiences authenticator.Audiences
}

// Create implements rest.Creater.
func (t *tokenReviews) Create(
	ctx context.Context,
	obj runtime.Object,
	valid rest.ValidateObjectFunc,
	o *metav1.CreateOptions,
) (runtime.Object, error) {
	// Only space and site are passed on, and not the user who asks. With the site, its Pods can check
	// each other's tokens.
	space := request.WithSite(request.WithSpace(context.Background(), request.Space(ctx)), request.Site(ctx))
	here := authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		within := space
		if audiences, ok := authenticator.AudiencesFrom(r.Context()); ok {
			within = authenticator.WithAudiences(space, audiences)
		}
		return t.authn.AuthenticateRequest(r.WithContext(within))
	})
	return tokenreview.NewREST(here, t.audiences).Create(ctx, obj, valid, o)
}
