package delivery

import (
	"context"
	"sync"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
)

// views are what is to be said of groups on their holders: the last step of each. It is written beside
// the decisions, which wait for no write of a user's object.
type views struct {
	mu    sync.Mutex
	last  map[catalog.Ref]view
	queue queue.Queue[catalog.Ref]
}

type view struct {
	plan *plan
	step placement.Step
}

func newViews() *views {
	return &views{last: map[catalog.Ref]view{}, queue: catalog.NewQueue(catalog.Ref.Space)}
}

// put has a step said, in place of an earlier one that has not been. Why a target was left is said
// all the same.
func (v *views) put(p *plan, step placement.Step) {
	v.mu.Lock()
	if unsaid, ok := v.last[p.ref]; ok {
		p.leftFor = unsaid.plan.whyLeft()
	}
	v.last[p.ref] = view{p, step}
	v.mu.Unlock()
	v.queue.Add(p.ref)
}

// again keeps a step that could not be said for the next one, unless there is that already.
func (v *views) again(of view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if next, ok := v.last[of.plan.ref]; !ok {
		v.last[of.plan.ref] = of
	} else if next.plan.leftFor == "" {
		next.plan.leftFor = of.plan.whyLeft()
	}
}

// whyLeft says why targets were left, in this step or in one that was not said; empty for none.
func (p *plan) whyLeft() string {
	if len(p.choice.Left) > 0 {
		return p.why()
	}
	return p.leftFor
}

func (v *views) take(r catalog.Ref) (view, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	next, ok := v.last[r]
	delete(v.last, r)
	return next, ok
}

// showLast says the last step of a group. Where its holder has changed meanwhile the group is looked at
// again.
func (d *Delivery) showLast(ctx context.Context, r catalog.Ref) error {
	next, ok := d.views.take(r)
	if !ok {
		return nil
	}
	err := d.show(ctx, next.plan, next.step)
	if err != nil && ctx.Err() == nil {
		d.views.again(next)
		d.catalog.Groups.AddRateLimited(r)
		d.cfg.Log.Debug("a decision is not shown yet", "of", r.String(), "err", err)
	}
	return nil
}
