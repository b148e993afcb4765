package deletionguard

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

const (
	// DefaultShare is the share of a site's objects, in percent, that may be deleted within Window.
	DefaultShare = 30
	// Least is the number of deletions below which none are withheld.
	Least = 10
	// Window is the time in which deletions count together. Those of one revision always do.
	Window = 10 * time.Second
	// named is how many of the withheld objects are named to people.
	named = 10
)

// Copy is the durable copy of what the parent wants. bolt.Sink implements it.
type Copy interface {
	store.Sink
	Get(k store.Key) (store.Entry, bool, error)
	Each(visit func(store.Entry) error) error
	Len() int
}

// Values stores small values durably by name. bolt.File implements it.
type Values interface {
	// Meta returns what SetMeta stored, or nil.
	Meta(name string) ([]byte, error)
	SetMeta(name string, value []byte) error
}

// Status shows people what is withheld. tunnel.Conditions implements it.
type Status interface {
	// Withhold is called with what is withheld, nil for nothing. It must not block.
	Withhold(w *tunnel.Withheld)
}

// Queue carries tombstones out. apply.Applier implements it.
type Queue interface {
	// Changed is called with the keys of tombstones that need not wait any more. It must not block.
	Changed(keys []store.Key)
}

// valueName is the name under which the guard's own few bytes are stored.
const valueName = "deletionguard"

// Config is what a Guard works with.
type Config struct {
	Copy   Copy
	Values Values
	Status Status
	// Share is the share of objects, in percent, that may be deleted at once. 0 is DefaultShare;
	// 100 withholds nothing.
	Share int
	Log   *slog.Logger
}

// Guard is the copy with a deletion guard. It implements store.Sink.
type Guard struct {
	Copy
	cfg   Config
	queue Queue // see Bind

	commit sync.Mutex // held for a whole Commit, Confirm or Allow; taken before mu
	recent []moment   // under commit: deletions of the last Window that were let through

	mu   sync.Mutex // guards what Holds reads
	is   state
	held map[store.Key]int64 // the held tombstones and their revisions
	// confirmed are tombstones that an admin has seen. It is forgotten at a restart: nothing here
	// depends on it.
	confirmed map[store.Key]int64
}

// state is what survives a restart.
type state struct {
	// On: tombstones beyond the revision Free wait. Objects is how many objects there were.
	On      bool  `json:"on,omitempty"`
	Free    int64 `json:"free,omitempty"`
	Objects int   `json:"objects,omitempty"`
	// Gathering: further parts of a position are to come. Only all of them together show whether it
	// is too much.
	Gathering bool `json:"gathering,omitempty"`
	// Allowed is how many deletions an admin has accepted together with the center.
	Allowed int `json:"allowed,omitempty"`
}

type moment struct {
	at time.Time
	n  int
}

// Open restores what was withheld before a restart.
func Open(cfg Config) (*Guard, error) {
	if cfg.Share == 0 {
		cfg.Share = DefaultShare
	}
	g := &Guard{Copy: cfg.Copy, cfg: cfg, held: map[store.Key]int64{}, confirmed: map[store.Key]int64{}}
	data, err := cfg.Values.Meta(valueName)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &g.is)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the guard: %w", err)
	}
	if !g.is.On && !g.is.Gathering {
		return g, nil
	}
	err = cfg.Copy.Each(func(e store.Entry) error {
		if g.Holds(e) {
			g.held[e.Key] = e.Revision
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for held deletions: %w", err)
	}
	if g.is.On {
		g.cfg.Log.Warn("deletions are held until an admin confirms them", "deletions", len(g.held))
		g.report()
	}
	return g, nil
}

// Bind gives the guard the queue of what it releases. It must be called before the first Commit or
// Confirm: the queue itself asks the guard what must wait.
func (g *Guard) Bind(queue Queue) { g.queue = queue }

// counts reports whether an entry takes something away without an admin or user having intended it.
// A rule takes nothing away: what it changed stays.
func counts(e store.Entry) bool {
	return e.Key.Class() != store.ClassRule && e.Tombstone && !e.Intended && e.Removal != store.RemoveOrphan
}

// Holds reports whether a tombstone must wait.
func (g *Guard) Holds(e store.Entry) bool {
	if !counts(e) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return (g.is.On || g.is.Gathering) && e.Revision > g.is.Free
}

// Confirmed reports whether an admin has confirmed this tombstone, or it was intended. If the
// target is a center, its own targets then need not ask again.
func (g *Guard) Confirmed(e store.Entry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	revision, ok := g.confirmed[e.Key]
	return e.Intended || ok && revision == e.Revision
}

// Commit implements store.Sink. It makes durable that deletions are withheld before it stores them.
func (g *Guard) Commit(ctx context.Context, batch store.Batch) error {
	g.commit.Lock()
	defer g.commit.Unlock()
	next, released, err := g.weigh(batch)
	if err != nil {
		return err
	}
	if err := g.become(next); err != nil {
		return err
	}
	if err := g.Copy.Commit(ctx, batch); err != nil {
		return err
	}
	return g.countHeld(batch, released)
}

// Confirm releases the deletions up to a revision: an admin has confirmed them.
func (g *Guard) Confirm(upTo int64) error {
	g.commit.Lock()
	defer g.commit.Unlock()
	if !g.is.On {
		return nil
	}
	next := g.is
	next.Free = max(next.Free, upTo)
	if err := g.become(next); err != nil {
		return err
	}
	g.mu.Lock()
	for k, revision := range g.held {
		if revision <= upTo {
			g.confirmed[k] = revision
		}
	}
	g.mu.Unlock()
	g.release(func(revision int64) bool { return revision <= upTo })
	return g.done()
}

// Allow lets the next comparison delete up to n objects: an admin has accepted a center that lacks
// them.
func (g *Guard) Allow(n int) error {
	g.commit.Lock()
	defer g.commit.Unlock()
	next := g.is
	next.Allowed = n
	return g.become(next)
}
