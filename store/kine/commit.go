package kine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/metrics"
	"github.com/k3s-io/kine/pkg/query"
	"github.com/k3s-io/kine/pkg/server"
)

// insertSQL appends a row if the key is what it was when the writer looked: nothing newer of that name is there, and, unless it creates, neither is
// what it replaces compacted. A write that is refused so is no error of its transaction, and takes no revision. What fails otherwise ends the
// transaction, so SQLite need not be able to undo this statement alone.
const insertSQL = `
	INSERT OR ROLLBACK INTO kine (name, created, deleted, create_revision, prev_revision, lease, value, old_value)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT value FROM kine WHERE id = ?5)
	WHERE NOT EXISTS (SELECT 1 FROM kine WHERE name = ?1 AND id > ?5) AND (?2 OR EXISTS (SELECT 1 FROM kine WHERE id = ?5))
	RETURNING id, old_value`

// groupDialect is kine's SQLite, to which a group is one insert.
type groupDialect struct {
	*generic.Generic
	// The connection on which groups are committed has its statements and its pages at hand. It is used by who has groupLog's turn.
	conn                            *sql.Conn
	begin, insert, commit, rollback *sql.Stmt
	// commits counts the transactions of groups that were made durable.
	commits     atomic.Int64
	checkpoints *checkpointer
}

// Insert commits a group, where the context has one, and returns its newest revision.
func (d *groupDialect) Insert(ctx context.Context, key string, create, delete bool, createRevision, previousRevision, ttl int64, value []byte) (int64, error) {
	c, ok := ctx.Value(inGroup{}).(*committing)
	if !ok {
		return d.Generic.Insert(ctx, key, create, delete, createRevision, previousRevision, ttl, value)
	}
	d.commitGroup(c)
	c.tell()
	return c.newest()
}

// commitGroup writes all that waits in one transaction, as soon as the database is ours.
func (d *groupDialect) commitGroup(c *committing) {
	began := time.Now()
	err := d.open()
	if err == nil {
		err = d.exec(d.begin)
	}
	c.writes = c.take() // only now: who comes or goes while another has the database is welcome
	if err != nil {
		d.close() // whatever state it is in
		refuse(c.writes, fmt.Errorf("begin a transaction: %w", err))
		return
	}
	err = d.finish(c.writes)
	if err != nil && len(c.writes) > 1 {
		d.oneByOne(c.writes)
	}
	metrics.ObserveSQL(began, d.ErrCode(err), 0, (&query.Named{Name: "Commit", Query: fmt.Sprintf("a transaction of %d writes", len(c.writes))}).Fill(nil))
}

// oneByOne gives each write of a group that failed a transaction of its own: what one of them cannot do is not held against the others.
func (d *groupDialect) oneByOne(writes []*write) {
	for i := range writes {
		if err := d.exec(d.begin); err != nil {
			refuse(writes[i:], fmt.Errorf("begin a transaction: %w", err))
			return
		}
		_ = d.finish(writes[i : i+1]) // the write has the error
	}
}

// finish ends a transaction that has begun: all writes are durable or refused, or it returns why none of them is done.
func (d *groupDialect) finish(writes []*write) error {
	for _, w := range writes {
		if err := d.append(w); err != nil {
			d.exec(d.rollback) // fails where SQLite has done so by itself
			refuse(writes, fmt.Errorf("write %s: %w", w.event.KV.Key, err))
			return err
		}
	}
	if err := d.exec(d.commit); err != nil {
		d.exec(d.rollback)
		refuse(writes, fmt.Errorf("make a write durable: %w", err))
		for _, w := range writes {
			w.unsure = true
		}
		return err
	}
	d.commits.Add(1)
	bytes := 0
	for _, w := range writes {
		bytes += w.size() + len(w.old)
	}
	d.checkpoints.committed(bytes)
	return nil
}

// append writes one into the transaction. An error is one of the transaction; that the write is refused stands in it.
func (d *groupDialect) append(w *write) error {
	w.revision = 0
	if w.err = w.ctx.Err(); w.err != nil {
		return nil
	}
	e := w.event
	err := d.insert.QueryRowContext(context.Background(), e.KV.Key, e.Create, e.Delete, e.KV.CreateRevision, w.previous(), e.KV.Lease, e.KV.Value).Scan(&w.revision, &w.old)
	if errors.Is(err, sql.ErrNoRows) {
		w.err, err = server.ErrKeyExists, nil
	}
	return err
}

// refuse says of writes that they are not done.
func refuse(writes []*write, err error) {
	for _, w := range writes {
		w.revision, w.err = 0, err
	}
}

func (d *groupDialect) exec(s *sql.Stmt) error {
	_, err := s.ExecContext(context.Background())
	return err
}

// open makes the connection ready, unless it is.
func (d *groupDialect) open() (err error) {
	if d.conn != nil {
		return nil
	}
	if d.conn, err = d.DB.Conn(context.Background()); err != nil {
		return err
	}
	// The checkpointer does it, beside the writers.
	if _, err := d.conn.ExecContext(context.Background(), `PRAGMA wal_autocheckpoint = 0`); err != nil {
		return errors.Join(err, d.close())
	}
	for text, s := range map[string]**sql.Stmt{`BEGIN IMMEDIATE`: &d.begin, insertSQL: &d.insert, `COMMIT`: &d.commit, `ROLLBACK`: &d.rollback} {
		if *s, err = d.conn.PrepareContext(context.Background(), text); err != nil {
			return errors.Join(err, d.close())
		}
	}
	return nil
}

// close gives the connection up.
func (d *groupDialect) close() error {
	if d.conn == nil {
		return nil
	}
	var errs []error
	for _, s := range []**sql.Stmt{&d.begin, &d.insert, &d.commit, &d.rollback} {
		if *s != nil {
			errs = append(errs, (*s).Close())
			*s = nil
		}
	}
	_ = d.conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it, with whatever transaction there is
	d.conn = nil
	return errors.Join(errs...)
}
