package kine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"skerry.dev/skerry/store/etcd"
)

// What Probe returns, beside errors of a datastore that does not answer.
var (
	// ErrRefused is returned when the datastore does not accept the center's credentials or rights.
	ErrRefused = errors.New("the datastore refuses the center")
	// ErrCrowded is returned when the datastore gives no more connections.
	ErrCrowded = errors.New("the datastore gives no more connections")
	// ErrFull is returned when the datastore has no space left.
	ErrFull = errors.New("the datastore is full")
	// ErrReadOnly is returned when the datastore takes no writes: a standby, or a cluster without a leader.
	ErrReadOnly = errors.New("the datastore takes no writes")
)

// Probe connects to the datastore of c.Endpoint as a replica does, and looks whether it takes writes.
// What it writes to find out is rolled back. It returns ErrEndpoint for an endpoint that cannot be read.
func Probe(ctx context.Context, c Config) error {
	if etcd.IsEndpoint(c.Endpoint) {
		return probeCluster(ctx, c)
	}
	u, err := postgresURL(c.Endpoint)
	if err != nil {
		return err
	}
	return judged(probePostgres(ctx, u))
}

func probeCluster(ctx context.Context, c Config) error {
	err := etcd.Probe(ctx, clusterConfig(c))
	for is, known := range map[error]error{etcd.ErrEndpoint: ErrEndpoint, etcd.ErrRefused: ErrRefused,
		etcd.ErrFull: ErrFull, etcd.ErrNoLeader: ErrReadOnly} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", known, err)
		}
	}
	return err
}

// probeSQL makes a table that only its session sees, of more than one page, so that a disk without
// space says so.
const probeSQL = `CREATE TEMPORARY TABLE skerry_probe ON COMMIT DROP AS
	SELECT repeat('x', 1000) AS text FROM generate_series(1, 100)`

func probePostgres(ctx context.Context, u *url.URL) error {
	config, err := postgresConfig(u)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	var standby bool
	var readOnly string
	err = db.QueryRowContext(ctx, `SELECT pg_is_in_recovery(), current_setting('transaction_read_only')`).
		Scan(&standby, &readOnly)
	if err != nil {
		return err
	}
	switch {
	case standby:
		return fmt.Errorf("%w: it is a standby", ErrReadOnly)
	case readOnly == "on":
		return fmt.Errorf("%w: default_transaction_read_only is on", ErrReadOnly)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, probeSQL)
	return err
}

// judged returns the error of a PostgreSQL with what it means for a center. nil stands for a database
// that is not there, which the first start makes, and for one that gives no right to temporary tables.
func judged(err error) error {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return err
	}
	switch {
	case said.Code == pgerrcode.InvalidCatalogName, said.Code == pgerrcode.InsufficientPrivilege &&
		strings.Contains(said.Message, "temporary"):
		return nil
	case pgerrcode.IsInvalidAuthorizationSpecification(said.Code), said.Code == pgerrcode.InsufficientPrivilege:
		return fmt.Errorf("%w: %s", ErrRefused, said.Message)
	case said.Code == pgerrcode.TooManyConnections:
		return fmt.Errorf("%w: %s", ErrCrowded, said.Message)
	case said.Code == pgerrcode.DiskFull:
		return fmt.Errorf("%w: %s", ErrFull, said.Message)
	case said.Code == pgerrcode.ReadOnlySQLTransaction:
		return fmt.Errorf("%w: %s", ErrReadOnly, said.Message)
	}
	return err
}
