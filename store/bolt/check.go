package bolt

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// Finding is one thing that is wrong with a file.
type Finding struct {
	// Where is the part of the file: pages, desired, reported, inventory, or a key.
	Where string `json:"where"`
	// What is wrong with it.
	What string `json:"what"`
}

// maxFindings bounds what a badly damaged file makes Check say.
const maxFindings = 100

// findings collects up to maxFindings, and remembers which entries alone are unreadable.
type findings struct {
	list []Finding
	// by copy: entries whose value cannot be had, in a bucket that is whole
	lost map[string][]store.Key
	hurt bool // more than such entries
}

func (l *findings) add(where, format string, args ...any) {
	l.hurt = true
	l.say(where, fmt.Sprintf(format, args...))
}

func (l *findings) say(where, what string) {
	if len(l.list) < maxFindings {
		l.list = append(l.list, Finding{where, what})
	}
}

// find looks for a key that is there from the top of its bucket: a damaged page on the way, or a
// damaged key beside it, leads elsewhere.
func (l *findings) find(where string, bucket *bbolt.Bucket, k []byte) {
	if bucket.Get(k) == nil {
		l.add(where, "%q is there and cannot be found", k)
	}
}

// Check reads everything in the file, also every body, and tells what is wrong: pages, records that
// do not decode, values that are not what their hash says, digests and counts that do not agree
// with the contents, Secrets whose key is missing. An empty list means that all is well. Who writes waits meanwhile.
func (f *File) Check() ([]Finding, error) {
	l, err := f.look(true)
	if errors.Is(err, ErrCorrupt) {
		l.add("pages", "%v", err)
		err = nil
	}
	return l.list, err
}

// examine is the part of opening: it is ErrCorrupt when more is wrong than single values, and those
// are marked so that the sender is asked for them. The whole look at every value is for a file
// whose last user did not end well.
func (f *File) examine(whole bool) error {
	l, err := f.look(whole)
	if err != nil {
		return err
	}
	if l.hurt {
		return fmt.Errorf("%w: %s: %s (and %d more findings)", ErrCorrupt, l.list[0].Where,
			l.list[0].What, len(l.list)-1)
	}
	for name, keys := range l.lost {
		f.log.Warn("values in the store cannot be read, the sender is asked for them again", "path",
			f.path, "copy", name, "n", len(keys),
			"first", keys[0], "why", l.list[0].What)
		if f.readOnly {
			continue
		}
		if err := f.markUnknown(name, keys); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) look(whole bool) (findings, error) {
	l := findings{lost: map[string][]store.Key{}}
	look := f.view
	if whole {
		look = f.still
	}
	err := look(func(tx *bbolt.Tx) error {
		names, err := copies(tx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := f.lookAt(&l, name, tx.Bucket([]byte(name)), whole); err != nil {
				return err
			}
		}
		inventory := tx.Bucket(bucketInventory)
		if inventory == nil {
			l.add("inventory", "it is missing")
			return nil
		}
		err = inventory.ForEach(func(k, v []byte) error {
			var r Record
			l.find("inventory", inventory, k)
			if _, err := store.DecodeKey(string(k)); err != nil {
				l.add("inventory", "%v", err)
			} else if err := decodeInventory(string(k), v, &r); err != nil {
				l.add("inventory", "%v", err)
			}
			return nil
		})
		if err == nil && whole && !l.hurt {
			// After the buckets were read to the end: this runs on a goroutine where a page that is
			// not there would end the process.
			for problem := range tx.Check() {
				l.add("pages", "%v", problem)
			}
		}
		return err
	})
	return l, err
}

// lookAt reads one copy and compares what it holds with its digests.
func (f *File) lookAt(l *findings, name string, bucket *bbolt.Bucket, whole bool) error {
	saved, held := state{}, state{}
	if err := saved.load(bucket.Tx(), []byte(name)); err != nil {
		l.add(name, "%v", err)
		return nil
	}
	err := bucket.ForEach(func(k, v []byte) error {
		l.find(name, bucket, k)
		r, err := decodeRecord(k, v)
		if err != nil {
			l.add(name, "%v", err)
			return nil
		}
		if !r.Tombstone {
			held.add(r)
		}
		switch {
		case r.epoch > saved.epoch:
			l.add(name, "%s is of epoch %d, the copy of %d", r.Key, r.epoch, saved.epoch)
		case r.UnknownBody, r.Tombstone && len(r.stored) == 0:
		case whole && r.Tombstone:
			_, err = f.body(r)
		case whole:
			_, err = f.value(r)
		case r.flags&flagSealed != 0:
			_, err = f.keys.open(r.Key, r.stored)
		}
		if err != nil {
			l.say(r.Key.String(), err.Error())
			l.lost[name] = append(l.lost[name], r.Key)
		}
		return nil
	})
	if held.live != saved.live || held.outer != saved.outer {
		l.add(name, "it holds %d live entries with digest %x; recorded are %d with %x", held.live,
			held.root(), saved.live, saved.root())
	} else if held.size != saved.size || held.unkept != saved.unkept {
		l.add(name, "its values take %d bytes and %d are not there; recorded are %d and %d",
			held.size, held.unkept, saved.size, saved.unkept)
	}
	return err
}
