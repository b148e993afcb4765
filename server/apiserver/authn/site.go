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

// SiteTokenLife is how long the token of a site's pods lives.
const SiteTokenLife = 24 * time.Hour

// errOtherSite is returned for a token that is bound to a site and comes from elsewhere, and for one
// that is bound to none and comes from a site.
var errOtherSite = errors.New("the token is not for requests from here")

// IssueForSite issues a token of a ServiceAccount of the context's space for the pods of a site,
// which is a path of targets. It is accepted through the gateway of that site alone, as long as the
// account and the first target of the path exist with their present UIDs.
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
		&api.Node{ObjectMeta: node.ObjectMeta}, seconds, 0, []string{Audience})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("claims of ServiceAccount %s/%s: %w", namespace, account, err)
	}
	token, err := t.GenerateToken(ctx, claims, private)
	return token, claims.Expiry.Time(), err
}

// Issued reports whether this center has signed a token, valid or not.
func (t *Tokens) Issued(token string) bool {
	parsed, err := jwt.ParseSigned(token)
	if err != nil {
		return false
	}
	var claims jwt.Claims
	return parsed.Claims(t.key.Public(), &claims) == nil
}

// site is a site as upstream's tokens know one: a node whose name is the path. Its UID is that of
// the target of this center which leads there.
func (t *Tokens) site(path string) (*corev1.Node, error) {
	name, _, _ := strings.Cut(path, "/")
	uid := t.target(name)
	if name == "" || uid == "" {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), path)
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: path, UID: types.UID(uid)}}, nil
}

// GetNode implements serviceaccount.ServiceAccountTokenGetter. A space has no nodes: the node of a
// token is the site that the request has to come from.
func (t *Tokens) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	if name == "" || name != request.Site(ctx) {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return t.site(name)
}

// boundTo is the site that an authenticated token is bound to, "" for none.
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
