package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// webhooksAgain is after how long what waits for webhooks of its space looks again.
const webhooksAgain = 100 * time.Millisecond

// decidesWebhooks reports whether what the site has of a space's webhooks depends on an object.
func decidesWebhooks(k store.Key) bool {
	return k.Class() == store.ClassNamespace || k.IsService()
}

// remirror has the webhooks of a space made again, after something changed on which they depend. A
// worker that is at one of them has perhaps not seen the change: what it records is forgotten by the
// second case.
func (a *Applier) remirror(k store.Key) {
	switch {
	case !a.Gate.Sealed():
	case policy.IsWebhooks(k.Group, k.Resource):
		if a.Gate.Mirrors.Stale(k) {
			a.Rewound([]store.Key{k})
		}
	case decidesWebhooks(k):
		keys := a.Gate.Mirrors.Changed(k.Space)
		a.Rewound(keys)
		for _, of := range keys {
			a.queue.add(of, false) // also those that have no record yet
		}
	}
}

// unmirror removes webhooks that the site has of before it refused them.
func unmirror(ctx context.Context, a *Applier, t *task, refused error) error {
	gone, err := t.writer.Delete(ctx, t.resource, "", t.at.Name, target.Deletion{UID: t.record.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove webhooks that are not allowed any more: %w", err)
	}
	a.Log.Info("webhooks are removed", "key", t.Key, "gone", gone, "why", refused)
	a.Inventory.Delete(t.Key)
	a.drifts.close(t.Key)
	return refused
}

// tellWebhooks reports which webhooks of a configuration the site does not call.
func (a *Applier) tellWebhooks(t *task) {
	if len(t.left) > 0 {
		a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: policy.ReasonWebhooks,
			Message: "not asked about what is born at the site: " + strings.Join(t.left, "; ")})
	}
}

// settleWebhooks notes what became of a configuration of webhooks.
func (a *Applier) settleWebhooks(k store.Key, err error) {
	var changed *changedError
	if a.Gate.Sealed() && policy.IsWebhooks(k.Group, k.Resource) && !errors.As(err, &changed) {
		a.Gate.Mirrors.Settled(k)
	}
}
