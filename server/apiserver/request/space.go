package request

import (
	"context"
	"errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/registrykey"
)

const (
	// RootSpace is served without a URL prefix.
	RootSpace = v1alpha1.RootSpace
	// AllSpaces reads all spaces at once. Only the center's own parts may ask for it.
	AllSpaces = "*"
	// OwnSpace holds the CustomResourceDefinitions of skerry.dev. A dot cannot be in a user's
	// space, and no request from outside reaches it.
	OwnSpace = registrykey.OwnSpace
	// NoSpace is the space of requests for spaces that do not exist. A dot cannot be in a space of
	// users, and nothing is stored in it.
	NoSpace = "no.space"
)

// ErrNoSpace is returned by the storage if the context names no space. That happens where upstream
// code makes a context of its own. There is deliberately no default.
var ErrNoSpace = errors.New("no space in the request's context")

type spaceKey struct{}
type innerKey struct{}
type applyKey struct{}
type siteKey struct{}
type definerKey struct{}

// WithSpace returns a context for requests in a space.
func WithSpace(ctx context.Context, space string) context.Context {
	return context.WithValue(ctx, spaceKey{}, space)
}

// Space returns the space of a request, "" when there is none.
func Space(ctx context.Context) string {
	s, _ := ctx.Value(spaceKey{}).(string)
	return s
}

// WithDefiner sets the space whose definition a custom resource has.
func WithDefiner(ctx context.Context, space string) context.Context {
	return context.WithValue(ctx, definerKey{}, space)
}

// Definer returns the space whose definition serves a request for custom resources: the space of
// the request, or its lender. It is "" for the kinds of the center, and for definitions themselves.
func Definer(ctx context.Context) string {
	s, _ := ctx.Value(definerKey{}).(string)
	return s
}

// AsCenter returns a context for requests that the center itself makes.
func AsCenter(ctx context.Context) context.Context { return context.WithValue(ctx, innerKey{}, true) }

// FromCenter reports whether a request came in by the loopback, so from the center itself. It
// depends on the connection alone: no credential and no impersonation makes an outer request one of
// the center.
func FromCenter(ctx context.Context) bool {
	b, _ := ctx.Value(innerKey{}).(bool)
	return b
}

// WithSite returns a context for requests that come from the pods of a site, through its gateway.
// Site is the path of the site from this center: the names of targets with slashes between them.
func WithSite(ctx context.Context, site string) context.Context {
	return context.WithValue(ctx, siteKey{}, site)
}

// Site returns the site whose gateway a request came through, "" for every other request. Like
// FromCenter it depends on the connection alone.
func Site(ctx context.Context) string {
	s, _ := ctx.Value(siteKey{}).(string)
	return s
}

// WithApply records that a request is a server-side apply. Admission cannot tell it from another
// patch.
func WithApply(ctx context.Context) context.Context { return context.WithValue(ctx, applyKey{}, true) }

// IsApply reports whether a request is a server-side apply.
func IsApply(ctx context.Context) bool {
	b, _ := ctx.Value(applyKey{}).(bool)
	return b
}
