package variants

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// Copy is the desired copy. bolt.Sink implements it.
type Copy interface {
	Each(visit func(store.Entry) error) error
	Get(k store.Key) (store.Entry, bool, error)
}

// Keeper keeps small values durably. bolt.File implements it.
type Keeper interface {
	Meta(name string) ([]byte, error)
	SetMeta(name string, value []byte) error
}

// Config is what Rules work with. All fields are required.
type Config struct {
	Desired Copy
	Keep    Keeper
	// Report is called with what is to be reported of a Customizer; nil says that it is gone.
	Report func(k store.Key, r *Report)
	Log    *slog.Logger
}

// Report is what the target says of a Customizer.
type Report struct {
	UID        string
	Generation int64
	// Applied is the hash of the Customizer once all objects are as it says; zero before.
	Applied store.Hash
	// Status is a v1alpha1.CustomizerStatus as JSON.
	Status json.RawMessage
	// Invalid is why the Customizer is not understood.
	Invalid *store.ReportError
}

// ErrUnknown is returned while the copy lacks a Customizer or the target's values: it has lost them,
// and they come with the next comparison.
var ErrUnknown = errors.New("how the object is rendered is not known at the moment; the parent is asked")

// Rules are the Customizers of all spaces. The methods may be called concurrently.
type Rules struct {
	cfg  Config
	wake chan struct{}

	mu     sync.Mutex
	spaces map[string]*space
	values variant.Values
	told   bool // values are known
	stale  bool // values are to be read again
	known  map[store.Key]struct{}
	gone   []store.Key // Customizers whose reports are to go
}

// space is what is known of one.
type space struct {
	stale   bool
	unknown bool
	set     *variant.Set
	rules   map[store.Key]*customizer
	objects map[store.Key]*outcome // those that a Customizer may select
	changed bool                   // reports are to be made anew
}

// customizer is one of the copy.
type customizer struct {
	read    *variant.Customizer // nil where it is invalid
	hash    store.Hash
	uid     string
	gen     int64
	invalid *store.ReportError
}

// outcome is what became of an object.
type outcome struct {
	pending bool
	matched []string
	failed  *failure
}

// failure is why an object stays as it was.
type failure struct {
	customizer, reason, message string
	atTarget                    bool // the target refuses the variant
}

// New returns Rules that know nothing. Load comes first.
func New(c Config) *Rules {
	return &Rules{
		cfg: c, wake: make(chan struct{}, 1),
		spaces: map[string]*space{}, known: map[store.Key]struct{}{},
	}
}

// keepName is the name under which the keys of the rules are kept.
const keepName = "rules"

// Kept returns the rules that the copy should have, also if it has lost them.
func Kept(keep Keeper) ([]store.Key, error) {
	data, err := keep.Meta(keepName)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	var texts []string
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("read which Customizers there are: %w", err)
	}
	var out []store.Key
	for _, text := range texts {
		k, err := store.DecodeKey(text)
		if err != nil {
			return nil, fmt.Errorf("read which Customizers there are: %w", err)
		}
		out = append(out, k)
	}
	return out, nil
}

// Load reads the rules of the copy.
func (r *Rules) Load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.cfg.Desired.Each(func(e store.Entry) error {
		if e.Key.Renders() {
			r.noteLocked(e.Key)
		}
		return nil
	})
	if err == nil {
		err = r.freshLocked()
	}
	if err == nil {
		_, err = r.affectedLocked(slices.Collect(maps.Keys(r.spaces))...)
	}
	if err != nil {
		return fmt.Errorf("read the Customizers: %w", err)
	}
	return nil
}

// Note marks what a rule concerns as old. It does no I/O.
func (r *Rules) Note(k store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteLocked(k)
}

func (r *Rules) noteLocked(k store.Key) {
	if k == store.ValuesKey {
		r.stale = true
		return
	}
	sp := r.spaces[k.Space]
	if sp == nil {
		sp = &space{rules: map[store.Key]*customizer{}, objects: map[store.Key]*outcome{}}
		r.spaces[k.Space] = sp
	}
	if sp.rules[k] == nil {
		sp.rules[k] = &customizer{}
	}
	sp.stale = true
}

// freshLocked reads what is old.
func (r *Rules) freshLocked() error {
	if r.stale {
		e, ok, err := r.cfg.Desired.Get(store.ValuesKey)
		if err != nil {
			return err
		}
		r.values, r.told = variant.Values{}, false
		if ok && !e.Tombstone && !e.UnknownBody {
			if err := json.Unmarshal(e.Body, &r.values); err != nil {
				return fmt.Errorf("decode the target's values: %w", err)
			}
			r.told = true
		}
		r.stale = false
	}
	for name, sp := range r.spaces {
		if !sp.stale {
			continue
		}
		if err := r.readLocked(sp); err != nil {
			return err
		}
		if len(sp.rules) == 0 && len(sp.objects) == 0 {
			delete(r.spaces, name)
		}
	}
	return r.keepLocked()
}

// readLocked reads the Customizers of a space.
func (r *Rules) readLocked(sp *space) error {
	var all []*variant.Customizer
	unknown := false
	for k := range sp.rules {
		e, ok, err := r.cfg.Desired.Get(k)
		switch {
		case err != nil:
			return err
		case !ok || e.Tombstone:
			delete(sp.rules, k)
			r.gone = append(r.gone, k)
			continue
		case e.UnknownBody:
			unknown = true
			continue
		}
		c := read(e)
		if sp.rules[k] = c; c.read != nil {
			all = append(all, c.read)
		} else if c.invalid != nil {
			r.cfg.Log.Warn("a Customizer is not understood and changes nothing", "key", k, "why", c.invalid.Message)
		}
	}
	sp.set, sp.unknown, sp.stale, sp.changed = variant.NewSet(all...), unknown, false, true
	r.signal()
	return nil
}

func read(e store.Entry) *customizer {
	c, problems := variant.Parse(e.Body)
	out := &customizer{read: c, hash: e.Hash, gen: e.Generation}
	var o struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(e.Body, &o) == nil {
		out.uid = o.Metadata.Annotations["skerry.dev/origin-uid"]
	}
	if len(problems) > 0 {
		out.invalid = &store.ReportError{Reason: "Invalid", Message: problems[0].Error()}
	}
	return out
}

// keepLocked keeps which rules there are, if they are others.
func (r *Rules) keepLocked() error {
	now := map[store.Key]struct{}{}
	if r.told {
		now[store.ValuesKey] = struct{}{}
	}
	for _, sp := range r.spaces {
		for k := range sp.rules {
			now[k] = struct{}{}
		}
	}
	if maps.Equal(now, r.known) {
		return nil
	}
	texts := make([]string, 0, len(now))
	for k := range now {
		texts = append(texts, k.Encode())
	}
	slices.Sort(texts)
	data, err := json.Marshal(texts)
	if err == nil {
		err = r.cfg.Keep.SetMeta(keepName, data)
	}
	if err != nil {
		return fmt.Errorf("keep which Customizers there are: %w", err)
	}
	r.known = now
	return nil
}

// Refresh reads a rule again after Note, and lists the objects that it may concern.
func (r *Rules) Refresh(k store.Key) ([]store.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := []string{k.Space}
	if k == store.ValuesKey {
		names = slices.Collect(maps.Keys(r.spaces))
	}
	if err := r.freshLocked(); err != nil {
		return nil, err
	}
	return r.affectedLocked(names...)
}

// affectedLocked lists the objects that the rules of spaces may select now, or did before.
func (r *Rules) affectedLocked(names ...string) (out []store.Key, err error) {
	var spaces []*space
	for _, name := range names {
		if sp := r.spaces[name]; sp != nil {
			spaces = append(spaces, sp)
		}
	}
	if len(spaces) == 0 {
		return nil, nil
	}
	err = r.cfg.Desired.Each(func(e store.Entry) error {
		if sp := r.spaces[e.Key.Space]; sp != nil && slices.Contains(names, e.Key.Space) &&
			!e.Tombstone && sp.set.Touches(e.Key) && sp.objects[e.Key] == nil {
			sp.objects[e.Key] = &outcome{}
		}
		return nil
	})
	for _, sp := range spaces {
		for k, o := range sp.objects {
			o.pending = true
			out = append(out, k)
		}
		sp.changed = true
	}
	r.signal()
	return out, err
}

// In lists the objects of a namespace that may be rendered differently when the labels of the
// Namespace change.
func (r *Rules) In(space, namespace string) (out []store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sp := r.spaces[space]
	if sp == nil || !sp.set.LooksAtNamespaces() {
		return nil
	}
	for k := range sp.objects {
		if k.Namespace == namespace {
			out = append(out, k)
		}
	}
	return out
}

func (r *Rules) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
