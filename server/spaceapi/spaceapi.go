// Package spaceapi is what the center's controllers ask of the API of the spaces, a verb an
// interface. A controller joins those that it needs:
//
//	type API interface {
//		spaceapi.Getter
//		spaceapi.Patcher
//	}
//
// The key says which object, its space included; apiVersion, such as apps/v1, says in which version
// the object is read or written. Objects are as decoded from JSON, and the caller's own. Errors are
// those of Kubernetes' API, so apierrors.IsNotFound, IsConflict, IsAlreadyExists and IsInvalid tell
// them apart.
package spaceapi

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/store"
)

// Getter reads objects.
type Getter interface {
	// Get reads an object. It may be older than the last write, by what a watch cache lags behind.
	Get(ctx context.Context, key store.Key, apiVersion string) (map[string]any, error)
}

// LiveGetter reads objects as they are stored.
type LiveGetter interface {
	// Live reads an object from the store, never from a cache.
	Live(ctx context.Context, key store.Key, apiVersion string) (map[string]any, error)
}

// Creator creates objects.
type Creator interface {
	// Create creates an object and returns it as it is stored.
	Create(ctx context.Context, key store.Key, apiVersion string, obj map[string]any) (map[string]any, error)
}

// Patcher changes objects.
type Patcher interface {
	// Patch changes an object, or the subresource of it that is named, and returns the object as it
	// is then. A patch that is a JSON object is a merge patch (RFC 7386), an array is a JSON Patch
	// (RFC 6902).
	Patch(ctx context.Context, key store.Key, apiVersion, subresource string, patch []byte) (map[string]any, error)
}

// Deleter deletes objects without a wait.
type Deleter interface {
	// Delete deletes an object with a grace period of zero, and in the background what it owns. With
	// a UID, it deletes only the object of this UID.
	Delete(ctx context.Context, key store.Key, apiVersion, uid string) error
}

// Terminator begins deletions.
type Terminator interface {
	// Terminate has the Pod of this UID be shown as being deleted, with a grace period in seconds, 1
	// at least. It stays until Delete ends it.
	Terminate(ctx context.Context, key store.Key, apiVersion, uid string, grace int64) error
}

// Remover deletes objects as they were read.
type Remover interface {
	// Remove deletes the object of this UID and resource version. The policy says what becomes of
	// what it owns: Orphan, Foreground or Background.
	Remove(ctx context.Context, key store.Key, apiVersion, uid, version, policy string) error
}

// Resolver finds resources by kind.
type Resolver interface {
	// Resolve returns the resource that serves a kind in a space, such as deployments. It returns an
	// error when the space does not serve the kind.
	Resolve(
		ctx context.Context,
		space string,
		gv schema.GroupVersion,
		kind string,
	) (resource string, namespaced bool, err error)
}
