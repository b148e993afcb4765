package desired

import (
	"log/slog"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// Config is what the desired state needs. No function may block. All fields but Moved, Placement, Upsync and
// Spread are needed. Refuse, Event, Moved, Placement and Upsync are called in the order of what they tell, without
// the lock of the catalog.
type Config struct {
	// Incarnation of the center's data; it is that of every feed.
	Incarnation store.Incarnation
	// Eras of the center's data, see store.Eras.
	Eras store.Eras
	// Objects reads the objects of spaces.
	Objects spaceapi.Getter
	// Progress tells what a target last reported of an object.
	Progress func(target string, key store.Key) (placement.Progress, bool)
	// Refuse says of a placed object that the center itself does not send it; nil takes that back.
	Refuse func(key store.Key, why *store.ReportError)
	// Event tells people.
	Event func(e placement.Event)
	// Moved tells that the moves from or to a target are others.
	Moved func(target string)
	// Placement tells that a target reports something new of what a Placement decides about, or,
	// where the target is empty, that its decision or its objects may be others.
	Placement func(placement store.Key, target string)
	// Upsync tells that the targets of an Upsync, or of a Namespace of its space, are others.
	Upsync func(rule store.Key)
	// Spread is called right before a change is put into the feeds of so many targets.
	Spread func(targets int)
	Log    *slog.Logger
}

// State is the desired state of all targets: it keeps their feeds. Reset, Apply and Progress are called by
// one goroutine at a time, everything else may be called at any time, without the lock of the catalog unless
// it says otherwise.
type State struct {
	cfg          Config // with calls that wait until the lock is released
	outside      Config
	catalog      *catalog.Catalog
	bodies       bodies
	Doubts       doubts
	unpacked     unpacked
	spaceOrigins *spaceOrigins
}

// New returns the desired state of a catalog. It does nothing before the first Reset.
func New(cfg Config, c *catalog.Catalog) *State {
	return &State{cfg: cfg.queued(c), outside: cfg, catalog: c, spaceOrigins: newSpaceOrigins(),
		bodies: bodies{items: map[store.Key]*body{}, limit: bodyBytes}}
}

// Begin tells the eras of the data when they are known later than New; it comes before the first
// Reset.
func (st *State) Begin(eras store.Eras) { st.cfg.Eras = eras }

// Begun is the era of this leader.
func (st *State) Begun() store.Era {
	if e := st.cfg.Eras.Current(); e != 0 {
		return e
	}
	return store.NewEra()
}
