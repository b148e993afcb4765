package server

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

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// reportStore holds the last reports of all targets in one file, so that what many of them say at a
// time shares the syncs of one write, and one that says nothing costs nothing but the state of its
// copy. What is in it is soft: what is lost is sent again by the sites.
type reportStore struct {
	path     string
	reported func(target string, keys []store.Key)
	placed   func(target string) int // how many objects are
	log      *slog.Logger
	// crowded is called when there is no room any more for all that a target reports, and when
	// there is again; nil for nobody.
	onCrowded func(target string)

	mu   sync.Mutex
	file *bolt.File // nil before anything is asked for
	had  map[string]bool
	open map[string]*targetReports
	used chan struct{} // closed when file is there
}

func newReportStore(
	path string,
	reported func(string, []store.Key),
	placed func(string) int,
	log *slog.Logger,
) *reportStore {
	return &reportStore{
		path:     path,
		reported: reported,
		placed:   placed,
		log:      log,
		open:     map[string]*targetReports{},
		used:     make(chan struct{}),
	}
}

// sealSuffix is what the file of the keys has behind the name of the file: Secrets that sites report
// are encrypted with them.
const sealSuffix = ".keys"

// useLocked opens the file. A corrupt one is built anew, and one that another version wrote begins
// anew; the sites send what is lost again.
func (i *reportStore) useLocked() error {
	if i.file != nil {
		return nil
	}
	keys, err := bolt.OpenKeys(i.path+sealSuffix, nil)
	if errors.Is(err, bolt.ErrKeys) {
		i.log.Warn("the keys of the reports cannot be used and are made anew; sites send again what is lost", "err", err)
		if err = os.Remove(i.path + sealSuffix); err == nil {
			keys, err = bolt.OpenKeys(i.path+sealSuffix, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("open the keys of the reports of targets: %w", err)
	}
	file, _, err := bolt.OpenOrRebuild(i.path, bolt.Options{Log: i.log, Keys: keys})
	if errors.Is(err, bolt.ErrNewerFormat) {
		i.log.Warn(
			"the reports of all targets are of another version; they are put aside, and the sites send theirs again",
			"path",
			i.path,
			"why",
			err,
		)
		if _, err = bolt.SetAside(i.path); err == nil {
			file, err = bolt.Open(i.path, bolt.Options{Log: i.log, Keys: keys})
		}
	}
	if err != nil {
		return fmt.Errorf("open the reports of targets: %w", err)
	}
	senders, err := file.Senders()
	if err != nil {
		return errors.Join(fmt.Errorf("read the reports of targets: %w", err), file.Close())
	}
	i.had = map[string]bool{}
	for _, s := range senders {
		i.had[s] = true
	}
	i.file = file
	close(i.used)
	return nil
}

// Open returns the inbox of a target.
func (i *reportStore) Open(target string) (store.Sink, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	box, err := i.get(target)
	if err != nil {
		return nil, err
	}
	return box.sink(), nil
}

func (i *reportStore) get(target string) (*targetReports, error) {
	if box, ok := i.open[target]; ok {
		return box, nil
	}
	if err := i.useLocked(); err != nil {
		return nil, err
	}
	box := &targetReports{
		target:  target,
		placed:  i.placed,
		crowded: i.onCrowded,
		left:    map[uint64]struct{}{},
		seed:    maphash.MakeSeed(),
	}
	sink, err := i.file.Sink(
		bolt.ReportedBy(target),
		bolt.SinkOptions{AcceptNewIncarnation: true, DropRemoved: true, Room: box.room.Load,
			OnCommit: func(keys []store.Key) { i.reported(target, keys) }},
	)
	if err != nil {
		return nil, fmt.Errorf("open the inbox of %s: %w", target, err)
	}
	box.Sink = sink
	i.open[target] = box
	return box, nil
}

// known returns an inbox that exists, nil when nothing was ever reported or the target is gone.
func (i *reportStore) known(target string) (*targetReports, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if box, ok := i.open[target]; ok {
		return box, nil
	}
	if err := i.useLocked(); err != nil || !i.had[target] {
		return nil, err
	}
	return i.get(target)
}

// Len is how many reports the inbox of a target holds.
func (i *reportStore) Len(target string) int {
	box, err := i.known(target)
	if box == nil || err != nil {
		return 0
	}
	return box.Len()
}

// Unkept is how many reports of a target are not kept for lack of room.
func (i *reportStore) Unkept(target string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if box := i.open[target]; box != nil {
		return box.Unkept()
	}
	return 0
}

// Forget removes the inbox of a target that is gone, and tells of all that was in it.
func (i *reportStore) Forget(target string) {
	box, err := i.known(target)
	if box == nil || err != nil {
		return
	}
	keys, err := reports(box)
	i.mu.Lock()
	delete(i.open, target)
	delete(i.had, target)
	err = errors.Join(err, i.file.Drop(bolt.ReportedBy(target)))
	i.mu.Unlock()
	if err != nil {
		i.log.Warn("the reports of a target that is gone are left behind", "target", target, "err", err)
	}
	i.reported(target, keys)
}

// copyBatch is how many reports one transaction copies.
const copyBatch = 1000

// Copy implements sessions.Inboxes. The copy is compared with what the target has in its next session.
func (i *reportStore) Copy(from, to string) error {
	was, err := i.known(from)
	if was == nil || err != nil {
		return err
	}
	i.mu.Lock()
	now, err := i.get(to)
	i.mu.Unlock()
	if err != nil {
		return err
	}
	now.room.Store(was.room.Load())
	keys, err := reports(was)
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

func copyReports(from, to *targetReports, keys []store.Key) error {
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

// reports are the keys of all reports of an inbox.
func reports(box *targetReports) (keys []store.Key, err error) {
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
func (i *reportStore) Report(target string, key store.Key) (store.Entry, bool, error) {
	box, err := i.known(target)
	if box == nil || err != nil {
		return store.Entry{}, false, err
	}
	entry, ok, err := box.Get(key)
	return entry, ok && !entry.Tombstone && !entry.UnknownBody, err
}

// Reported lists the keys of all reports of a target.
func (i *reportStore) Reported(target string) ([]store.Key, error) {
	box, err := i.known(target)
	if box == nil || err != nil {
		return nil, err
	}
	return reports(box)
}

// Complete reports whether all that a target reports is stored: the copy has been compared with what
// the target has.
func (i *reportStore) Complete(target string) bool {
	box, err := i.known(target)
	if box == nil || err != nil {
		return false
	}
	at := box.Position()
	return !at.Incarnation.IsZero() && at.Revision != store.Comparing
}

// Replay tells of all reports that there are: a status that was stored but not yet written before a
// crash is written now. Inboxes of targets that are gone are removed.
func (i *reportStore) Replay(member func(target string) bool) {
	if _, err := os.Stat(i.path); errors.Is(err, os.ErrNotExist) {
		return // nothing was ever reported
	}
	i.mu.Lock()
	err := i.useLocked()
	had := slices.Sorted(maps.Keys(i.had))
	i.mu.Unlock()
	if err != nil {
		i.log.Warn("the reports of targets cannot be read; they will send them again", "err", err)
	}
	for _, target := range had {
		if !member(target) {
			i.Forget(target)
			continue
		}
		box, err := i.known(target)
		var keys []store.Key
		if err == nil {
			keys, err = reports(box)
		}
		if err != nil {
			i.log.Warn("the reports of a target cannot be read; it will send them again", "target", target, "err", err)
		}
		i.reported(target, keys)
	}
}

// errDamaged ends a center: what is started in its place builds the file anew.
var errDamaged = errors.New(
	"the file of the targets' reports is damaged: the center ends, so that it is put aside and built anew at the next " +
		"start; sites send again what is lost",
)

// run waits until ctx ends or the file shows damage.
func (i *reportStore) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-i.used:
	}
	select {
	case <-ctx.Done():
		return nil
	case <-i.file.Damaged():
		return fmt.Errorf("%w (%s)", errDamaged, i.path)
	}
}

// Rest gives back the memory that reading the file took.
func (i *reportStore) Rest() {
	i.mu.Lock()
	file := i.file
	i.mu.Unlock()
	if file != nil {
		file.ReleaseMemory() // of one that was closed meanwhile nothing is left
	}
}

// Clear removes all of them, before any is used: this replica did not lead, so what they hold is
// old. Sites send again what they report.
func (i *reportStore) Clear() error {
	if err := os.Remove(i.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old reports: %w", err)
	}
	return nil
}

// Close closes the file.
func (i *reportStore) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		return nil
	}
	return errors.Join(i.file.MarkCleanShutdown(), i.file.Close())
}
