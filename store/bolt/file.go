package bolt

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"skerry.dev/skerry/store/compress"
)

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = 2 * time.Second

var (
	bucketMeta      = []byte("meta")
	bucketInventory = []byte("inventory")
)

// Options of a File.
type Options struct {
	// Log may be nil.
	Log *slog.Logger
	// Keys encrypt the bodies of Secrets. Nil stores them compressed only.
	Keys *Keys
	// OnHealth is called when the disk stops to take writes, with the reason, and with nil when it
	// takes them again. Calls do not overlap, and hold no lock of the File. A Commit may wait for
	// one. Nil is nobody.
	OnHealth func(error)
	// Inspect opens an existing file for reading only and changes nothing in it: for Check. A file
	// that another process has open is ErrLocked.
	Inspect bool
	// MaxBytes bounds the size of the file; 0 is the disk's. A write beyond it fails like one on a
	// full disk.
	MaxBytes int
}

// File is one open bbolt file. Its methods may be called concurrently.
type File struct {
	path    string
	options Options
	codec   *compress.Codec
	keys    *Keys
	log     *slog.Logger

	swap     sync.RWMutex // held to write while db is replaced by its compacted copy
	db       *bbolt.DB
	readOnly bool // the file system does not let it be written

	rotating    sync.Mutex // one rotation of keys at a time
	group       group
	cost        cost
	dirty       atomic.Bool // written since Maintain looked
	health      health
	damaged     chan struct{}
	damagedOnce sync.Once
	closing     chan struct{}
	closeOnce   sync.Once
	unclean     bool
	piggybacked []func(*bbolt.Tx) error // what each transaction writes, too
}

// Open opens or creates the file with mode 0600, migrates an older format and checks what it holds.
// A file that is mostly free pages is compacted first. On a read-only file system it is opened for
// reading, and every write returns ErrReadOnly. It returns ErrNewerFormat, ErrLocked or ErrCorrupt;
// a corrupt file is left as it is, see SetAside.
func Open(path string, o Options) (*File, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f := &File{path: path, options: o, codec: compress.Default(), keys: o.Keys, log: o.Log,
		readOnly: o.Inspect,
		damaged:  make(chan struct{}), closing: make(chan struct{})}
	f.health.told = o.OnHealth
	if err := guard(f.open); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, explained(err))
	}
	return f, nil
}

// explained adds what a person can do.
func explained(err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: run as the user who owns the data directory, or give it to this "+
			"one (chown)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: the disk is full; make space", err)
	case errors.Is(err, ErrNewerFormat):
		return fmt.Errorf("%w: install the version that wrote it, or a newer one", err)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: the disk fails: see dmesg; a site's file may be deleted, its "+
			"parent gives it again", err)
	default:
		return err
	}
}

// Close waits for running transactions and closes the file. It may be called again.
func (f *File) Close() error {
	f.closeOnce.Do(func() { close(f.closing) })
	f.swap.Lock()
	defer f.swap.Unlock()
	return f.db.Close()
}

// Path returns the file's name.
func (f *File) Path() string { return f.path }

// Unclean reports whether the target may have more than the file knows: the file is new, or whoever
// had it open before ended without MarkCleanShutdown.
func (f *File) Unclean() bool { return f.unclean }

// keyCleanShutdown is there while the file is closed and knows all that was done.
var keyCleanShutdown = []byte("clean")

// MarkCleanShutdown records, right before Close, that the file knows all that was done, so that the
// next Open is not Unclean.
func (f *File) MarkCleanShutdown() error {
	return f.update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketMeta).Put(keyCleanShutdown,
			[]byte{1})
	})
}

func (f *File) open() (err error) {
	if err := f.openDB(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = errors.Join(err, guard(f.db.Close))
			if p != nil {
				panic(p)
			}
		}
	}()
	if err := f.prepare(); err != nil || f.options.Inspect {
		return err
	}
	if err := f.begin(); err != nil {
		return err
	}
	return f.compact()
}

func (f *File) openDB() error {
	if !f.options.Inspect {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil &&
			!errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	if info, err := os.Stat(f.path); f.readOnly && err == nil && info.Size() == 0 {
		return fmt.Errorf("%w: it is empty", ErrCorrupt) // which a writer takes for new
	}
	db, err := openBolt(f.path, f.readOnly, f.options.MaxBytes)
	if errors.Is(err, syscall.EROFS) {
		f.readOnly = true
		f.log.Error("the file system is read-only; what is known goes on being enforced, and "+
			"nothing new is taken", "path", f.path)
		f.health.tell(f.refused(ErrReadOnly))
		db, err = openBolt(f.path, true, 0)
	}
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: stop it first", ErrLocked)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch),
		err != nil && strings.HasPrefix(err.Error(), "file size too small"):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case err != nil:
		return err
	}
	f.db = db
	return nil
}

// openBolt opens a bbolt file. A panic of bbolt on a damaged one leaves nothing open.
func openBolt(path string, readOnly bool, maxBytes int) (db *bbolt.DB, err error) {
	var opened *os.File
	defer func() {
		if p := recover(); p != nil {
			if opened != nil { // the mapping, which is lost, holds the lock as well
				unlock(opened)
				opened.Close()
			}
			panic(p)
		}
	}()
	return bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout,
		FreelistType: bbolt.FreelistMapType, ReadOnly: readOnly, MaxSize: maxBytes,
		PreLoadFreelist: !readOnly, // a damaged list of free pages does not matter to a reader
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			opened, err = os.OpenFile(name, flag, mode)
			return opened, err
		}})
}

// begin records that the file is in use, so that an end without MarkCleanShutdown is seen.
func (f *File) begin() error {
	if err := f.wholeSize(); err != nil {
		return err
	}
	clean := false
	err := f.view(func(tx *bbolt.Tx) error {
		clean = tx.Bucket(bucketMeta).Get(keyCleanShutdown) != nil
		return nil
	})
	f.unclean = !clean
	if err != nil {
		return err
	}
	if err := f.examine(f.unclean); err != nil || f.readOnly || !clean {
		return err
	}
	return f.update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(keyCleanShutdown) })
}

// wholeSize tells a file that was cut short: bbolt would find out by a page fault.
func (f *File) wholeSize() error {
	return f.view(func(tx *bbolt.Tx) error {
		info, err := os.Stat(f.path)
		if err == nil && info.Size() < tx.Size() {
			err = fmt.Errorf("%w: it has %d bytes of %d", ErrCorrupt, info.Size(), tx.Size())
		}
		return err
	})
}
