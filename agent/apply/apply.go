package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/tracing"
)

// Workers is how many objects are written at the same time.
const Workers = 8

// Desired is the durable copy of what the parent wants. bolt.Sink implements it.
type Desired interface {
	// Each visits every entry without its body, tombstones included.
	Each(visit func(store.Entry) error) error
	// Get returns one entry with its body.
	Get(k store.Key) (store.Entry, bool, error)
	// Forget drops these tombstones: their deletion is done.
	Forget(tombstones ...store.Entry) error
}

// Reports receives what became of each object.
type Reports interface {
	// Applied is called when the target has the desired version. live is the target's answer to a
	// write, nil if nothing had to be written.
	Applied(k store.Key, r inventory.Record, live *target.Object)
	// Refused is called when the target does not have the desired version. The object will be tried
	// again.
	Refused(k store.Key, originUID string, why store.ReportError)
	// Removing is called before the target is asked to delete the object. From then on the target
	// does not have the desired version, until Applied is called.
	Removing(k store.Key)
	// Removed is called when the object is gone from the target and from the desired state.
	Removed(k store.Key)
	// Version returns the last resourceVersion in which the object of a UID was seen, empty when it was
	// not.
	Version(k store.Key, uid string) string
}

// Variants renders what the target gets. variants.Rules implements it.
type Variants interface {
	// Load reads the rules of the desired copy.
	Load() error
	// Note marks a rule as changed; it does no I/O. Refresh reads it again, and lists the objects
	// that it may concern.
	Note(rule store.Key)
	Refresh(rule store.Key) ([]store.Key, error)
	// Touches reports whether rules may change an object. In lists the objects of a namespace for
	// which the labels of the Namespace matter.
	Touches(k store.Key) bool
	In(space, namespace string) []store.Key
	// Waiting names a Customizer that may change an object and for which done is false.
	Waiting(k store.Key, done func(rule store.Key, hash store.Hash) bool) (string, error)
	// Render makes the variant of an object. variants.ErrUnknown says that it has to wait.
	Render(k store.Key, body []byte) (variants.Variant, error)
	// Done is told that an object is as desired, or what the target says of the variant that these
	// Customizers made. Forget is told that it is no longer desired.
	Done(k store.Key, by []string, why *store.ReportError)
	Forget(k store.Key)
}

// PodAPI gives the pods of workloads the API of their space.
type PodAPI interface {
	// Provide keeps what the pods of the workload k need that run as a ServiceAccount, in the
	// namespace that the target calls at. A *policy.Refusal says that the site cannot.
	Provide(ctx context.Context, k store.Key, at, account string) error
}

// Site is what the site decides about the spaces that write to its cluster.
type Site = site.Rules

// Guard withholds deletions. deletionguard.Guard implements it.
type Guard interface {
	// Holds reports whether a tombstone must wait. Changed is called with its key when it need not
	// wait any more.
	Holds(tombstone store.Entry) bool
}

// Listener learns what an Applier does. Its methods must not block.
type Listener interface {
	// Deleting is called before the target is asked to delete the object of a tombstone.
	Deleting(tombstone store.Entry)
	// Tried is called with the duration of each try to bring an object to its desired state.
	Tried(took time.Duration, failed bool)
}

// Config is what an Applier works with. Guard and Listener may be nil.
type Config struct {
	Desired   Desired
	Inventory *inventory.Inventory
	Clients   *target.Clients
	Reports   Reports
	// Variants has the Customizers. A relay's are objects of its own spaces; it renders none.
	Variants Variants
	// Self are the names by which the parent knows this target, the present one first, none while that
	// is not known. What is shared out among targets waits for it.
	Self func() []string
	// Whole reports whether the desired copy is known to lack nothing; nil says that it is.
	Whole func() bool
	// Relay is true when the target is a center's own API. Nothing runs there: its own sites decide
	// what is allowed, which replicas there are, and what Customizers change.
	Relay bool
	// PodAPI keeps what pods need that use the API of their space; nil for a relay, whose own sites
	// keep it.
	PodAPI PodAPI
	// Callers are who calls Services that answer at other sites, too; nil where there are none.
	Callers Callers
	// Reaches is told that a Service is applied which answers wherever its space runs Pods; nil tells nobody.
	Reaches func()
	// Lease says what must not run now; nil stops nothing.
	Lease    Lease
	Guard    Guard
	Listener Listener
	// Trace follows tries to write what belongs to a trace; nil follows none.
	Trace *tracing.Follower
	Log   *slog.Logger
}

// Applier makes the target match the desired state.
type Applier struct {
	Config
	// Gate is what the owner of the target lets spaces have there. Its Rules may be set before Run.
	Gate           *site.Gate
	queue          *queue
	tracks         *tracks
	drifts         drifts          // of tracks
	conflicts      conflictBackoff // of tracks
	pendingDeletes pendingDeletes  // of tracks
	remade         *remade
	staying        *staying
	finished       *finished

	unrecorded checklist // entries of the start that may be on the target without a record
}

// New returns an Applier. It does nothing before Run.
func New(c Config) *Applier {
	gate := site.New(site.Config{Desired: c.Desired, Inventory: c.Inventory, Clients: c.Clients, Log: c.Log})
	all := &tracks{}
	return &Applier{
		Config: c, Gate: gate, staying: &staying{&gate.Accounts, c.Inventory, c.Log},
		finished: newFinished(c.Desired, c.Inventory, c.Log),
		queue:    newQueue(),
		tracks:   all, drifts: drifts{all}, conflicts: conflictBackoff{all}, pendingDeletes: pendingDeletes{all},
		unrecorded: checklist{done: make(chan struct{})}, remade: newRemade(),
	}
}

// Changed queues keys whose entries were committed to the desired copy. It does no I/O and never
// waits.
func (a *Applier) Changed(keys []store.Key) {
	for _, k := range keys {
		if k.Renders() {
			a.Variants.Note(k) // before any object of the same batch
		}
	}
	for _, k := range keys {
		a.conflicts.allow(k)
		if policy.IsWebhooks(k.Group, k.Resource) {
			a.Gate.Mirrors.Add(k)
		}
	}
	a.queue.addAll(keys) // a worker that finds a tombstone puts it at its own level
}

// Compared is closed once every entry that the file had at the start without a record in the
// inventory was looked up on the target. Before that a tombstone could not tell whose object it
// deletes.
func (a *Applier) Compared() <-chan struct{} { return a.unrecorded.done }

// Retry tries everything at once that waits for its time: the target answers again.
func (a *Applier) Retry() { a.queue.kick(func(store.Key) bool { return true }) }

// Recheck applies everything again, because what the site allows has changed.
func (a *Applier) Recheck() {
	var all []store.Key
	a.Inventory.Any(func(k store.Key, _ inventory.Record) bool {
		all = append(all, k)
		return false
	})
	a.Rewound(all)
	a.Retry()
}

// Pending returns how many keys are not as desired yet.
func (a *Applier) Pending() int { return a.queue.len() }

// Run applies until ctx ends.
func (a *Applier) Run(ctx context.Context) error {
	if err := a.compare(); err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { a.finished.forget(ctx) })
	all.Go(func() { a.recheckAlterations(ctx) })
	if !a.Relay {
		all.Go(func() { furnish(ctx, a) })
	}
	for range Workers {
		all.Go(func() { a.work(ctx) })
	}
	all.Wait()
	return nil
}

// compare queues what the target lacks according to the inventory.
func (a *Applier) compare() error {
	if err := a.Variants.Load(); err != nil {
		return err
	}
	unrecorded := map[store.Key]bool{}
	var open []store.Key
	err := a.Desired.Each(func(e store.Entry) error {
		r, known := a.Inventory.Get(e.Key)
		if policy.IsWebhooks(e.Key.Group, e.Key.Resource) && !e.Tombstone {
			a.Gate.Mirrors.Add(e.Key)
			a.Gate.Mirrors.Settled(e.Key)
		}
		if !e.Tombstone && known && r.Applied == e.Hash && r.UID != "" {
			a.Reports.Applied(e.Key, r, nil)
			if r.Variant == (store.Hash{}) && (a.Relay || !a.Variants.Touches(e.Key) &&
				!policy.IsIngressClass(e.Key.Group, e.Key.Resource)) {
				return nil
			}
		}
		if !e.Tombstone && !known && !a.isRule(e.Key) {
			unrecorded[e.Key] = true
		}
		open = append(open, e.Key)
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare desired state with inventory: %w", err)
	}
	a.unrecorded.start(unrecorded)
	a.Changed(open)
	return nil
}

func (a *Applier) work(ctx context.Context) {
	for {
		k, ok := a.queue.next(ctx)
		if !ok {
			return
		}
		if a.one(ctx, k) {
			a.unrecorded.complete(k)
		}
	}
}

// one brings one key to its desired state, or schedules a retry. It reports false when the key goes
// back into the queue, at the level of its kind.
func (a *Applier) one(ctx context.Context, k store.Key) bool {
	ctx = target.InSpace(ctx, k.Space)
	e, ok, err := a.Desired.Get(k)
	if err == nil && ok && a.queue.turn(k, e.Tombstone) {
		return false
	}
	began := time.Now()
	ctx, traced := a.Trace.Apply(ctx, e)
	switch {
	case err != nil:
		err = fmt.Errorf("read desired entry: %w", err)
	case a.isRule(k):
		err = a.rule(ctx, k, e, ok)
	case !ok, e.UnknownBody && !e.Tombstone: // nothing is known that could be done
	case e.Tombstone && a.Guard != nil && a.Guard.Holds(e):
	case e.Tombstone:
		err = a.remove(ctx, e)
	default:
		err = a.apply(ctx, e)
		a.settleWebhooks(k, err)
	}
	traced(err)
	var later *laterError
	waits := errors.As(err, &later)
	if a.Listener != nil && ctx.Err() == nil {
		a.Listener.Tried(time.Since(began), err != nil && !waits)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		a.queue.done(k, false, 0, 0)
		return true
	case waits:
		a.queue.done(k, true, later.wait, later.wait)
		return true
	}
	a.retry(k, err)
	return true
}

// retry schedules the next try and reports the failure: at once if the target refused, after some
// tries if it may pass by itself.
func (a *Applier) retry(k store.Key, err error) {
	f := classify(err)
	failures := a.queue.done(k, true, f.base, f.limit)
	if f.quiet || failures <= f.patience {
		a.Log.Debug("not applied yet", "key", k, "err", err)
		return
	}
	if failures == f.patience+1 {
		a.Log.Info("target does not hold the desired object", "key", k, "reason", f.report.Reason, "err", err)
	}
	origin := ""
	var with *withOrigin
	if errors.As(err, &with) {
		origin = with.uid
	}
	f.report.Message = a.spaceWords(k, err, f.report.Message)
	a.Reports.Refused(k, origin, f.report)
	a.refusedVariant(k, err, f)
}
