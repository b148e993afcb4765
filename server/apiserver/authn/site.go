package authn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gopkg.in/go-jose/go-jose.v2/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	api "k8s.io/kubernetes/pkg/apis/core"
	upstream "k8s.io/kubernetes/pkg/serviceaccount"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// SiteTokenLife is the lifetime of a token of a site's Pods.
const SiteTokenLife = 24 * time.Hour

// errOtherSite is returned for a token that is bound to a site and comes from elsewhere. It is also
// returned for one that is bound to none and comes from a site.
var errOtherSite = errors.New("the token is not for requests from here")

// IssueForSite issues a token of a ServiceAccount of the context's space for the Pods of a site, and
// returns when it expires. site is a path of targets, with slashes between them. The token is
// accepted through the gateway of that site alone. It ends when the account, or the first target of
// the path, is deleted or made again. NotFound is returned if one of them does not exist.
func (t *Tokens) IssueForSite(ctx context.Context, namespace, account, site string) (string, time.Time, error) {
	node, err := t.site(site)
	if err != nil {
		return "", time.Time{}, err
	}
	obj, err := storage.GetCached(ctx, t.accounts, namespace, account)
	if err != nil {
		return "", time.Time{}, err
	}
	seconds := int64(SiteTokenLife / time.Second)
	claims, private, err := upstream.Claims(*obj.(*api.ServiceAccount), nil, nil,
		&api.Node{ObjectMeta: node.ObjectMeta}, nil, nil, seconds, 0, []string{Audience}, nil)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("claims of ServiceAccount %s/%s: %w", namespace, account, err)
	}
	token, err := t.GenerateToken(ctx, claims, private)
	return token, claims.Expiry.Time(), err
}

// Issued reports whether this center has signed a token, whether or not it is still valid.
func (t *Tokens) Issued(token string) bool {
	parsed, err := jwt.ParseSigned(token)
	if err != nil {
		return false
	}
	var claims jwt.Claims
	return parsed.Claims(t.key.Public(), &claims) == nil
}

// site returns a site as upstream's tokens know one: a Node whose name is the path. Its UID is that
// of the path's first target, which is one of this center.
func (t *Tokens) site(path string) (*corev1.Node, error) {
	name, _, _ := strings.Cut(path, "/")
	uid := t.target(name)
	if name == "" || uid == "" {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), path)
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: path, UID: types.UID(uid)}}, nil
}

// GetNode implements serviceaccount.ServiceAccountTokenGetter. The node of a token is the site that
// its requests must come from.
func (t *Tokens) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	if name == "" || name != request.Site(ctx) {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return t.site(name)
}

// boundTo returns the site that an authenticated token is bound to, "" for none.
func boundTo(who *authenticator.Response) string {
	if who == nil || who.User == nil {
		return ""
	}
	names := who.User.GetExtra()[serviceaccount.NodeNameKey]
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ",")
}
