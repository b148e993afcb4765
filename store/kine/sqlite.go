package kine

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"skerry.dev/skerry/store"
)

// prepareSQL makes a file, and its tables.
var prepareSQL = append([]string{`PRAGMA journal_mode=WAL`}, tablesSQL...)

// tablesSQL makes the tables of a file: kine's, and ours.
var tablesSQL = append([]string{
	`CREATE TABLE IF NOT EXISTS kine (
		id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,
		create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)`,
	`CREATE TABLE IF NOT EXISTS skerry (name TEXT PRIMARY KEY, value BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS skerry_era (
		number INTEGER PRIMARY KEY AUTOINCREMENT, era INTEGER NOT NULL, revision INTEGER NOT NULL)`,
}, indexSQL...)

// prepare creates the file with mode 0600, begins an era and returns what the data says of its
// past.
func prepare(ctx context.Context, path string) (inc store.Incarnation, eras store.Eras, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return inc, nil, fmt.Errorf("create store: %w", err)
	}
	f.Close()
	db, err := openSQL(path)
	if err != nil {
		return inc, nil, err
	}
	defer db.Close()
	for _, q := range prepareSQL {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return inc, nil, fmt.Errorf("prepare %s: %w", path, err)
		}
	}
	if inc, err = loadIncarnation(ctx, db); err != nil {
		return inc, nil, fmt.Errorf("read incarnation in %s: %w", path, err)
	}
	if eras, err = beginEra(ctx, db); err != nil {
		return inc, nil, fmt.Errorf("begin an era in %s: %w", path, err)
	}
	return inc, eras, nil
}

func openSQL(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// maxEras is how many eras are remembered. A receiver that was away for more starts of its center
// has to be accepted anew.
const maxEras = 10_000

// beginEra notes, durably and before anybody can have seen a revision of it, that another run on
// the data begins: a backup that was taken before does not know it.
func beginEra(ctx context.Context, db *sql.DB) (store.Eras, error) {
	if _, err := db.ExecContext(ctx, `
		INSERT INTO skerry_era (era, revision) SELECT ?, COALESCE(MAX(id), 0) FROM kine`,
		int64(store.NewEra())); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, `DELETE FROM skerry_era
		WHERE number <= (SELECT MAX(number) FROM skerry_era) - ?`, maxEras); err != nil {
		return nil, err
	}
	return readEras(db.QueryContext(ctx, erasSQL))
}

const erasSQL = `SELECT era, revision FROM skerry_era ORDER BY number`

func readEras(rows *sql.Rows, err error) (eras store.Eras, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var era, from int64
		if err := rows.Scan(&era, &from); err != nil {
			return nil, err
		}
		eras = append(eras, store.EraStart{Era: store.Era(era), From: from})
	}
	return eras, rows.Err()
}

func loadIncarnation(ctx context.Context, db *sql.DB) (store.Incarnation, error) {
	fresh := store.NewIncarnation()
	if _, err := db.ExecContext(ctx,
		`INSERT OR IGNORE INTO skerry (name, value) VALUES ('incarnation', ?)`,
		fresh[:]); err != nil {
		return store.Incarnation{}, err
	}
	var b []byte
	if err := db.QueryRowContext(ctx,
		`SELECT value FROM skerry WHERE name = 'incarnation'`).Scan(&b); err != nil {
		return store.Incarnation{}, err
	}
	if len(b) != len(fresh) {
		return store.Incarnation{}, fmt.Errorf("%d bytes instead of %d", len(b), len(fresh))
	}
	return store.Incarnation(b), nil
}
