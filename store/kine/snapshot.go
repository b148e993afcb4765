package kine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/store"
)

// Facts are what a database says of itself.
type Facts struct {
	// Incarnation names the center whose data this is.
	Incarnation store.Incarnation
	// Revision is that of the newest write.
	Revision int64
}

// ErrDamaged is returned by Inspect for a file that is no center's database, or not a sound one.
var ErrDamaged = errors.New("not a sound center's database")

// Snapshot writes a copy of the database in dir to a new file of mode 0600: all writes up to one
// moment and none after it. A center may run on the directory meanwhile; it goes on reading and
// writing, and only its log grows by what is written until the copy is made.
func Snapshot(ctx context.Context, dir, to string) error {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("no center's database here (of one that stands in PostgreSQL or etcd name it by "+
			"--datastore-endpoint): %w", err)
	}
	// VACUUM INTO takes an empty file, and its mode
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db, err := openSQL(path)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		if t := troubleOf(filepath.Dir(to), err); t != nil && t.Kind == Full {
			return fmt.Errorf("copy %s: the disk of %s is full; make space there, or name a file on another disk", path,
				filepath.Dir(to))
		}
		return fmt.Errorf("copy %s: %w", path, err)
	}
	return nil
}

// Inspect reads a database file that nobody uses, all of it, and changes nothing.
func Inspect(ctx context.Context, path string) (f Facts, err error) {
	return inspect(ctx, path, "mode=ro&immutable=1")
}

// Examine is Inspect for the database of a data directory, which a center may use meanwhile. After
// a crash it reads what the log of the database has, too.
func Examine(ctx context.Context, dir string, inUse bool) (Facts, error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path + "-wal"); err != nil && !inUse {
		return Inspect(ctx, path)
	}
	return inspect(ctx, path, "mode=ro")
}

// inspect reads a database that is opened with these options.
func inspect(ctx context.Context, path, options string) (f Facts, err error) {
	if _, err := os.Stat(path); err != nil {
		return f, err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?"+options)
	if err != nil {
		return f, fmt.Errorf("open %s: %w", path, err)
	}
	defer db.Close()
	var sound string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&sound); err != nil {
		return f, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	} else if sound != "ok" {
		return f, fmt.Errorf("%w: %s: %s", ErrDamaged, path, sound)
	}
	var incarnation []byte
	err = db.QueryRowContext(ctx, `SELECT value, (SELECT COALESCE(MAX(id), 0) FROM kine)
		FROM skerry WHERE name = 'incarnation'`).Scan(&incarnation, &f.Revision)
	if err == nil && len(incarnation) != len(f.Incarnation) {
		err = fmt.Errorf("an incarnation of %d bytes", len(incarnation))
	}
	if err != nil {
		return f, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	f.Incarnation = store.Incarnation(incarnation)
	return f, nil
}

// ValueIn reads the newest value of a key from a database file that nobody uses; nil is that it has
// none.
func ValueIn(ctx context.Context, path, key string) (value []byte, err error) {
	return valueIn(ctx, path, "mode=ro&immutable=1", key)
}

// ExamineValue is ValueIn for the database in a data directory that nobody uses. It also reads what
// the last process left in its log.
func ExamineValue(ctx context.Context, dir, key string) (value []byte, err error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		return ValueIn(ctx, path, key)
	}
	return valueIn(ctx, path, "mode=ro", key)
}

func valueIn(ctx context.Context, path, options, key string) (value []byte, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?"+options)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer db.Close()
	err = db.QueryRowContext(ctx,
		`SELECT value FROM kine WHERE name = ? AND deleted = 0 ORDER BY id DESC LIMIT 1`,
		key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	return value, nil
}
