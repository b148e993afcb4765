package kine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/server"

	"skerry.dev/skerry/store"
)

// ErrEndpoint is returned by Open for an invalid endpoint.
var ErrEndpoint = errors.New("the datastore's endpoint must be " +
	"postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// postgres is a database that several replicas of a center share. Its connections are for our own
// tables, beside those of the table kine.
type postgres struct {
	db     *sql.DB
	config pgx.ConnConfig
	connections
}

// sharedSQL makes the tables of a shared database, as prepareSQL does in a file.
var sharedSQL = []string{
	`CREATE TABLE IF NOT EXISTS kine (
		id BIGSERIAL PRIMARY KEY, name TEXT COLLATE "C", created INTEGER, deleted INTEGER,
		create_revision BIGINT, prev_revision BIGINT, lease INTEGER, value BYTEA, old_value BYTEA)`,
	`CREATE TABLE IF NOT EXISTS skerry (name TEXT PRIMARY KEY, value BYTEA NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS skerry_era (
		number BIGSERIAL PRIMARY KEY, era BIGINT NOT NULL, revision BIGINT NOT NULL)`,
}

// Advisory locks: preparing is of what only one replica does at a time, and writing of a write
// until it is committed.
const (
	preparing = 0x736b65727279
	writing   = preparing + 1
)

// orderedSQL makes revisions visible in their order. PostgreSQL numbers a row when it is written
// and shows it when it is committed, so a later number may be seen first: a client that lists then,
// and watches from there, would never get the earlier one. The trigger of the statement runs before
// the number is given, and holds a lock until the commit.
const orderedSQL = `
	CREATE OR REPLACE FUNCTION skerry_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock(%d); RETURN NULL; END $$;
	DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'kine'::regclass AND tgname = 'skerry_in_order') THEN
			CREATE TRIGGER skerry_in_order BEFORE INSERT ON kine FOR EACH STATEMENT EXECUTE FUNCTION skerry_in_order();
		END IF;
	END $$;`

// openPostgres connects to a database, and makes it if it is not there.
func openPostgres(ctx context.Context, u *url.URL) (*postgres, error) {
	u.Path = strings.ToLower(u.Path) // PostgreSQL folds a name that is not quoted
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, ErrEndpoint
	}
	p := &postgres{db: stdlib.OpenDB(*config), config: *config}
	err = p.db.PingContext(ctx)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == pgerrcode.InvalidCatalogName {
		err = makeDatabase(ctx, *config)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reach the datastore at %s: %w", u.Host, err),
			p.db.Close())
	}
	if p.connections, err = share(ctx, p.db); err != nil {
		return nil, errors.Join(fmt.Errorf("ask the datastore at %s how many connections it "+
			"allows: %w", u.Host, err), p.db.Close())
	}
	bound(p.db, p.ours, p.ours)
	return p, nil
}

func makeDatabase(ctx context.Context, config pgx.ConnConfig) error {
	name := pgx.Identifier{config.Database}.Sanitize()
	config.Database = "postgres" // is in every server
	db := stdlib.OpenDB(config)
	defer db.Close()
	_, err := db.ExecContext(ctx, `CREATE DATABASE `+name)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == pgerrcode.DuplicateDatabase ||
		refused.Code == pgerrcode.UniqueViolation) {
		return nil // another replica was quicker
	}
	return err
}

// first runs what makes tables while no other replica does.
func (p *postgres) first(ctx context.Context, do func() error) error {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`,
		int64(preparing)); err != nil {
		return err
	}
	err = do()
	_, unlock := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, int64(preparing))
	return errors.Join(err, unlock)
}

// alone runs a transaction that no other replica's runs beside.
func (p *postgres) alone(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`,
		int64(preparing)); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
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

// beginEra is beginEra of a file.
func (p *postgres) beginEra(ctx context.Context) (eras store.Eras, err error) {
	err = p.alone(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO skerry_era (era, revision) SELECT $1, COALESCE(MAX(id), 0) FROM kine`, int64(store.NewEra())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM skerry_era WHERE number <= (SELECT MAX(number) FROM skerry_era) - $1`, int64(maxEras)); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT era, revision FROM skerry_era ORDER BY number`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var era, from int64
			if err := rows.Scan(&era, &from); err != nil {
				return err
			}
			eras = append(eras, store.EraStart{Era: store.Era(era), From: from})
		}
		return rows.Err()
	})
	return eras, err
}

func (p *postgres) close() error {
	if p == nil {
		return nil
	}
	return p.db.Close()
}

func (s *Store) openEndpoint(ctx, run context.Context, c Config) (err error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" ||
		strings.Trim(u.Path, "/") == "" {
		return ErrEndpoint // without the text, which has a password
	}
	if s.shared, err = openPostgres(ctx, u); err != nil {
		return err
	}
	if err := s.shared.first(ctx, func() error {
		return s.openShared(ctx, run, u.Host,
			c)
	}); err != nil {
		return err
	}
	s.incarnation, err = s.shared.incarnation(ctx)
	return err
}

// openShared makes the tables of a shared database, and serves it. No other replica does meanwhile.
func (s *Store) openShared(ctx, run context.Context, host string, c Config) error {
	for _, q := range slices.Concat(sharedSQL, indexSQL,
		[]string{fmt.Sprintf(orderedSQL, int64(writing))}) {
		if _, err := s.shared.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("prepare the datastore at %s: %w", host, err)
		}
	}
	t, err := s.shared.openTable(run, &s.running)
	if err != nil {
		return fmt.Errorf("open the datastore at %s: %w", host, err)
	}
	p := &poller{table: t, feed: newFeed(c.Progress), log: c.Log, woken: make(chan struct{}, 1)}
	s.backend = &backend{table: t, feed: p.feed, log: c.Log, committer: &inserter{
		table: t, turns: make(chan struct{}, s.shared.writers), feed: p}}
	if err := s.backend.Start(ctx); err != nil {
		return fmt.Errorf("start store on the datastore at %s: %w", host, err)
	}
	newest, err := t.newest(ctx)
	if err != nil {
		return fmt.Errorf("read the datastore at %s: %w", host, err)
	}
	p.feed.reached(newest)
	s.running.Go(func() { p.run(run, newest) })
	s.running.Go(func() { s.backend.compact(run, c.CompactInterval, newest) })
	s.running.Go(func() { s.backend.expire(run) })
	return nil
}

// openTable opens the connections of the table kine. They are closed with run.
func (p *postgres) openTable(run context.Context, running *sync.WaitGroup) (*table, error) {
	d, err := generic.OpenDB(run, running, "pgx", stdlib.GetConnector(p.config), p.poolConfig(),
		"$", true, nil)
	if err != nil {
		return nil, err
	}
	d.TranslateErr = func(err error) error {
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == pgerrcode.UniqueViolation {
			return server.ErrKeyExists
		}
		return err
	}
	// A text of PostgreSQL has no zero byte, with which a page of a list may begin.
	d.TranslateStartKeyFunc = func(key string) string {
		if before, ok := strings.CutSuffix(key, "\x00"); ok {
			return before + "\x1a"
		}
		return key
	}
	return &table{complete(d, "$", true, `SELECT pg_total_relation_size('kine')`), patience}, nil
}

// Shared reports whether other replicas may use the database.
func (s *Store) Shared() bool { return s.shared != nil }

// BeginEra records durably, in a shared database, that this replica leads from now on. It must be
// called before anybody can have seen a revision of this term.
func (s *Store) BeginEra(ctx context.Context) (store.Eras, error) {
	eras, err := s.shared.beginEra(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin an era in the datastore: %w", err)
	}
	s.eras = eras
	return eras, nil
}

// Keep stores a value in a shared database under a name unless there is one. It returns the one
// that is there.
func (s *Store) Keep(ctx context.Context, name string, value []byte) ([]byte, error) {
	return s.shared.keep(ctx, "shared/"+name, value)
}

// ErrReplaced is returned by Replace when another replica has written the value meanwhile.
var ErrReplaced = errors.New("another replica has changed this in the datastore meanwhile")

// Replace stores a value in a shared database in place of old. It returns ErrReplaced, and stores
// nothing, if old is not there any more.
func (s *Store) Replace(ctx context.Context, name string, old, value []byte) error {
	done, err := s.shared.db.ExecContext(ctx,
		`UPDATE skerry SET value = $3 WHERE name = $1 AND value = $2`, "shared/"+name, old, value)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(ErrReplaced, err)
	}
	return nil
}

// Kept returns the value under a name in a shared database; nil if there is none.
func (s *Store) Kept(ctx context.Context, name string) (value []byte, err error) {
	err = s.shared.db.QueryRowContext(ctx, `SELECT value FROM skerry WHERE name = $1`,
		"shared/"+name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}
