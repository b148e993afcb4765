package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// annotators is how many annotations are written at a time, renderers how many objects are rendered
// again. Decisions are made by one goroutine.
const (
	annotators = 2
	renderers  = 2
)

// API is what delivery does to the objects of spaces.
type API interface {
	spaceapi.Getter
	spaceapi.Patcher
	spaceapi.Creator
	spaceapi.Deleter
}

// WebhookFunc calls a webhook, see Config.
type WebhookFunc func(
	ctx context.Context, space string, hook *v1alpha1.WebhookHook, key string, body []byte,
) (code int, text string, err error)

// Config is what delivery needs. All fields but those that say so are needed.
type Config struct {
	// Config is what the desired state needs; New sets its Objects.
	desired.Config
	API API
	// Records is where decisions are stored.
	Records scheduler.Records
	// Leases knows what may be counted on when a target is not heard. Nil counts on every target that is
	// away being down.
	Leases Leases
	// Confirm asks a target to confirm its reports: Confirmed is to be called once it has durably
	// stored what its feed had at a revision, and has told anew what it reports after that, be it
	// much later. It must not block.
	Confirm func(target string, revision int64)
	// Webhook calls a webhook of a space with a HookCall as JSON, and its key. It returns the status of the
	// answer and the beginning of its text as one line.
	Webhook WebhookFunc
	// Volumes copies volumes, nil where none are copied: they stay where they are.
	Volumes Volumes
	// Condition puts a condition on a placed object. It must not block.
	Condition func(key store.Key, c placement.Condition)
}

// Leases knows the leases of targets.
type Leases interface {
	// Lease returns what may be counted on of a target that takes a time to stop what runs there. It is asked
	// under the catalog's lock.
	Lease(target string, stop time.Duration) placement.Lease
}

// Delivery makes decisions about what a catalog has, and writes them. Reset, Apply and Progress are called
// by one goroutine at a time, everything else may be called at any time.
type Delivery struct {
	*desired.State

	cfg       Config
	catalog   *catalog.Catalog
	views     *views
	hooks     *hookCalls
	moves     *volumeMoves
	standbys  *standbys
	readiness readiness // of the goroutine that decides
	turns     *turns    // of the goroutine that decides
	era       store.Era
	pace      pace
}

// New returns a delivery with an empty catalog. It does nothing before the first Reset.
func New(cfg Config) *Delivery {
	c := catalog.New()
	cfg.Objects = cfg.API
	moves := newVolumeMoves(cfg.Volumes, c, cfg.API, cfg.Progress)
	return &Delivery{
		State:     desired.New(cfg.Config, c),
		cfg:       cfg,
		catalog:   c,
		views:     newViews(),
		hooks:     newHookCalls(c.HookFailures),
		moves:     moves,
		standbys:  moves.standbys,
		readiness: readiness{},
		turns:     newTurns(c),
		pace:      pace{log: cfg.Log},
	}
}

// Run writes decisions until the context ends. It may be called once.
func (d *Delivery) Run(ctx context.Context) error {
	var running sync.WaitGroup
	d.era = d.Begun()
	running.Go(func() {
		if d.takeOver(ctx) == nil {
			running.Go(func() { run(ctx, d, d.catalog.Rolls, d.stepRollout) })
			run(ctx, d, d.catalog.Groups, d.decide)
		}
	})
	running.Go(func() { d.retire(ctx) })
	for range annotators {
		running.Go(func() { run(ctx, d, d.catalog.Notes, d.annotate) })
		running.Go(func() { run(ctx, d, d.views.queue, d.showLast) })
	}
	for range renderers {
		running.Go(func() { run(ctx, d, d.catalog.Renders, d.Rerender) })
	}
	running.Go(func() { run(ctx, d, d.catalog.Says, d.tellOf) })
	running.Go(func() { run(ctx, d, d.catalog.Status, d.countLocation) })
	running.Go(func() { run(ctx, d, d.catalog.HookJobs, d.tidyHook) })
	<-ctx.Done()
	d.catalog.Groups.ShutDown()
	d.catalog.Notes.ShutDown()
	d.views.queue.ShutDown()
	d.catalog.Renders.ShutDown()
	d.catalog.Says.ShutDown()
	d.catalog.Rolls.ShutDown()
	d.catalog.Status.ShutDown()
	d.catalog.HookJobs.ShutDown()
	running.Wait()
	d.hooks.wait()
	if d.cfg.Volumes != nil {
		d.cfg.Volumes.Wait()
	}
	return nil
}

func run[T interface {
	comparable
	fmt.Stringer
}](ctx context.Context, d *Delivery, q queue.Queue[T], do func(context.Context, T) error) {
	queue.Drain(ctx, q, do, func(item T, err error) {
		d.cfg.Log.Debug("decision is tried again", "of", item.String(), "err", err)
	})
}
