package bolt

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// keptAside is how many corrupt files are kept for a look at them.
const keptAside = 3

// asideMark stands between the name of a file and the time when it was put aside.
const asideMark = ".corrupt-"

// SetAside renames a corrupt file to path.corrupt-TIME and returns the new name. The newest few are
// kept.
func SetAside(path string) (string, error) {
	aside := path + asideMark + time.Now().UTC().Format("20060102T150405.000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("put the corrupt file aside: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return aside, fmt.Errorf("put the corrupt file aside: %w", err)
	}
	all, err := filepath.Glob(path + asideMark + "*")
	if err != nil {
		return aside, fmt.Errorf("look for corrupt files: %w", err)
	}
	slices.Sort(all) // by time
	for ; len(all) > keptAside; all = all[1:] {
		if err := os.Remove(all[0]); err != nil {
			return aside, fmt.Errorf("remove an old corrupt file: %w", err)
		}
	}
	return aside, nil
}

// Rebuilt is what became of a corrupt file.
type Rebuilt struct {
	// Aside is where it is now; empty when the file was not corrupt.
	Aside string
	// Why it was taken for corrupt.
	Why error
	// Kept is how many entries of it are in the new file.
	Kept int
}

// OpenOrRebuild is Open; a corrupt file is put aside, and a new one takes its place with every live
// entry of the old that can be read and is what was written. The new copy compares with its sender
// before it goes on: what was lost is sent again, and nothing is taken for deleted.
func OpenOrRebuild(path string, o Options) (*File, Rebuilt, error) {
	f, err := Open(path, o)
	if !errors.Is(err, ErrCorrupt) {
		return f, Rebuilt{}, err
	}
	r := Rebuilt{Why: err}
	if r.Aside, err = SetAside(path); err != nil {
		return nil, r, err
	}
	if f, err = Open(path, o); err != nil {
		return nil, r, err
	}
	if r.Kept, err = f.salvageAll(r.Aside); err != nil {
		return nil, r, errors.Join(fmt.Errorf("fill the new file: %w", err), f.Close())
	}
	f.log.Error("the store was corrupt; it is put aside and built anew", "path", path, "aside",
		r.Aside, "kept", r.Kept, "why", r.Why)
	return f, r, nil
}

// salvageAll copies the live entries of all copies that are whole. Tombstones and the inventory
// have no hash that would tell a damaged one, so they are left: the sender says again what is to be
// removed, and the target what is on it.
func (f *File) salvageAll(aside string) (kept int, err error) {
	old := &File{path: aside, codec: f.codec, keys: f.keys, log: f.log,
		damaged: make(chan struct{}), readOnly: true, options: Options{Inspect: true}}
	// Whatever goes wrong with the old file is the damage; what was read before it counts.
	damage := guard(old.openDB)
	if damage == nil {
		for _, name := range old.named() {
			n, failed := f.salvage(old, name)
			if kept += n; failed != nil {
				err = failed
				break
			}
		}
	}
	if old.db != nil {
		damage = errors.Join(damage, guard(old.db.Close))
	}
	if damage != nil {
		f.log.Debug("the corrupt file was not read to its end", "err", damage)
	}
	return kept, err
}

// named are the copies of a damaged file, as far as they can be told.
func (f *File) named() []string {
	names := map[string]bool{sinkDesired: true, sinkReported: true}
	err := f.view(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if isCopy(name) {
				names[string(name)] = true
			}
			return nil
		})
	})
	if err != nil {
		f.log.Debug("the corrupt file was not read to its end", "err", err)
	}
	return slices.Sorted(maps.Keys(names))
}

// salvage copies what is whole of one copy.
func (f *File) salvage(old *File, name string) (int, error) {
	records, st := old.whole(name)
	if len(records) == 0 && st.position.Incarnation.IsZero() {
		return 0, nil
	}
	st.position.Revision = store.Comparing
	return len(records), f.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		for _, r := range records {
			st.add(r)
			if err := bucket.Put(entryKey(r.Key), r.encode()); err != nil {
				return err
			}
		}
		return st.save(tx, []byte(name))
	})
}

// whole reads from both ends up to the damage.
func (f *File) whole(name string) ([]record, state) {
	seen := map[store.Key]record{}
	st := state{}
	read := func(first, next func(*bbolt.Cursor) ([]byte, []byte)) {
		err := f.view(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket([]byte(name))
			if bucket == nil {
				return nil
			}
			c := bucket.Cursor()
			for k, v := first(c); k != nil; k, v = next(c) {
				if r, ok := f.intact(k, v); ok {
					seen[r.Key] = r
				}
			}
			return nil
		})
		if err != nil {
			f.log.Debug("the corrupt file was not read to its end", "err", err)
		}
	}
	read((*bbolt.Cursor).First, (*bbolt.Cursor).Next)
	read((*bbolt.Cursor).Last, (*bbolt.Cursor).Prev)
	if err := f.view(func(tx *bbolt.Tx) error { return st.load(tx, []byte(name)) }); err != nil {
		st = state{}
	}
	st = state{position: st.position, epoch: st.epoch}
	var out []record
	for _, r := range seen {
		r.epoch = st.epoch
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b record) int {
		return strings.Compare(string(entryKey(a.Key)),
			string(entryKey(b.Key)))
	})
	return out, st
}

// intact returns a record that is beyond doubt what was written.
func (f *File) intact(k, v []byte) (r record, ok bool) {
	err := guard(func() error {
		var err error
		if r, err = decodeRecord(k, v); err != nil {
			return err
		}
		if r.Tombstone || r.UnknownBody {
			return errors.New("nothing to keep")
		}
		_, err = f.value(r)
		r.stored = slices.Clone(r.stored)
		return err
	})
	return r, err == nil
}
