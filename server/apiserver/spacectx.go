package apiserver

import (
	"context"
	"errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/registrykey"
)

const (
	// rootSpace is served without a URL prefix.
	rootSpace = v1alpha1.RootSpace
	// anySpace reads all spaces at once. Only the center's own parts may ask for it.
	anySpace = "*"
	// ownSpace holds the CustomResourceDefinitions of skerry.dev. A dot cannot be in a user's space, and no request from outside
	// reaches it.
	ownSpace = registrykey.OwnSpace
	// nowhere is the space of requests for spaces that do not exist. A dot cannot be in a space of users, and nothing is stored in it.
	nowhere = "no.space"
)

// errNoSpace is returned by the storage when a request names no space: upstream code that makes a context of its own. There is
// deliberately no default.
var errNoSpace = errors.New("no space in the request's context")

type spaceKey struct{}
type innerKey struct{}
type applyKey struct{}
type definerKey struct{}

func withSpace(ctx context.Context, space string) context.Context {
	return context.WithValue(ctx, spaceKey{}, space)
}

// spaceOf returns the space of a request, "" when there is none.
func spaceOf(ctx context.Context) string {
	s, _ := ctx.Value(spaceKey{}).(string)
	return s
}

// withDefiner notes whose definition a custom resource is made of.
func withDefiner(ctx context.Context, space string) context.Context {
	return context.WithValue(ctx, definerKey{}, space)
}

// definerOf returns the space whose definition a request for custom resources is served with. It is the request's own space, or the one that it borrows of. What
// serves the center's own kinds, or a definition by itself, says nothing: "".
func definerOf(ctx context.Context) string {
	s, _ := ctx.Value(definerKey{}).(string)
	return s
}

func withInner(ctx context.Context) context.Context { return context.WithValue(ctx, innerKey{}, true) }

// isInner tells whether a request came in by the loopback, so from the center itself. It depends on the connection alone: no
// credential and no impersonation makes an outer request an inner one.
func isInner(ctx context.Context) bool {
	b, _ := ctx.Value(innerKey{}).(bool)
	return b
}

// withApply marks a request that is a server-side apply: admission sees no more than that something is patched.
func withApply(ctx context.Context) context.Context { return context.WithValue(ctx, applyKey{}, true) }

func applies(ctx context.Context) bool {
	b, _ := ctx.Value(applyKey{}).(bool)
	return b
}
