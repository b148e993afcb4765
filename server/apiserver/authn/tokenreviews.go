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

// Reviews is the group authentication.k8s.io with TokenReviews that know which space asks. Upstream
// checks a token by a request of its own making, without a context, and so finds no issuer.
type Reviews struct {
	authenticationrest.RESTStorageProvider
}

// NewRESTStorage makes the REST storages of the group.
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
	// Only space and site go along: who asks is not who is asked about. So the pods of a site check
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
