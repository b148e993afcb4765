package kine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"skerry.dev/skerry/store"
)

// Shared reports whether other replicas may use the database.
func (s *Store) Shared() bool { return s.shared != nil }

// shared is a database that the replicas of a center share.
type shared interface {
	Keep(ctx context.Context, name string, value []byte) ([]byte, error)
	Replace(ctx context.Context, name string, old, value []byte) (bool, error)
	Kept(ctx context.Context, name string) ([]byte, error)
	BeginEra(ctx context.Context) (store.Eras, error)
	Eras(ctx context.Context) (store.Eras, error)
	Close() error
}

// BeginEra records durably, in a shared database, that this replica leads from now on. It must be
// called before anybody can have seen a revision of this term.
func (s *Store) BeginEra(ctx context.Context) (store.Eras, error) {
	eras, err := s.shared.BeginEra(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin an era in the datastore: %w", err)
	}
	s.eras = eras
	return eras, nil
}

// Keep stores a value in a shared database under a name unless there is one. It returns the one
// that is there.
func (s *Store) Keep(ctx context.Context, name string, value []byte) ([]byte, error) {
	return s.shared.Keep(ctx, name, value)
}

// ErrReplaced is returned by Replace when another replica has written the value meanwhile.
var ErrReplaced = errors.New("another replica has changed this in the datastore meanwhile")

// Replace stores a value in a shared database in place of old. It returns ErrReplaced, and stores
// nothing, if old is not there any more.
func (s *Store) Replace(ctx context.Context, name string, old, value []byte) error {
	done, err := s.shared.Replace(ctx, name, old, value)
	if err == nil && !done {
		err = ErrReplaced
	}
	return err
}

// Kept returns the value under a name in a shared database; nil if there is none.
func (s *Store) Kept(ctx context.Context, name string) ([]byte, error) {
	return s.shared.Kept(ctx, name)
}

// Keep implements shared.
func (p *postgres) Keep(ctx context.Context, name string, value []byte) ([]byte, error) {
	return p.keep(ctx, "shared/"+name, value)
}

// Replace implements shared.
func (p *postgres) Replace(ctx context.Context, name string, old, value []byte) (bool, error) {
	done, err := p.db.ExecContext(ctx,
		`UPDATE skerry SET value = $3 WHERE name = $1 AND value = $2`, "shared/"+name, old, value)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// Kept implements shared.
func (p *postgres) Kept(ctx context.Context, name string) (value []byte, err error) {
	err = p.db.QueryRowContext(ctx, `SELECT value FROM skerry WHERE name = $1`,
		"shared/"+name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// keep stores a value under a name unless there is one, and returns the one that is there.
func (p *postgres) keep(ctx context.Context, name string, value []byte) (there []byte, err error) {
	err = p.alone(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO skerry (name, value) VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, name, value); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT value FROM skerry WHERE name = $1`,
			name).Scan(&there)
	})
	return there, err
}

func (p *postgres) incarnation(ctx context.Context) (store.Incarnation, error) {
	fresh := store.NewIncarnation()
	b, err := p.keep(ctx, "incarnation", fresh[:])
	if err == nil && len(b) != len(fresh) {
		err = fmt.Errorf("%d bytes instead of %d", len(b), len(fresh))
	}
	if err != nil {
		return fresh, fmt.Errorf("read the incarnation: %w", err)
	}
	return store.Incarnation(b), nil
}

// BeginEra implements shared, as beginEra does it in a file.
func (p *postgres) BeginEra(ctx context.Context) (eras store.Eras, err error) {
	err = p.alone(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO skerry_era (era, revision) SELECT $1, COALESCE(MAX(id), 0) FROM kine`,
			int64(store.NewEra())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`DELETE FROM skerry_era WHERE number <= (SELECT MAX(number) FROM skerry_era) - $1`,
			int64(maxEras)); err != nil {
			return err
		}
		eras, err = readEras(tx.QueryContext(ctx, erasSQL))
		return err
	})
	return eras, err
}

// Eras implements shared.
func (p *postgres) Eras(ctx context.Context) (store.Eras, error) {
	return readEras(p.db.QueryContext(ctx, erasSQL))
}
