package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"skerry.dev/skerry/store/compress"
)

// Format is the version of the layout that this package writes.
const Format = 1

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = 2 * time.Second

var (
	bucketMeta      = []byte("meta")
	bucketInventory = []byte("inventory")
	keyFormat       = []byte("format")
	keyDictionary   = []byte("dictionary")
)

// Options of a File.
type Options struct {
	// Log may be nil.
	Log *slog.Logger
	// SealKey, of 32 bytes, encrypts the bodies of Secrets. Nil stores them compressed only. It is kept apart from the file.
	SealKey []byte
}

// File is one open bbolt file. Its methods may be called concurrently.
type File struct {
	db    *bbolt.DB
	path  string
	codec *compress.Codec
	seal  *sealer
	log   *slog.Logger
}

// Open opens or creates the file with mode 0600 and checks its format. It returns ErrNewerFormat, ErrLocked or ErrCorrupt. A file that
// is mostly free pages is compacted first.
func Open(path string, o Options) (*File, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	seal, err := newSealer(o.SealKey)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &File{path: path, codec: compress.Default(), seal: seal, log: o.Log}
	if err := guard(f.open); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, nil
}

// Close waits for running transactions and closes the file.
func (f *File) Close() error { return f.db.Close() }

// Path is the file's name.
func (f *File) Path() string { return f.path }

func (f *File) open() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	if err := f.openDB(); err != nil {
		return err
	}
	err := f.prepare()
	if err == nil {
		err = f.compact()
	}
	if err != nil && f.db != nil {
		f.db.Close()
	}
	return err
}

func (f *File) openDB() error {
	db, err := bbolt.Open(f.path, 0o600, &bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: stop it first", ErrLocked)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case err != nil:
		return err
	}
	f.db = db
	return nil
}

// prepare checks the format of a file that has one, and writes the skeleton of a new one.
func (f *File) prepare() error {
	known := false
	err := f.db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return nil
		}
		known = true
		return checkFormat(meta)
	})
	if err != nil || known {
		return err
	}
	return f.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketInventory} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		if err := meta.Put(keyDictionary, []byte(compress.DictionaryName())); err != nil {
			return err
		}
		return meta.Put(keyFormat, binary.BigEndian.AppendUint32(nil, Format))
	})
}

func checkFormat(meta *bbolt.Bucket) error {
	v := meta.Get(keyFormat)
	if len(v) != 4 {
		return fmt.Errorf("%w: no format version", ErrCorrupt)
	}
	if got := binary.BigEndian.Uint32(v); got > Format {
		return fmt.Errorf("%w: %d, this version reads up to %d: use the newer version, or move the file away to begin anew", ErrNewerFormat, got, Format)
	}
	if got := string(meta.Get(keyDictionary)); got != compress.DictionaryName() {
		return fmt.Errorf("%w: written with dictionary %q, this version has %q", ErrNewerFormat, got, compress.DictionaryName())
	}
	return nil
}

// guard turns the panics and page faults of bbolt on a damaged file into ErrCorrupt.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	return do()
}

// Meta returns a small value that SetMeta stored, or nil.
func (f *File) Meta(name string) ([]byte, error) {
	var out []byte
	err := f.db.View(func(tx *bbolt.Tx) error {
		out = append(out, tx.Bucket(bucketMeta).Get([]byte("user/"+name))...)
		return nil
	})
	return out, err
}

// SetMeta stores a small value durably; nil removes it.
func (f *File) SetMeta(name string, value []byte) error {
	return f.db.Update(func(tx *bbolt.Tx) error {
		if value == nil {
			return tx.Bucket(bucketMeta).Delete([]byte("user/" + name))
		}
		return tx.Bucket(bucketMeta).Put([]byte("user/"+name), value)
	})
}
