package apply

import (
	"context"
	"errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
)

// claim takes a Namespace that exists and has no record for its space, where the site lets it.
func (a *Applier) claim(ctx context.Context, t *task, found *target.Object) error {
	o := t.atGate()
	if err := a.Gate.Claim(ctx, o, found); err != nil {
		return err
	}
	t.Body, t.existed = o.Body, o.Existed
	if err := deleting(found); err != nil {
		return err
	}
	live, err := a.put(
		ctx,
		t,
		t.Body,
		target.Applying{UID: found.Metadata.UID, ResourceVersion: found.Metadata.ResourceVersion},
	)
	if err != nil {
		return err
	}
	if found.OriginSpace() == "" {
		a.Log.Info("a namespace that was there is the space's from now on", "key", t.Key)
	}
	return a.written(ctx, t, live, !t.existed)
}

// permit returns why the site does not let an object be applied, nil if it does.
func (a *Applier) permit(ctx context.Context, t *task) error {
	o := t.atGate()
	err := a.Gate.Permit(ctx, o)
	t.Body, t.exposed, t.left = o.Body, o.Exposed, o.Left
	switch {
	case errors.Is(err, site.ErrWebhooks):
		return &laterError{webhooksAgain}
	case err != nil && t.record.UID != "" && policy.IsWebhooks(t.Key.Group, t.Key.Resource):
		return unmirror(ctx, a, t, err)
	}
	return err
}
