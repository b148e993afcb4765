package authn

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	apiservervalidation "k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
)

// readAuthentication decodes an AuthenticationConfiguration of Kubernetes: OIDC providers, and the
// paths at which requests may be anonymous. A user of a provider is the same in every space, and has
// the rights that each space gives.
func readAuthentication(path string, data []byte) (*apiserverapi.AuthenticationConfiguration, error) {
	scheme := runtime.NewScheme()
	apiserverinstall.Install(scheme)
	obj, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w; it must be an AuthenticationConfiguration of "+
			"apiserver.config.k8s.io/v1", path, err)
	}
	c, ok := obj.(*apiserverapi.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, not an AuthenticationConfiguration", path, obj)
	}
	if err := apiservervalidation.ValidateAuthenticationConfiguration(
		authenticationcel.NewDefaultCompiler(),
		c,
		nil,
	).ToAggregate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// outsiders refuses who a provider calls by a name that is Kubernetes' own. Otherwise a claim could
// make somebody a member of system:masters, or a ServiceAccount. Claims that the configuration gives
// a prefix cannot have such a name.
type outsiders struct{ authenticator.Token }

// AuthenticateToken implements authenticator.Token.
func (o outsiders) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	who, ok, err := o.Token.AuthenticateToken(ctx, token)
	if !ok || err != nil {
		return who, ok, err
	}
	for _, name := range append([]string{who.User.GetName()}, who.User.GetGroups()...) {
		if strings.HasPrefix(name, reservedPrefix) {
			return nil, false, fmt.Errorf("an OIDC provider says %q, and names that begin with %s are the center's own: "+
				"give the claim a prefix in the authentication configuration", name, reservedPrefix)
		}
	}
	return who, true, nil
}

// reservedPrefix begins the names that only the center gives.
const reservedPrefix = "system:"
