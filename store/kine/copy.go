package kine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// copyPage is how many keys of a shared database are read at once for a copy.
const copyPage = 500

// Copy writes what the database holds at one moment to a new database file of mode 0600, as
// Snapshot does for the file of a directory. The keys of a shared database are read page by page,
// as of one revision; each key has the revision in the copy that it has there. So the copy goes on
// where the shared database was, as a file.
func (s *Store) Copy(ctx context.Context, to string) (err error) {
	if s.file != nil {
		return Snapshot(ctx, s.troubles.dir, to)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	// Nothing is durable before the whole is: a copy that breaks off is thrown away.
	db, err := sql.Open("sqlite", to+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		return fmt.Errorf("open %s: %w", to, err)
	}
	db.SetMaxOpenConns(1)
	if err := s.copyInto(ctx, db); err != nil {
		return errors.Join(fmt.Errorf("copy the datastore: %w", err), db.Close())
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", to, err)
	}
	return f.Sync()
}

func (s *Store) copyInto(ctx context.Context, db *sql.DB) error {
	for _, q := range tablesSQL {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	c := &copying{store: s, tx: tx, leases: map[int64]int64{}}
	if err := c.keys(ctx); err != nil {
		return err
	}
	if err := c.end(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// copying is a copy of a shared database under way.
type copying struct {
	store    *Store
	tx       *sql.Tx
	revision int64           // as of which it is
	newest   int64           // of the keys that are there
	leases   map[int64]int64 // for how many seconds those of etcd were granted
}

const copyRowSQL = `INSERT INTO kine
	(id, name, created, deleted, create_revision, prev_revision, lease, value)
	VALUES (?, ?, ?, 0, ?, 0, ?, ?)`

// keys copies all keys. Those of Kubernetes and of Skerry begin with a slash.
func (c *copying) keys(ctx context.Context) error {
	insert, err := c.tx.PrepareContext(ctx, copyRowSQL)
	if err != nil {
		return err
	}
	defer insert.Close()
	for from, more := "/", true; more; {
		page, err := c.store.client.Client.Get(ctx, from, clientv3.WithRange("0"), clientv3.WithLimit(copyPage),
			clientv3.WithRev(c.revision))
		if err != nil {
			return err
		}
		if c.revision == 0 {
			c.revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			if err := c.row(ctx, insert, kv); err != nil {
				return err
			}
			from = string(kv.Key) + "\x00"
		}
		more = page.More && len(page.Kvs) > 0
	}
	return nil
}

func (c *copying) row(ctx context.Context, insert *sql.Stmt, kv *mvccpb.KeyValue) error {
	lease, err := c.lease(ctx, kv.Lease)
	if err != nil {
		return fmt.Errorf("ask for a lease: %w", err)
	}
	created, createRevision := kv.CreateRevision == kv.ModRevision, kv.CreateRevision
	if created {
		createRevision = 0 // as the table has it
	}
	if _, err := insert.ExecContext(ctx, kv.ModRevision, string(kv.Key), created, createRevision, lease,
		kv.Value); err != nil {
		return fmt.Errorf("copy %s: %w", kv.Key, err)
	}
	c.newest = max(c.newest, kv.ModRevision)
	return nil
}

// lease returns a lease as a file has it: the seconds after which its keys go.
func (c *copying) lease(ctx context.Context, id int64) (seconds int64, err error) {
	if id == 0 || c.store.cluster == nil {
		return id, nil
	}
	seconds, known := c.leases[id]
	if !known {
		if seconds, err = c.store.cluster.Granted(ctx, id); err != nil {
			return 0, err
		}
		seconds = max(seconds, 1) // it has just ended
		c.leases[id] = seconds
	}
	return seconds, nil
}

// end writes what is not a key: who the data is, its eras, and that nothing before the revision of
// the copy is known. The row that says so has that revision if no key has it, so that the next
// write has a later one.
func (c *copying) end(ctx context.Context) error {
	id := c.revision
	if c.newest == id {
		id = 0
	}
	if _, err := c.tx.ExecContext(ctx, `INSERT INTO kine
		(id, name, created, deleted, create_revision, prev_revision, lease, value)
		VALUES (?, ?, 1, 0, 0, ?, 0, '')`, id, compactionKey, c.revision); err != nil {
		return err
	}
	incarnation := c.store.incarnation
	if _, err := c.tx.ExecContext(ctx, `INSERT INTO skerry (name, value) VALUES ('incarnation', ?)`,
		incarnation[:]); err != nil {
		return err
	}
	eras, err := c.store.shared.Eras(ctx)
	if err != nil {
		return fmt.Errorf("read the eras: %w", err)
	}
	for _, era := range eras {
		if _, err := c.tx.ExecContext(ctx, `INSERT INTO skerry_era (era, revision) VALUES (?, ?)`,
			int64(era.Era), era.From); err != nil {
			return err
		}
	}
	return nil
}
