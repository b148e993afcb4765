package reports

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// Config is what a Store needs. All fields but Crowded are needed.
type Config struct {
	// Path is where the file is.
	Path string
	// Reported is called when reports of a target are durably stored, and when its inbox is gone.
	Reported func(target string, keys []store.Key)
	// Placed tells how many objects are placed on a target.
	Placed func(target string) int
	// Crowded is called when there is no room any more for all that a target reports, and when
	// there is again.
	Crowded func(target string)
	Log     *slog.Logger
}

// Store has the last reports of all targets. Its methods may be called concurrently, but for Clear and Close.
type Store struct {
	cfg Config

	mu   sync.Mutex
	file *bolt.File // nil before anything is asked for
	had  map[string]bool
	open map[string]*inbox
	used chan struct{} // closed when file is there
}

// New returns a Store that opens its file when it is used first.
func New(cfg Config) *Store {
	return &Store{cfg: cfg, open: map[string]*inbox{}, used: make(chan struct{})}
}

// sealSuffix is what the file of the keys has behind the name of the file: Secrets that sites report
// are encrypted with them.
const sealSuffix = ".keys"

// useLocked opens the file. A corrupt one is built anew, and one that another version wrote begins
// anew; the sites send what is lost again.
func (s *Store) useLocked() error {
	if s.file != nil {
		return nil
	}
	keys, err := bolt.OpenKeys(s.cfg.Path+sealSuffix, nil)
	if errors.Is(err, bolt.ErrKeys) {
		s.cfg.Log.Warn("the keys of the reports cannot be used and are made anew; sites send again what is lost", "err", err)
		if err = os.Remove(s.cfg.Path + sealSuffix); err == nil {
			keys, err = bolt.OpenKeys(s.cfg.Path+sealSuffix, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("open the keys of the reports of targets: %w", err)
	}
	file, _, err := bolt.OpenOrRebuild(s.cfg.Path, bolt.Options{Log: s.cfg.Log, Keys: keys})
	if errors.Is(err, bolt.ErrNewerFormat) {
		s.cfg.Log.Warn(
			"the reports of all targets are of another version; they are put aside, and the sites send theirs again",
			"path",
			s.cfg.Path,
			"why",
			err,
		)
		if _, err = bolt.SetAside(s.cfg.Path); err == nil {
			file, err = bolt.Open(s.cfg.Path, bolt.Options{Log: s.cfg.Log, Keys: keys})
		}
	}
	if err != nil {
		return fmt.Errorf("open the reports of targets: %w", err)
	}
	senders, err := file.Senders()
	if err != nil {
		return errors.Join(fmt.Errorf("read the reports of targets: %w", err), file.Close())
	}
	s.had = map[string]bool{}
	for _, target := range senders {
		s.had[target] = true
	}
	s.file = file
	close(s.used)
	return nil
}

// Open returns the inbox of a target.
func (s *Store) Open(target string) (store.Sink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	box, err := s.get(target)
	if err != nil {
		return nil, err
	}
	return box.sink(), nil
}

func (s *Store) get(target string) (*inbox, error) {
	if box, ok := s.open[target]; ok {
		return box, nil
	}
	if err := s.useLocked(); err != nil {
		return nil, err
	}
	box := &inbox{
		target:  target,
		placed:  s.cfg.Placed,
		crowded: s.cfg.Crowded,
		left:    map[uint64]struct{}{},
		seed:    maphash.MakeSeed(),
	}
	sink, err := s.file.Sink(
		bolt.ReportedBy(target),
		bolt.SinkOptions{AcceptNewIncarnation: true, DropRemoved: true, Room: box.room.Load,
			OnCommit: func(keys []store.Key) { s.cfg.Reported(target, keys) }},
	)
	if err != nil {
		return nil, fmt.Errorf("open the inbox of %s: %w", target, err)
	}
	box.Sink = sink
	s.open[target] = box
	return box, nil
}

// known returns an inbox that exists, nil when nothing was ever reported or the target is gone.
func (s *Store) known(target string) (*inbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if box, ok := s.open[target]; ok {
		return box, nil
	}
	if err := s.useLocked(); err != nil || !s.had[target] {
		return nil, err
	}
	return s.get(target)
}

// Len is how many reports the inbox of a target holds.
func (s *Store) Len(target string) int {
	box, err := s.known(target)
	if box == nil || err != nil {
		return 0
	}
	return box.Len()
}

// Unkept is how many reports of a target are not kept for lack of room.
func (s *Store) Unkept(target string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if box := s.open[target]; box != nil {
		return box.Unkept()
	}
	return 0
}

// Forget removes the inbox of a target that is gone, and tells of all that was in it.
func (s *Store) Forget(target string) {
	box, err := s.known(target)
	if box == nil || err != nil {
		return
	}
	keys, err := keysOf(box)
	s.mu.Lock()
	delete(s.open, target)
	delete(s.had, target)
	err = errors.Join(err, s.file.Drop(bolt.ReportedBy(target)))
	s.mu.Unlock()
	if err != nil {
		s.cfg.Log.Warn("the reports of a target that is gone are left behind", "target", target, "err", err)
	}
	s.cfg.Reported(target, keys)
}

// copyBatch is how many reports one transaction copies.
const copyBatch = 1000

// Copy implements sessions.Inboxes. The copy is compared with what the target has in its next session.
func (s *Store) Copy(from, to string) error {
	was, err := s.known(from)
	if was == nil || err != nil {
		return err
	}
	s.mu.Lock()
	now, err := s.get(to)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	now.room.Store(was.room.Load())
	keys, err := keysOf(was)
	for part := range slices.Chunk(keys, copyBatch) {
		if err == nil {
			err = copyReports(was, now, part)
		}
	}
	if err != nil {
		return fmt.Errorf("copy the reports of %s: %w", from, err)
	}
	return nil
}

func copyReports(from, to *inbox, keys []store.Key) error {
	through := from.Position()
	through.Revision = store.Comparing
	batch := store.Batch{Through: through}
	for _, k := range keys {
		e, ok, err := from.Get(k)
		if err != nil {
			return err
		}
		if ok && !e.Tombstone && !e.UnknownBody {
			batch.Entries = append(batch.Entries, e)
		}
	}
	return to.Sink.Commit(context.Background(), batch)
}

// keysOf are the keys of all reports of an inbox.
func keysOf(box *inbox) (keys []store.Key, err error) {
	err = box.Each(func(e store.Entry) error {
		if !e.Tombstone && !e.UnknownBody {
			keys = append(keys, e.Key)
		}
		return nil
	})
	return keys, err
}

// Report returns the last report of a key from a target; it is false for what was never reported,
// and for tombstones.
func (s *Store) Report(target string, key store.Key) (store.Entry, bool, error) {
	box, err := s.known(target)
	if box == nil || err != nil {
		return store.Entry{}, false, err
	}
	entry, ok, err := box.Get(key)
	return entry, ok && !entry.Tombstone && !entry.UnknownBody, err
}

// Progress tells what a target last reported of an object, as far as decisions need it. It is false where nothing is
// known.
func (s *Store) Progress(target string, key store.Key) (placement.Progress, bool) {
	e, ok, err := s.Report(target, key)
	if err != nil || !ok {
		return placement.Progress{}, false
	}
	r, ok, err := placement.ReportOf(target, e)
	if err != nil || !ok {
		return placement.Progress{}, false
	}
	return placement.Judge(key, r), true
}

// Reported lists the keys of all reports of a target.
func (s *Store) Reported(target string) ([]store.Key, error) {
	box, err := s.known(target)
	if box == nil || err != nil {
		return nil, err
	}
	return keysOf(box)
}

// Complete reports whether all that a target reports is stored: the copy has been compared with what
// the target has.
func (s *Store) Complete(target string) bool {
	box, err := s.known(target)
	if box == nil || err != nil {
		return false
	}
	at := box.Position()
	return !at.Incarnation.IsZero() && at.Revision != store.Comparing
}

// Replay tells of all reports that there are: a status that was stored but not yet written before a
// crash is written now. Inboxes of targets that are gone are removed.
func (s *Store) Replay(member func(target string) bool) {
	if _, err := os.Stat(s.cfg.Path); errors.Is(err, os.ErrNotExist) {
		return // nothing was ever reported
	}
	s.mu.Lock()
	err := s.useLocked()
	had := slices.Sorted(maps.Keys(s.had))
	s.mu.Unlock()
	if err != nil {
		s.cfg.Log.Warn("the reports of targets cannot be read; they will send them again", "err", err)
	}
	for _, target := range had {
		if !member(target) {
			s.Forget(target)
			continue
		}
		box, err := s.known(target)
		var keys []store.Key
		if err == nil {
			keys, err = keysOf(box)
		}
		if err != nil {
			s.cfg.Log.Warn("the reports of a target cannot be read; it will send them again", "target", target, "err", err)
		}
		s.cfg.Reported(target, keys)
	}
}

// errDamaged ends a center: what is started in its place builds the file anew.
var errDamaged = errors.New(
	"the file of the targets' reports is damaged: the center ends, so that it is put aside and built anew at the next " +
		"start; sites send again what is lost",
)

// Run waits until ctx ends or the file shows damage.
func (s *Store) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.used:
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.file.Damaged():
		return fmt.Errorf("%w (%s)", errDamaged, s.cfg.Path)
	}
}

// Rest gives back the memory that reading the file took.
func (s *Store) Rest() {
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	if file != nil {
		file.ReleaseMemory() // of one that was closed meanwhile nothing is left
	}
}

// Clear removes all of them, before any is used: this replica did not lead, so what they hold is
// old. Sites send again what they report.
func (s *Store) Clear() error {
	if err := os.Remove(s.cfg.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old reports: %w", err)
	}
	return nil
}

// Close closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.MarkCleanShutdown(), s.file.Close())
}
