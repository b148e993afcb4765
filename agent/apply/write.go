package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// withOrigin carries the UID of the source object with an error, for the report, and the names in
// which the target speaks.
type withOrigin struct {
	uid     string
	mapping target.Mapping
	err     error
}

func (w *withOrigin) Error() string { return w.err.Error() }
func (w *withOrigin) Unwrap() error { return w.err }

// changedError is returned after the inventory was wrong and has been corrected: try again at once.
type changedError struct{ error }

func (c *changedError) Unwrap() error { return c.error }

// apply brings a live entry to the target.
func (a *Applier) apply(ctx context.Context, e store.Entry) error {
	r, known := a.Inventory.Get(e.Key)
	v, err := a.vary(e, r)
	if err != nil {
		return err
	}
	stopped, err := a.stop(e, r, &v)
	if err != nil {
		return err
	}
	if err := leadAway(a.Callers, e, &v); err != nil {
		return err
	}
	if err := unmark(a.Gate, e, &v); err != nil {
		return err
	}
	e.Body = v.Body
	bring := a.bring
	if isCron(e.Key) && a.Lease != nil && !a.Relay {
		bring = a.bringCron
	}
	err = bring(ctx, e, r, known, v, stopped)
	switch {
	case err == nil:
		if !a.Relay {
			a.Variants.Done(e.Key, v.By, nil)
		}
		a.tellStopped(e, r, v, stopped)
	case len(v.By) > 0:
		err = &variedError{v.By, err}
	}
	return err
}

// bring brings the variant of a live entry to the target. A stopped one must not run there.
func (a *Applier) bring(
	ctx context.Context, e store.Entry, r inventory.Record, known bool, v variants.Variant, stopped bool,
) error {
	t := &task{Entry: e, record: r, variant: v.Hash, stopped: stopped}
	t.facts = factsOf(a, t, known)
	do := plan(t.facts)
	if do == actLeave {
		return nil
	}
	if do == actConfirm || do == actRecheck {
		if wait := a.conflicts.undecided(e.Key); wait > 0 {
			return &laterError{wait}
		}
		a.Reports.Applied(e.Key, r, nil)
	}
	if do == actConfirm {
		return nil
	}
	err := t.decode()
	if err == nil {
		err = a.locate(t)
	}
	if err == nil && stopped {
		t.policy.RetainFields, t.policy.WhenDrifted = nil, ""
	}
	if err == nil && do == actStopPod {
		return a.stopPod(ctx, t)
	}
	if err == nil {
		t.facts.remade = r.OriginUID != t.head.OriginUID()
		err = a.ensure(ctx, t, plan(t.facts))
	}
	if site.AccountRefused(err) || terminating(err) {
		if why := a.ending(ctx, t); why != nil {
			err = why
		} else if site.AccountRefused(err) {
			err = errors.Join(err, a.Gate.Accounts.Mend(ctx, t.atGate()))
		}
	}
	var refused *policy.Refusal
	if e.Key.Class() == store.ClassNamespace && errors.As(err, &refused) {
		a.Gate.Denials.Set(e.Key, refused)
	}
	if err != nil {
		return &withOrigin{t.head.OriginUID(), t.mapping, err}
	}
	return nil
}

// factsOf is what is known of a task before its body is read.
func factsOf(a *Applier, t *task, known bool) facts {
	r := t.record
	f := facts{
		kind: kindOf(t.Key), state: stateOf(r), same: known && r.Applied == t.Hash && r.Variant == t.variant,
		created: r.Created, stopped: t.stopped, sealed: a.Gate.Sealed(),
	}
	a.tracks.change(t.Key, func(is *tracked) {
		f.deleting = r.UID != "" && is.deleted == r.UID
		f.drifted, f.told = is.drift.state == openDrift, is.drift.state == toldDrift
		f.doubted, is.recheck = is.recheck, false
	})
	return f
}

// ensure does what is to be done at the target.
func (a *Applier) ensure(ctx context.Context, t *task, do action) (err error) {
	if do == actStayAway {
		return a.stayAway(t)
	}
	if err := a.Clients.EnsureSpace(ctx, t.Key.Space, t.head.Mapping()); err != nil {
		return err
	}
	if t.client, err = a.Clients.For(t.Key.Space); err != nil {
		return err
	}
	t.writer = a.Gate.Accounts.Writer(t.client, t.Key)
	if do == actComeBack {
		return a.comeBack(ctx, t)
	}
	t.existed = t.facts.kind == kindNamespace && t.record.UID != "" && !t.record.Created
	if err := a.permit(ctx, t); err != nil {
		return err
	}
	if err := a.provide(ctx, t); err != nil {
		return err
	}
	return carryOut(ctx, a, t, do)
}

// carryOut does what the site permits.
func carryOut(ctx context.Context, a *Applier, t *task, do action) error {
	switch do {
	case actRecheck:
		return a.recheck(ctx, t)
	case actSeeDrift:
		return a.drifted(ctx, t)
	case actCreate:
		return a.create(ctx, t)
	case actCheckNamespace:
		return a.checkNamespace(ctx, t)
	case actCheckDefinition:
		return a.checkDefinition(ctx, t)
	case actReplace:
		return a.replace(ctx, t)
	default:
		return a.write(ctx, t)
	}
}

// provide has the site keep what the pods of a workload need to use the API of their space, and what the name
// of a Service needs to lead to other sites.
func (a *Applier) provide(ctx context.Context, t *task) error {
	if a.Reaches != nil && t.head.Metadata.Annotations[target.AnnotationReach] != "" {
		a.Reaches()
	}
	if err := makeMoverClaim(ctx, a, t); err != nil {
		return err
	}
	account := t.head.Metadata.Annotations[store.PodAPI]
	if account == "" || a.PodAPI == nil {
		return nil
	}
	return a.PodAPI.Provide(ctx, t.Key, t.at.Namespace, account)
}

// comeBack checks an object whose deletion was requested from here before it was desired again. It
// waits until the object is gone, or is as it was because the target refused.
func (a *Applier) comeBack(ctx context.Context, t *task) error {
	found, err := a.find(ctx, t.client, t.resource, t.at, false)
	switch {
	case err != nil:
		return err
	case found == nil, found.Metadata.UID != t.record.UID:
		a.pendingDeletes.end(t.Key)
		return a.lose(t, errors.New("the object went, and is desired again"))
	}
	if err := deleting(found); err != nil {
		return err
	}
	a.pendingDeletes.end(t.Key)
	a.drifts.close(t.Key) // it is told anew
	return &changedError{errors.New("the object was not deleted, and is desired again")}
}

// write applies a known object in one request. The condition is that the object has the recorded UID.
// Nothing of anybody else is changed, also when it comes to be at the same moment.
func (a *Applier) write(ctx context.Context, t *task) error {
	live, err := a.update(ctx, t)
	if t.Key.Class() == store.ClassCRD && refusesVersions(err) {
		if err := a.storeAnew(ctx, t); err != nil {
			return err
		}
		live, err = a.update(ctx, t)
	}
	if apierrors.IsInvalid(err) && t.madeAnew() {
		return a.supersede(ctx, t, err)
	}
	if err = redefine(ctx, a, t, err); err != nil {
		return exchangePorts(ctx, a, t, a.refusedUpdate(ctx, t, err))
	}
	if t.madeAnew() && t.keepsFormer(live) {
		return a.supersede(ctx, t, errors.New("the target has kept what the earlier object of this name was made with"))
	}
	return a.written(ctx, t, live, t.record.Created)
}

// create creates the object, or adopts the one that exists. What has finished by the parent's word
// is not created: this site has lost its record. What goes again and again is created ever less
// often, whatever triggers it.
func (a *Applier) create(ctx context.Context, t *task) error {
	if wait := a.conflicts.early(t.Key); wait > 0 {
		return &laterError{wait}
	}
	if runsOnce(t.Key) && t.head.Metadata.Annotations[target.AnnotationEnded] != "" {
		found, err := a.find(ctx, t.client, t.resource, t.at, false)
		if err != nil {
			return err
		}
		if found == nil {
			return a.ended(t)
		}
		return a.adoptExisting(ctx, t)
	}
	live, err := a.put(ctx, t, t.Body, target.Applying{})
	if apierrors.IsConflict(err) {
		return a.adoptExisting(ctx, t)
	}
	if err != nil {
		return err
	}
	if err := a.written(ctx, t, live, true); err != nil {
		return err
	}
	a.remade.made(t.Key, live.Metadata.UID)
	wait := a.conflicts.undecided(t.Key)
	if wait == 0 {
		return nil
	}
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Contested", Message: fmt.Sprintf(
		"the object is deleted on the target again and again; it was made anew and will be every "+
			"%s: stop who deletes it, or place it elsewhere",
		wait.Round(time.Second),
	)})
	return &laterError{wait}
}

// refusedUpdate finds out why the write of a known object was refused: fields are others', it is
// gone, or another one has its name.
func (a *Applier) refusedUpdate(ctx context.Context, t *task, cause error) error {
	if contested := conflictsOf(cause); contested != nil {
		return contested
	}
	if !apierrors.IsConflict(cause) && (!apierrors.IsNotFound(cause) || missingNamespace(cause)) {
		return cause
	}
	found, err := a.find(ctx, t.client, t.resource, t.at, false)
	if err != nil {
		return err
	}
	if found != nil && found.Metadata.UID == t.record.UID {
		return cause
	}
	return a.lose(t, fmt.Errorf("the object on the target is another one now: %w", cause))
}

// lose forgets a record that is not true any more, and says to try again.
func (a *Applier) lose(t *task, why error) error {
	a.Inventory.Delete(t.Key)
	a.tracks.change(t.Key, func(is *tracked) { is.doubt = 0 })
	a.remade.end(t.Key)
	a.remirror(t.Key)
	return &changedError{why}
}

// written records what the target answered to a write.
func (a *Applier) written(ctx context.Context, t *task, live *target.Object, created bool) error {
	// gofail: var writtenBeforeRecord struct{}
	if err := a.Gate.Accounts.Admit(ctx, t.atGate(), created); err != nil {
		return err
	}
	a.record(t, live, created)
	if t.Key.Class() != store.ClassCRD {
		return nil
	}
	if created {
		a.sharers(t.Key)
	}
	return a.established(ctx, t)
}

// record records and reports what the target has now, and wakes what waited for it.
func (a *Applier) record(t *task, live *target.Object, created bool) {
	r := inventory.Record{
		UID: live.Metadata.UID, Applied: t.Hash, Variant: t.variant,
		Generation: t.Generation, TargetGeneration: live.Metadata.Generation,
		ResourceVersion: live.Metadata.ResourceVersion, Owned: live.OwnedSum(), Created: created,
		Autoscaled: t.record.Autoscaled, OwnAutoscaler: t.record.OwnAutoscaler,
		ScalePath:  t.record.ScalePath,
		Finished:   t.record.Finished && t.record.UID == live.Metadata.UID,
		APIVersion: t.head.APIVersion, Kind: t.head.Kind, OriginUID: t.head.OriginUID(), Prefix: string(t.mapping),
		Account: t.head.Metadata.Annotations[store.PodAPI], Altered: t.altered,
	}
	if r.Altered != "" && r.Altered != t.record.Altered {
		a.Log.Info("the target does not keep all that was applied", "key", t.Key, "what", r.Altered)
	}
	if len(t.left) > 0 {
		r.Applied = store.Hash{} // looked at again by the next start, which tells it again
	}
	a.decided(t.Key, live.Revision())
	a.Inventory.Put(t.Key, r)
	if t.exposed != nil {
		a.Gate.Hosts.Written(t.atGate())
	}
	a.remirror(t.Key)
	a.drifts.close(t.Key)
	a.Reports.Applied(t.Key, r, live)
	a.tellWebhooks(t)
	switch {
	case t.Key.Class() == store.ClassNamespace:
		a.Gate.Denials.Clear(t.Key)
		for _, k := range a.Variants.In(t.Key.Space, t.Key.Name) {
			a.queue.add(k, false)
		}
		a.queue.kick(func(k store.Key) bool { return k.Space == t.Key.Space && k.Namespace == t.Key.Name })
	case t.Key.Group == "" && t.Key.Resource == "serviceaccounts":
		a.queue.kick(func(k store.Key) bool { return k.Space == t.Key.Space && k.Namespace == t.Key.Namespace })
	}
}

// checkNamespace checks that a namespace that is not ours is still there. It never writes it.
func (a *Applier) checkNamespace(ctx context.Context, t *task) error {
	found, err := a.find(ctx, t.client, t.resource, t.at, true)
	if err != nil {
		return err
	}
	if found == nil {
		return a.lose(t, errors.New("the namespace is gone from the target, it will be made"))
	}
	a.record(t, found, false)
	return nil
}
