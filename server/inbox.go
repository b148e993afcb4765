package server

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// inboxes holds the last report of each target, one file a target. What is in it is soft: a lost file is sent again by the site.
type inboxes struct {
	dir      string
	reported func(target string, keys []store.Key)
	log      *slog.Logger

	mu   sync.Mutex
	open map[string]*inbox
}

type inbox struct {
	*bolt.Sink
	file *bolt.File
}

func newInboxes(dir string, reported func(string, []store.Key), log *slog.Logger) *inboxes {
	return &inboxes{dir: dir, reported: reported, log: log, open: map[string]*inbox{}}
}

// Open returns the inbox of a target. A corrupt file is built anew, and the site sends what was lost again.
func (i *inboxes) Open(target string) (store.Sink, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.get(target)
}

func (i *inboxes) get(target string) (*inbox, error) {
	if box, ok := i.open[target]; ok {
		return box, nil
	}
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the inbox of %s: %w", target, err)
	}
	path := i.path(target)
	file, _, err := bolt.OpenOrRebuild(path, bolt.Options{Log: i.log})
	if err != nil {
		return nil, fmt.Errorf("open the inbox of %s: %w", target, err)
	}
	sink, err := file.Sink("reported", bolt.SinkOptions{AcceptNewIncarnation: true,
		OnCommit: func(keys []store.Key) { i.reported(target, keys) }})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the inbox of %s: %w", target, err), file.Close())
	}
	box := &inbox{sink, file}
	i.open[target] = box
	return box, nil
}

// known returns an inbox that exists, nil when nothing was ever reported or the target is gone.
func (i *inboxes) known(target string) (*inbox, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open[target] == nil {
		if _, err := os.Stat(i.path(target)); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
	}
	return i.get(target)
}

func (i *inboxes) path(target string) string { return filepath.Join(i.dir, target+".db") }

// Len is how many reports the inbox of a target holds.
func (i *inboxes) Len(target string) int {
	box, err := i.known(target)
	if box == nil || err != nil {
		return 0
	}
	return box.Len()
}

// Forget removes the inbox of a target that is gone, and tells of all that was in it.
func (i *inboxes) Forget(target string) {
	box, err := i.known(target)
	if box == nil || err != nil {
		return
	}
	keys, err := box.keys()
	i.mu.Lock()
	delete(i.open, target)
	err = errors.Join(err, box.file.Close(), os.Remove(i.path(target)))
	i.mu.Unlock()
	if err != nil {
		i.log.Warn("the reports of a target that is gone are left behind", "target", target, "err", err)
	}
	i.reported(target, keys)
}

// keys are those of all reports.
func (b *inbox) keys() (keys []store.Key, err error) {
	err = b.Each(func(e store.Entry) error {
		if !e.Tombstone && !e.Found {
			keys = append(keys, e.Key)
		}
		return nil
	})
	return keys, err
}

// Report returns the last report of a key from a target; it is false for what was never reported, and for tombstones.
func (i *inboxes) Report(target string, key store.Key) (store.Entry, bool, error) {
	box, err := i.known(target)
	if box == nil || err != nil {
		return store.Entry{}, false, err
	}
	entry, ok, err := box.Get(key)
	return entry, ok && !entry.Tombstone && !entry.Found, err
}

// Replay tells of all reports that the inboxes hold: a status that was stored but not yet written before a crash is written now. Inboxes of
// targets that are gone are removed.
func (i *inboxes) Replay(member func(target string) bool) {
	files, err := os.ReadDir(i.dir)
	if err != nil {
		return // nothing was ever reported
	}
	for _, f := range files {
		target, ok := strings.CutSuffix(f.Name(), ".db")
		if !ok {
			continue
		}
		if !member(target) {
			i.Forget(target)
			continue
		}
		i.mu.Lock()
		box, err := i.get(target)
		i.mu.Unlock()
		if err != nil {
			i.log.Warn("the reports of a target cannot be read; it will send them again", "target", target, "err", err)
			continue
		}
		keys, err := box.keys()
		if err != nil {
			i.log.Warn("the reports of a target cannot be read; it will send them again", "target", target, "err", err)
		}
		i.reported(target, keys)
	}
}

// Rest gives back the memory that reading the files took.
func (i *inboxes) Rest() {
	i.mu.Lock()
	open := slices.Collect(maps.Values(i.open))
	i.mu.Unlock()
	for _, box := range open {
		box.file.Rest() // of one that was closed meanwhile nothing is left
	}
}

// Clear removes all of them, before any is used: this replica did not lead, so what they hold is old. Sites send again what they report.
func (i *inboxes) Clear() error {
	if err := os.RemoveAll(i.dir); err != nil {
		return fmt.Errorf("remove old reports: %w", err)
	}
	return nil
}

// Close closes the files.
func (i *inboxes) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var errs []error
	for _, box := range i.open {
		errs = append(errs, box.file.Settled(), box.file.Close())
	}
	i.open = map[string]*inbox{}
	return errors.Join(errs...)
}
