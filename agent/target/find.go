package target

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/store"
)

// Find reads the object at a key in the names of the target, nil when there is none. With cached it
// may be a little old, see Client.Get.
func Find(ctx context.Context, c *Client, r Resource, at store.Key, cached bool) (*Object, error) {
	found, err := c.Get(ctx, r, at.Namespace, at.Name, cached)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}
