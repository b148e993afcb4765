package kine

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "modernc.org/sqlite" // the driver "sqlite", the same that kine uses without cgo

	"skerry.dev/skerry/store"
)

// prepareSQL makes the file ready for kine, and holds what is ours. kine's migration asks for the row counts of a legacy table
// key_value and of its own; when the first one is missing or empty it never reads the second answer, and that open
// query pins a read transaction for ever: the write-ahead log can then never be checkpointed and grows without bound.
var prepareSQL = []string{
	`PRAGMA journal_mode=WAL`,
	`CREATE TABLE IF NOT EXISTS key_value (id INTEGER PRIMARY KEY, name TEXT, value BLOB, ttl INTEGER)`,
	`INSERT INTO key_value (id, name, value, ttl) SELECT 1, '/skerry/none', x'', 0 WHERE NOT EXISTS (SELECT 1 FROM key_value)`,
	`CREATE TABLE IF NOT EXISTS skerry (name TEXT PRIMARY KEY, value BLOB NOT NULL)`,
}

// prepare creates the file with mode 0600 and returns the incarnation that stands in it.
func prepare(ctx context.Context, path string) (store.Incarnation, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return store.Incarnation{}, fmt.Errorf("create store: %w", err)
	}
	f.Close()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)")
	if err != nil {
		return store.Incarnation{}, fmt.Errorf("open %s: %w", path, err)
	}
	defer db.Close()
	for _, q := range prepareSQL {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return store.Incarnation{}, fmt.Errorf("prepare %s: %w", path, err)
		}
	}
	inc, err := loadIncarnation(ctx, db)
	if err != nil {
		return store.Incarnation{}, fmt.Errorf("read incarnation in %s: %w", path, err)
	}
	return inc, nil
}

func loadIncarnation(ctx context.Context, db *sql.DB) (store.Incarnation, error) {
	fresh := store.NewIncarnation()
	if _, err := db.ExecContext(ctx, `INSERT OR IGNORE INTO skerry (name, value) VALUES ('incarnation', ?)`, fresh[:]); err != nil {
		return store.Incarnation{}, err
	}
	var b []byte
	if err := db.QueryRowContext(ctx, `SELECT value FROM skerry WHERE name = 'incarnation'`).Scan(&b); err != nil {
		return store.Incarnation{}, err
	}
	if len(b) != len(fresh) {
		return store.Incarnation{}, fmt.Errorf("%d bytes instead of %d", len(b), len(fresh))
	}
	return store.Incarnation(b), nil
}
