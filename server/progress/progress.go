package progress

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

const (
	// gather is how long changes gather before a status is made, and pause the least time between two
	// writes of one Placement.
	gather, pause = 500 * time.Millisecond, time.Second
	// share is how many times as long as making a status took the next one waits.
	share = 4
	// outageAge is how old an outage is when it counts: a site that is back within that time costs no
	// write.
	outageAge = 20 * time.Second
	// writers is how many statuses are made at a time.
	writers = 2
	// What could not be written comes back after these.
	firstDelay, longestDelay = 50 * time.Millisecond, 30 * time.Second
)

// Config is what progress needs. All fields are needed.
type Config struct {
	API        spaceapi.Patcher
	Placements Placements
	Reports    Reports
	Outages    Outages
	Log        *slog.Logger
}

// Placements knows what is decided.
type Placements interface {
	// Content returns what a Placement has to carry out. It is false for one that is not known.
	Content(placement store.Key) (placement.Content, bool)
}

// Reports has what targets reported last.
type Reports interface {
	// Report reads the last report of a key by a target. It returns false for what was never
	// reported, and for tombstones.
	Report(target string, key store.Key) (store.Entry, bool, error)
}

// Outages knows whose reports are old.
type Outages interface {
	// Outage returns why the reports of a target are old. It returns false while they are current.
	Outage(target string) (placement.Outage, bool)
}

// Progress writes how far Placements are. Reset, Apply and Progress are called by one goroutine at a
// time, everything else may be called at any time.
type Progress struct {
	cfg   Config
	queue queue.Queue[store.Key]

	mu    sync.Mutex
	books map[store.Key]*book
}

// book is one Placement.
type book struct {
	uid        string
	revision   int64
	generation int64
	status     v1alpha1.PlacementStatus
	decided    bool // somebody has written a status

	content  uint64              // the sum of what the verdicts are about
	verdicts map[string]*verdict // by target
	dirty    map[string]struct{} // targets that have reported since
	waiting  bool                // it is in the queue, or will be
	next     time.Time           // not before
}

// New returns a Progress that does nothing before Run.
func New(cfg Config) *Progress {
	return &Progress{
		cfg:   cfg,
		queue: queue.New[store.Key](firstDelay, longestDelay),
		books: map[store.Key]*book{},
	}
}

// Run writes until the context ends. It may be called once.
func (p *Progress) Run(ctx context.Context) error {
	queue.Serve(ctx, p.queue, writers, p.write, func(k store.Key, err error) {
		p.cfg.Log.Debug("status of a Placement is written again later", "key", k.String(), "err", err)
	})
	return nil
}

// Changed tells that what a target reports of a Placement's objects is another, or, where the target
// is empty, that the decision or the objects may be. It does not wait.
func (p *Progress) Changed(k store.Key, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.books[k]
	if b == nil {
		return // it is told of when it is there
	}
	if target != "" {
		if b.dirty == nil {
			b.dirty = map[string]struct{}{}
		}
		b.dirty[target] = struct{}{}
	}
	p.wakeLocked(k, b, gather)
}

// Outage tells that the reports of a target have begun to be old, or are current again. It does not
// wait.
func (p *Progress) Outage(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, b := range p.books {
		if _, ok := b.verdicts[target]; ok {
			p.wakeLocked(k, b, gather)
		}
	}
}

// wakeLocked has the status of a Placement made after a time.
func (p *Progress) wakeLocked(k store.Key, b *book, after time.Duration) {
	if b.waiting {
		return
	}
	b.waiting = true
	p.queue.AddAfter(k, max(after, time.Until(b.next)))
}

// Reset takes a snapshot of everything at a revision.
func (p *Progress) Reset(_ int64, all store.Listing) {
	seen := map[store.Key]struct{}{}
	for w := range all.Objects(isPlacement) {
		seen[w.Key] = struct{}{}
		p.Apply(w)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.books {
		if _, ok := seen[k]; !ok {
			delete(p.books, k)
		}
	}
}

// Apply takes one write, in the order of revisions.
func (p *Progress) Apply(w store.Write) {
	if !isPlacement(w.Key) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.Object == nil {
		delete(p.books, w.Key)
		return
	}
	var o v1alpha1.Placement
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.Object, &o); err != nil {
		p.cfg.Log.Error("Placement is not understood, the one before stays", "key", w.Key.String(), "err", err)
		return
	}
	b := p.books[w.Key]
	if b == nil || b.uid != string(o.UID) {
		b = &book{uid: string(o.UID), verdicts: map[string]*verdict{}}
		p.books[w.Key] = b
	}
	b.revision, b.generation, b.status = w.Revision, o.Generation, o.Status
	b.decided = len(fields.Map(w.Object, "status")) > 0
	p.wakeLocked(w.Key, b, gather)
}

// Progress is the end of a group of writes. There is nothing to do.
func (p *Progress) Progress(int64) {}

func isPlacement(k store.Key) bool {
	return k.Group == v1alpha1.GroupVersion.Group && k.Resource == "placements" && k.Space != v1alpha1.RootSpace
}
