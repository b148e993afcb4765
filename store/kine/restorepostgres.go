package kine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/restore"
)

// restoringName is the name of the mark of a restore in the table skerry.
const restoringName = "restoring"

const (
	// quietTime is how long nothing may be written to a database that is to be replaced. The leader
	// of a center renews its lease each second.
	quietTime = 5 * time.Second
	// undoTime is how long the mark of a restore that has failed may take to go.
	undoTime = 10 * time.Second
)

// dialPostgres connects to a database. It returns nil if there is none of that name.
func dialPostgres(ctx context.Context, endpoint string) (*postgres, error) {
	u, err := postgresURL(endpoint)
	if err != nil {
		return nil, err
	}
	config, err := postgresConfig(u)
	if err != nil {
		return nil, err
	}
	p := &postgres{db: stdlib.OpenDB(*config), config: *config}
	if err := p.db.PingContext(ctx); err != nil {
		err = errors.Join(err, p.Close())
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == pgerrcode.InvalidCatalogName {
			return nil, nil
		}
		return nil, fmt.Errorf("reach the datastore at %s: %w", u.Host, err)
	}
	return p, nil
}

// look tells what the tables hold, which may not be there.
func (p *postgres) look(ctx context.Context) (there restore.There, err error) {
	var rows, values bool
	if err := p.db.QueryRowContext(
		ctx,
		`SELECT to_regclass('kine') IS NOT NULL, to_regclass('skerry') IS NOT NULL`,
	).
		Scan(
			&rows,
			&values,
		); err != nil {
		return there, fmt.Errorf("look at the datastore: %w", err)
	}
	if rows {
		err = p.db.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MAX(id), 0) FROM kine`).
			Scan(&there.Keys, &there.Revision)
	}
	if err == nil && values {
		var incarnation []byte
		err = p.db.QueryRowContext(ctx, `SELECT (SELECT value FROM skerry WHERE name = 'incarnation'),
			EXISTS (SELECT FROM skerry WHERE name = $1)`, restoringName).Scan(&incarnation, &there.Unfinished)
		if len(incarnation) == len(store.Incarnation{}) {
			there.Incarnation = new(store.Incarnation(incarnation))
		}
	}
	if err != nil {
		err = fmt.Errorf("look at the datastore: %w", err)
	}
	return there, err
}

// opened returns why no center may open the database, nil if one may.
func (p *postgres) opened(ctx context.Context) error {
	var unfinished bool
	if err := p.db.QueryRowContext(
		ctx,
		`SELECT EXISTS (SELECT FROM skerry WHERE name = $1)`,
		restoringName,
	).
		Scan(
			&unfinished,
		); err != nil {
		return err
	}
	if unfinished {
		return restore.ErrUnfinished
	}
	return nil
}

// restorePostgres restores in one transaction. Before it the mark is set, so that no center begins
// anew on a database of which the restore has not come to its end.
func restorePostgres(
	ctx context.Context,
	endpoint string,
	f *content,
	o restore.Options,
) (err error) {
	u, err := postgresURL(endpoint)
	if err != nil {
		return err
	}
	p, err := openPostgres(ctx, u)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	there, err := p.look(ctx)
	if err == nil {
		err = there.Allows(o.Replace)
	}
	if err == nil && there.Keys > 0 {
		err = p.quiet(ctx, there.Revision)
	}
	if err != nil {
		return err
	}
	return p.first(ctx, func() error {
		if err := p.mark(ctx); err != nil {
			return fmt.Errorf("prepare the datastore at %s: %w", u.Host, err)
		}
		if err := p.restore(ctx, f, o); err != nil {
			if ended := context.Cause(ctx); ended != nil {
				err = ended // the driver says that in words of its own: a write timed out, a bad connection
			}
			return errors.Join(fmt.Errorf("write to the datastore at %s: %w", u.Host, err), p.undo(there))
		}
		return nil
	})
}

// quiet waits, and returns restore.ErrInUse if something is written meanwhile.
func (p *postgres) quiet(ctx context.Context, before int64) error {
	pause(ctx, quietTime)
	there, err := p.look(ctx)
	if err == nil && there.Revision != before {
		err = restore.ErrInUse
	}
	return err
}

func (p *postgres) mark(ctx context.Context) error {
	if _, err := p.db.ExecContext(ctx, valuesSQL); err != nil {
		return err
	}
	_, err := p.db.ExecContext(
		ctx,
		`INSERT INTO skerry (name, value) VALUES ($1, '') ON CONFLICT DO NOTHING`,
		restoringName,
	)
	return err
}

// undo removes the mark of a restore that has changed nothing, unless it was there before.
func (p *postgres) undo(before restore.There) error {
	if before.Unfinished {
		return nil
	}
	ctx, cancel := context.WithTimeout(
		context.Background(),
		undoTime,
	) // also after the restore was ended
	defer cancel()
	_, err := p.db.ExecContext(ctx, `DELETE FROM skerry WHERE name = $1`, restoringName)
	return err
}

// restore writes everything in one transaction, which removes the mark.
func (p *postgres) restore(ctx context.Context, f *content, o restore.Options) error {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		return pgx.BeginFunc(ctx, driver.(*stdlib.Conn).Conn(), func(tx pgx.Tx) error {
			for _, q := range append(tablesOfPostgres(),
				`LOCK TABLE kine, skerry, skerry_era IN ACCESS EXCLUSIVE MODE`,
				`TRUNCATE kine, skerry, skerry_era RESTART IDENTITY`) {
				if _, err := tx.Exec(ctx, q); err != nil {
					return err
				}
			}
			return (&filling{tx: tx, from: f, count: o.Count}).all(ctx, o.Shared)
		})
	})
}

// filling writes a copy into empty tables.
type filling struct {
	tx   pgx.Tx
	from *content
	// count is told how many keys are written; nil is nobody.
	count  func(done, total int)
	newest int64 // of the keys that are there
}

func (w *filling) all(ctx context.Context, shared map[string][]byte) error {
	if err := w.keys(ctx); err != nil {
		return err
	}
	id := w.from.revision // as copying.end does it in a file
	if w.newest == id {
		id = 0
	}
	incarnation := w.from.incarnation
	values := map[string][]byte{"incarnation": incarnation[:]}
	for name, value := range shared {
		values["shared/"+name] = value
	}
	batch := &pgx.Batch{}
	batch.Queue(
		`INSERT INTO kine (id, name, created, deleted, create_revision, prev_revision, lease, value)
		VALUES ($1, $2, 1, 0, 0, $3, 0, '')`,
		id,
		compactionKey,
		w.from.revision,
	)
	batch.Queue(`SELECT setval(pg_get_serial_sequence('kine', 'id'), $1)`, max(w.from.revision, 1))
	for name, value := range values {
		batch.Queue(`INSERT INTO skerry (name, value) VALUES ($1, $2)`, name, value)
	}
	for _, era := range restore.Eras(w.from) {
		batch.Queue(`INSERT INTO skerry_era (era, revision) VALUES ($1, $2)`, int64(era.Era), era.From)
	}
	return w.tx.SendBatch(ctx, batch).Close()
}

// keys writes the newest row of each key. PostgreSQL reads them as they come.
func (w *filling) keys(ctx context.Context) (err error) {
	rows, err := w.from.rows(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	_, err = w.tx.CopyFrom(
		ctx,
		pgx.Identifier{"kine"},
		[]string{"id", "name", "created", "deleted", "create_revision",
			"prev_revision", "lease", "value"},
		&keysToCopy{rows: rows, into: w},
	)
	return err
}

// keysToCopy implements pgx.CopyFromSource.
type keysToCopy struct {
	rows *sql.Rows
	into *filling
	done int
}

// Next implements pgx.CopyFromSource.
func (k *keysToCopy) Next() bool { return k.rows.Next() }

// Values implements pgx.CopyFromSource.
func (k *keysToCopy) Values() ([]any, error) {
	key, err := scanKey(k.rows)
	if err != nil {
		return nil, err
	}
	created, createRevision := 0, key.Created
	if key.Created == key.Revision {
		created, createRevision = 1, 0
	}
	k.into.newest = key.Revision
	if k.done++; k.into.count != nil {
		k.into.count(k.done, k.into.from.keys)
	}
	if key.Value == nil {
		key.Value = []byte{}
	}
	return []any{
		key.Revision,
		key.Name,
		created,
		0,
		createRevision,
		int64(0),
		key.Lease,
		key.Value,
	}, nil
}

// Err implements pgx.CopyFromSource.
func (k *keysToCopy) Err() error { return k.rows.Err() }
