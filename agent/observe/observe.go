package observe

import (
	"context"
	"log/slog"
	"strconv"
	"sync"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
	"skerry.dev/skerry/store/compress"
)

// Config is what an Observer works with. All fields but MayUpsync are required.
type Config struct {
	Inventory *inventory.Inventory
	Clients   *target.Clients
	// Desired returns the body of an object in the desired copy, nil if there is none.
	Desired func(k store.Key) []byte
	// MayUpsync is why a space may bring nothing that was born here, nil where it may. It must neither
	// wait nor call the Observer. It may be nil: then every space may.
	MayUpsync func(space string) error
	Log       *slog.Logger
}

// Applier is told what others did to objects of the inventory.
type Applier interface {
	// Seen is called with each sight of an object. It must neither wait nor call the Observer.
	Seen(k store.Key, s inventory.Sight)
	// Vanished is called when an object is no longer on the target. running is true if it was seen
	// unfinished when it went, takenOver if a placed controller had it. It reports whether the target
	// lacks what is desired.
	Vanished(k store.Key, uid string, running, takenOver bool) bool
	// Rewound is called with the objects of a kind whose history on the target went back: the
	// target was restored from a backup.
	Rewound(keys []store.Key)
}

// Observer turns what happens on the target into a reported feed.
type Observer struct {
	Config
	applier Applier
	feed    *store.Feed
	codec   *compress.Codec
	fetch   *refetcher
	ready   chan struct{}

	mu       sync.Mutex
	records  *compactmap.Index[store.Key, record] // the feed's content
	revision int64                                // of the feed
	// associated has a Pod or the like that belongs to a placed object, by its UID on the target.
	associated    compactmap.Map[string, *record]
	slices        endpointSlices                // which EndpointSlices of a Service are reported
	owners        ownerGraph                    // who owns whom on the target
	recentDeletes recentDeletes                 // delivered objects that were deleted a moment ago
	strays        compactmap.Map[string, stray] // delivered objects whose record has not come yet, by UID
	watchers      map[watchKey]*watcher         // running
	initial       map[watchKey]bool             // watchers of the start whose first list is not complete
	debounce      debounce                      // reports that wait a moment for more
	events        events                        // what the target says about all of this
	afterwards    []*watcher                    // those of Events, until the first lists of all others are complete
	diffs         bool                          // the parent completes what it has sent itself
	start         func(w *watcher)              // set while Run runs
	claimers      map[store.Key]string          // objects for whose templates claims are watched, with their view
	keepers       map[store.Key]string          // Namespaces whose claims are watched, with their view
	deviceUsers   map[store.Key]string          // objects for whose Pods claims of devices are watched, with their view
	upsyncs       upsyncs                       // what was born here and goes to spaces
	counts        map[watchKey]int              // how many inventory objects each watched resource has
}

// recalled is how many steps of the feed are kept for a parent whose reports came from an earlier
// process. Within these steps it need not be compared with.
const recalled = 1024

// New returns an Observer whose feed has a new incarnation. Bind must be called before it is used.
func New(c Config) *Observer {
	o := &Observer{
		Config: c, codec: compress.Default(), ready: make(chan struct{}), records: compactmap.NewIndex((*record).place),
		watchers: map[watchKey]*watcher{},
		initial:  map[watchKey]bool{}, counts: map[watchKey]int{}, claimers: map[store.Key]string{},
		keepers: map[store.Key]string{}, deviceUsers: map[store.Key]string{},
		debounce: newDebounce(), events: newEvents(), slices: newEndpointSlices(), upsyncs: newUpsyncs(),
	}
	o.fetch = newRefetcher(o)
	o.feed = store.NewFeed(store.NewIncarnation(), 0, o.body).WithHistory(recalled)
	return o
}

// Bind gives the Observer the applier, which reports to the Observer and is made after it.
func (o *Observer) Bind(a Applier) { o.applier = a }

// Feed returns the reported feed.
func (o *Observer) Feed() *store.Feed { return o.feed }

// Ready is closed once the feed has everything that the target had at the start. Before that, a key
// that the feed lacks may still exist.
func (o *Observer) Ready() <-chan struct{} { return o.ready }

// Run observes until ctx ends.
func (o *Observer) Run(ctx context.Context) error {
	var all sync.WaitGroup
	o.mu.Lock()
	o.start = func(w *watcher) {
		ctx, cancel := context.WithCancel(ctx)
		w.stop = cancel
		all.Go(func() { w.run(ctx) })
	}
	clear(o.claimers)
	clear(o.keepers)
	clear(o.deviceUsers)
	clear(o.counts) // what was counted before there was anything to start
	for rec := range o.records.All() {
		rec.counted = nil
	}
	o.Inventory.Each(func(k store.Key, r inventory.Record) {
		rec := o.recordLocked(k)
		failure := rec.failure // told before this began
		rec.applied(r)
		rec.failure = failure
		o.publishLocked(k)
		o.followLocked(k, r)
	})
	for _, rule := range o.upsyncs.rules {
		o.followUpsyncLocked(rule)
	}
	for w := range o.watchers {
		if w.resource != eventResource {
			o.initial[w] = true
		}
	}
	o.settledLocked(watchKey{})
	o.mu.Unlock()

	all.Go(func() { o.fetch.run(ctx) })
	all.Go(func() { o.release(ctx) })
	all.Go(func() { o.runEvents(ctx) })
	<-ctx.Done()
	o.mu.Lock()
	o.start = nil
	o.mu.Unlock()
	all.Wait()
	return nil
}

// settledLocked records that a watcher's first list is complete, or not available. The feed is
// complete with the last one, once pending reads are done.
func (o *Observer) settledLocked(w watchKey) {
	delete(o.initial, w)
	delete(o.upsyncs.unlisted, w)
	if len(o.initial) > 0 || o.fetch.busy() {
		return
	}
	if later := o.afterwards; len(later) > 0 && o.start != nil {
		o.afterwards = nil
		for _, w := range later { // it is known by now what they are about
			o.initial[w.key] = true
			o.start(w)
		}
		return
	}
	select {
	case <-o.ready:
	default:
		close(o.ready)
	}
}

// Applied records that the target has the desired version of an object. live is the answer to the
// write, if there was one.
func (o *Observer) Applied(k store.Key, r inventory.Record, live *target.Object) {
	o.mu.Lock()
	o.appliedLocked(k, r, live)
	d, late := o.recentDeletes.find(r.UID)
	o.mu.Unlock()
	if late { // it was deleted before its record came
		o.gone(r.UID, d.running)
	}
}

func (o *Observer) appliedLocked(k store.Key, r inventory.Record, live *target.Object) {
	rec := o.recordLocked(k)
	if rec.originUID != r.OriginUID && rec.originUID != "" {
		o.refetchAssociatedLocked(k, target.Mapping(r.Prefix)) // their owner reference names the source
	}
	rec.applied(r)
	if live != nil {
		o.observedLocked(k, rec, live)
		o.holdLocked(k)
	}
	o.publishLocked(k)
	o.followLocked(k, r)
	o.claimLocked(r, live)
	if live != nil && isNamespace(k) {
		o.namespaceSeenLocked(k, live)
	}
	if rec.counted != nil && live != nil && o.watchers[*rec.counted] != nil {
		w := o.watchers[*rec.counted]
		at := o.Clients.KeyThere(target.Mapping(r.Prefix), k)
		w.wroteLocked(place{w.key, at.Namespace, at.Name, r.UID}, live.Revision())
	}
	if rec.revision > 0 { // what a watch saw before this record came was not compared with it
		o.applier.Seen(k, rec.sight())
	}
	if k.Class() == store.ClassCRD {
		for _, w := range o.watchers {
			w.nudge()
		}
	}
}

// Version returns the last resourceVersion in which the object of a UID was seen, empty when it was not.
func (o *Observer) Version(k store.Key, uid string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rec := o.records.Get(k); rec != nil && rec.uid == uid && rec.revision > 0 {
		return strconv.FormatUint(rec.revision, 10)
	}
	return ""
}

// Refused records why the target does not have the desired version.
func (o *Observer) Refused(k store.Key, originUID string, why store.ReportError) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rec := o.recordLocked(k)
	if rec.originUID == "" {
		rec.originUID = originUID
	}
	rec.failure = &failure{why, originUID}
	delete(o.debounce.keys, k)
	o.publishLocked(k)
}

// Removing records that an object is about to be deleted from here. It is no longer as desired, and
// that is reported at once.
func (o *Observer) Removing(k store.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rec := o.records.Get(k)
	if rec == nil || rec.removing {
		return
	}
	rec.removing = true
	delete(o.debounce.keys, k)
	o.publishLocked(k)
}

// Retry lets every watch and read that waits after a failure try again at once: the target answers
// again.
func (o *Observer) Retry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.watchers {
		w.nudge()
	}
	o.fetch.repeat()
}

// Removed records that an object is gone and no longer desired, and its Pods with it. What its
// templates have made stays, unless the object was let go and is still there.
func (o *Observer) Removed(k store.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rec := o.records.Get(k)
	// One that the target has lost, or that was deleted before a restart, is not let go either.
	deleted := rec != nil && (rec.removing || rec.uid == "" || rec.revision == 0)
	o.stopFollowingLocked(k)
	o.namespaceGoneLocked(k)
	o.forgetEventsOfLocked(k, "")
	o.slices.forget(k)
	for uid, below := range o.associated.All() {
		if *below.owner == k && !o.keepClaimLocked(below, deleted) {
			o.associated.Delete(uid)
			o.claimStaysLocked(uid, below)
			o.dropLocked(below.key)
		}
	}
	o.dropLocked(k)
}
