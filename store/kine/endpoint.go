package kine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/query"
	"github.com/k3s-io/kine/pkg/server"

	"skerry.dev/skerry/store/etcd"
)

// ErrEndpoint is returned by Open for an invalid endpoint.
var ErrEndpoint = errors.New("the datastore's endpoint must be " +
	"postgres://USER:PASSWORD@HOST:PORT/DATABASE, or https://HOST:PORT of each member of an etcd cluster, with commas")

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
	valuesSQL,
	`CREATE TABLE IF NOT EXISTS skerry_era (
		number BIGSERIAL PRIMARY KEY, era BIGINT NOT NULL, revision BIGINT NOT NULL)`,
}

const valuesSQL = `CREATE TABLE IF NOT EXISTS skerry (name TEXT PRIMARY KEY, value BYTEA NOT NULL)`

// tablesOfPostgres makes all that a shared database has.
func tablesOfPostgres() []string {
	return slices.Concat(sharedSQL, indexSQL, []string{fmt.Sprintf(orderedSQL, int64(writing))})
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
		IF NOT EXISTS (SELECT FROM pg_trigger
			WHERE tgrelid = 'kine'::regclass AND tgname = 'skerry_in_order') THEN
			CREATE TRIGGER skerry_in_order BEFORE INSERT ON kine
				FOR EACH STATEMENT EXECUTE FUNCTION skerry_in_order();
		END IF;
	END $$;`

// openPostgres connects to a database, and makes it if it is not there.
func openPostgres(ctx context.Context, u *url.URL) (*postgres, error) {
	config, err := postgresConfig(u)
	if err != nil {
		return nil, err
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

func postgresConfig(u *url.URL) (*pgx.ConnConfig, error) {
	u.Path = strings.ToLower(u.Path) // PostgreSQL folds a name that is not quoted
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, ErrEndpoint
	}
	return config, nil
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

// Close implements shared.
func (p *postgres) Close() error { return p.db.Close() }

func (s *Store) openEndpoint(ctx, run context.Context, c Config) (err error) {
	if etcd.IsEndpoint(c.Endpoint) {
		return s.openCluster(ctx, c)
	}
	u, err := postgresURL(c.Endpoint)
	if err != nil {
		return err
	}
	p, err := openPostgres(ctx, u)
	if err != nil {
		return err
	}
	s.shared = p
	if err := p.first(ctx, func() error { return s.openShared(ctx, run, p, u.Host, c) }); err != nil {
		return err
	}
	s.incarnation, err = p.incarnation(ctx)
	return err
}

func (s *Store) openCluster(ctx context.Context, c Config) (err error) {
	config := clusterConfig(c)
	config.InWords = s.inWords
	cluster, err := etcd.Open(ctx, config)
	if errors.Is(err, etcd.ErrEndpoint) {
		err = fmt.Errorf("%w: %w", ErrEndpoint, err)
	}
	if err != nil {
		return err
	}
	s.cluster, s.shared = cluster, cluster
	s.incarnation, err = cluster.Incarnation(ctx)
	return err
}

func clusterConfig(c Config) etcd.Config {
	return etcd.Config{Endpoint: c.Endpoint, Files: c.EndpointFiles, CompactInterval: c.CompactInterval,
		Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler))}
}

// openShared makes the tables of a shared database, and serves it. No other replica does meanwhile.
func (s *Store) openShared(ctx, run context.Context, db *postgres, host string, c Config) error {
	for _, q := range tablesOfPostgres() {
		if _, err := db.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("prepare the datastore at %s: %w", host, err)
		}
	}
	if err := db.opened(ctx); err != nil {
		return fmt.Errorf("open the datastore at %s: %w", host, err)
	}
	t, err := db.openTable(run, &s.running)
	if err != nil {
		return fmt.Errorf("open the datastore at %s: %w", host, err)
	}
	p := &poller{table: t, feed: newFeed(c.Progress), log: c.Log, woken: make(chan struct{}, 1)}
	s.backend = &backend{table: t, feed: p.feed, log: c.Log, committer: &inserter{
		table: t, turns: make(chan struct{}, db.writers), feed: p}}
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
	d.InsertReturningSQL = query.New(sharedInsertSQL, "$", true, "InsertReturning")
	// A text of PostgreSQL has no zero byte, with which a page of a list may begin.
	d.TranslateStartKeyFunc = func(key string) string {
		if before, ok := strings.CutSuffix(key, "\x00"); ok {
			return before + "\x1a"
		}
		return key
	}
	return &table{complete(d, "$", true, `SELECT pg_total_relation_size('kine')`), patience}, nil
}
