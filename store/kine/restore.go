package kine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/etcd"
	"skerry.dev/skerry/store/restore"
)

// Look tells what a shared datastore holds, and changes nothing.
func Look(ctx context.Context, c Config) (restore.There, error) {
	if etcd.IsEndpoint(c.Endpoint) {
		return etcd.Look(ctx, clusterConfig(c))
	}
	p, err := dialPostgres(ctx, c.Endpoint)
	if err != nil || p == nil {
		return restore.There{}, err
	}
	there, err := p.look(ctx)
	return there, errors.Join(err, p.Close())
}

// Restore writes what a database file holds into a shared datastore, so that it goes on there: each
// key as the newest write left it, the incarnation, and the eras. A file is what Snapshot and Copy
// make. In PostgreSQL each key keeps its revision. In an etcd cluster all have later ones.
func Restore(ctx context.Context, c Config, file string, o restore.Options) (err error) {
	f, err := openContent(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.db.Close()) }()
	if etcd.IsEndpoint(c.Endpoint) {
		return etcd.Restore(ctx, clusterConfig(c), f, o)
	}
	return restorePostgres(ctx, c.Endpoint, f, o)
}

// postgresURL reads the endpoint of a PostgreSQL. Its errors are without the text, which has a
// password.
func postgresURL(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" ||
		strings.Trim(u.Path, "/") == "" {
		return nil, ErrEndpoint
	}
	return u, nil
}

// content is a database file that nobody uses, as what is restored.
type content struct {
	db          *sql.DB
	incarnation store.Incarnation
	revision    int64
	eras        store.Eras
	keys        int
}

// newestSQL finds the newest row of each key that is there.
const newestSQL = ` FROM kine AS k WHERE deleted = 0 AND name != '` + compactionKey + `'
	AND id = (SELECT MAX(id) FROM kine WHERE name = k.name)`

func openContent(ctx context.Context, path string) (*content, error) {
	facts, err := Inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &content{db: db, incarnation: facts.Incarnation, revision: facts.Revision}
	if f.eras, err = readEras(db.QueryContext(ctx, erasSQL)); err == nil {
		err = db.QueryRowContext(ctx, `SELECT COUNT(*)`+newestSQL).Scan(&f.keys)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrDamaged, path, err), db.Close())
	}
	return f, nil
}

// Incarnation implements restore.Content.
func (f *content) Incarnation() store.Incarnation { return f.incarnation }

// Revision implements restore.Content.
func (f *content) Revision() int64 { return f.revision }

// Eras implements restore.Content.
func (f *content) Eras() store.Eras { return f.eras }

// Len implements restore.Content.
func (f *content) Len() int { return f.keys }

// Each implements restore.Content.
func (f *content) Each(ctx context.Context, do func(restore.Key) error) error {
	rows, err := f.rows(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		k, err := scanKey(rows)
		if err != nil {
			return err
		}
		if err := do(k); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (f *content) rows(ctx context.Context) (*sql.Rows, error) {
	return f.db.QueryContext(
		ctx,
		`SELECT id, name, create_revision, lease, value`+newestSQL+` ORDER BY id`,
	)
}

func scanKey(rows *sql.Rows) (k restore.Key, err error) {
	if err := rows.Scan(&k.Revision, &k.Name, &k.Created, &k.Lease, &k.Value); err != nil {
		return k, fmt.Errorf("read the copy: %w", err)
	}
	if k.Created == 0 { // as the table has it for the first write
		k.Created = k.Revision
	}
	return k, nil
}
