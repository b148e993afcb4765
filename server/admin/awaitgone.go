package admin

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// awaitGone waits until an object of root is gone, or another one has its name. When the time is
// over it is false, and why is the message of the object's condition, for people. Progress says it,
// too.
func (c *center) awaitGone(
	ctx context.Context,
	resource schema.GroupVersionResource,
	name string,
	uid types.UID,
	wait time.Duration,
	kind string,
	progress *Progress,
) (gone bool, why string) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer progress.Done()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := c.root.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && is.GetUID() != uid:
			return true, ""
		case err == nil:
			_, why = condition(is.Object, kind)
			progress.Step("waiting until %s is gone: %s", name, orElse(why, "asked for"))
		}
		select {
		case <-ctx.Done():
			return false, orElse(why, "the center has not begun")
		case <-tick.C:
		}
	}
}
