package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// deciders is how many decisions are written at a time, annotators how many derived annotations,
// renderers how many objects are rendered again.
const (
	deciders   = 4
	annotators = 1
	renderers  = 2
)

// API is what delivery does to the objects of spaces.
type API interface {
	spaceapi.Getter
	spaceapi.Patcher
}

// Config is what delivery needs. All fields but Spread and Moved are needed.
type Config struct {
	// Incarnation of the center's data; it is that of every feed.
	Incarnation store.Incarnation
	// Eras of the center's data, see store.Eras.
	Eras store.Eras
	API  API
	// Progress tells what a target last reported of an object.
	Progress func(target string, key store.Key) (placement.Progress, bool)
	// Confirm asks a target to confirm its reports: Confirmed is to be called once it has durably
	// stored what its feed had at a revision, and has told anew what it reports after that, be it
	// much later. It must not block.
	Confirm func(target string, revision int64)
	// Condition puts a condition on a placed object. It must not block.
	Condition func(key store.Key, c placement.Condition)
	// Refuse says of a placed object that the center itself does not send it; nil takes that back.
	// It must not block.
	Refuse func(key store.Key, why *store.ReportError)
	// Event tells people. It must not block.
	Event func(e placement.Event)
	// Moved tells that the moves from or to a target are others, see MovesOf. It must not block,
	// and may be nil.
	Moved func(target string)
	// Spread is called right before a change is put into the feeds of so many targets. It must not
	// block.
	Spread func(targets int)
	Log    *slog.Logger
}

// Delivery is the catalog, the feeds and the decision writer. Reset, Apply and Progress are called
// by one goroutine at a time, everything else may be called at any time.
type Delivery struct {
	cfg     Config
	bodies  bodies
	groups  queue.Queue[ref]
	notes   queue.Queue[store.Key]
	renders queue.Queue[store.Key]
	says    queue.Queue[store.Key]
	status  queue.Queue[store.Key]
	doubts  doubts

	spaceOrigins *spaceOrigins

	mu        sync.RWMutex
	spaces    map[string]*space
	kinds     map[[2]string]*kind
	kindNames map[[2]string]*kind // by group and Kind
	targets   map[string]*target
	locations map[string]*location
	sets      sets
	holds     map[*object]*hold
	givenUp   map[ref]struct{} // groups whose move was given up
	moves     map[ref]placement.Moving
	finished  map[*object]*set // Jobs and Pods that have run to their end, and where
	oversize  map[*object]int  // what is not sent, and the size of its body
	intents   intents
	asked     askedFor
	revision  int64
	epoch     uint32
}

// Begin tells the eras of the data when they are known later than New; it comes before the first
// Reset.
func (d *Delivery) Begin(eras store.Eras) { d.cfg.Eras = eras }

// New returns an empty catalog. It does nothing before the first Reset.
func New(cfg Config) *Delivery {
	return &Delivery{
		cfg:          cfg,
		bodies:       bodies{items: map[store.Key]*body{}, limit: bodyBytes},
		groups:       newQueue[ref](),
		notes:        newQueue[store.Key](),
		renders:      newQueue[store.Key](),
		says:         newQueue[store.Key](),
		status:       newQueue[store.Key](),
		spaceOrigins: newSpaceOrigins(),
		spaces:       map[string]*space{},
		kinds:        map[[2]string]*kind{},
		kindNames:    map[[2]string]*kind{},
		targets:      map[string]*target{},
		locations:    map[string]*location{},
		sets:         sets{},
		holds:        map[*object]*hold{},
		givenUp:      map[ref]struct{}{},
		moves:        map[ref]placement.Moving{},
		finished:     map[*object]*set{},
		oversize:     map[*object]int{},
		intents:      intents{},
		asked:        askedFor{uids: map[store.Key]string{}, keys: map[string]store.Key{}},
	}
}

// Run writes decisions until the context ends. It may be called once.
func (d *Delivery) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for range deciders {
		running.Go(func() { run(ctx, d, d.groups, d.decide) })
	}
	for range annotators {
		running.Go(func() { run(ctx, d, d.notes, d.annotate) })
	}
	for range renderers {
		running.Go(func() { run(ctx, d, d.renders, d.rerender) })
	}
	running.Go(func() { run(ctx, d, d.says, d.writePodAPI) })
	running.Go(func() { run(ctx, d, d.status, d.count) })
	<-ctx.Done()
	d.groups.ShutDown()
	d.notes.ShutDown()
	d.renders.ShutDown()
	d.says.ShutDown()
	d.status.ShutDown()
	running.Wait()
	return nil
}

func newQueue[T comparable]() queue.Queue[T] {
	return queue.New[T](5*time.Millisecond, 30*time.Second)
}

func run[T interface {
	comparable
	fmt.Stringer
}](ctx context.Context, d *Delivery, q queue.Queue[T], do func(context.Context, T) error) {
	queue.Drain(ctx, q, do, func(item T, err error) {
		d.cfg.Log.Debug("decision is tried again", "of", item.String(), "err", err)
	})
}

// String names the group for logs.
func (r ref) String() string { return r.key.String() }
