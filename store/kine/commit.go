package kine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/k3s-io/kine/pkg/metrics"
	"github.com/k3s-io/kine/pkg/query"
	"github.com/k3s-io/kine/pkg/server"
)

// insertSQL appends a row if the key is what it was when its writer looked: the key has no newer
// row, and, unless the write creates, the row that it replaces was not compacted. A write that is
// refused so is no error of its transaction, and takes no revision. What fails otherwise ends the
// transaction, so SQLite need not be able to undo this statement alone.
const insertSQL = `
	INSERT OR ROLLBACK INTO kine
		(name, created, deleted, create_revision, prev_revision, lease, value, old_value)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT value FROM kine WHERE id = ?5)
	WHERE NOT EXISTS (SELECT 1 FROM kine WHERE name = ?1 AND id > ?5)
		AND (?2 OR EXISTS (SELECT 1 FROM kine WHERE id = ?5))
	RETURNING id, old_value`

// transactions commits groups of writes on a connection of its own, which has its statements and
// its pages at hand. It is used by who has the turn of groupCommit.
type transactions struct {
	db                           *sql.DB
	checkpoints                  *checkpointer
	conn                         *sql.Conn
	begin, insert, end, rollback *sql.Stmt
	// durable counts the transactions that were committed.
	durable atomic.Int64
}

// beginTransaction waits until the database is ours.
func (t *transactions) beginTransaction() error {
	err := t.open()
	if err == nil {
		err = t.exec(t.begin)
	}
	if err != nil {
		t.close() // whatever state it is in
		return fmt.Errorf("begin a transaction: %w", err)
	}
	return nil
}

// commit commits a group in the transaction that has begun with began, and gives each write its
// outcome. A group that fails as a whole is written one by one: what one write cannot do is not
// held against the others.
func (t *transactions) commit(group []*write, began error) {
	if began != nil {
		refuse(group, began)
		return
	}
	start := time.Now()
	err := t.finish(group)
	if err != nil && len(group) > 1 {
		t.oneByOne(group)
	}
	q := &query.Named{Name: "Commit", Query: fmt.Sprintf("a transaction of %d writes", len(group))}
	metrics.ObserveSQL(start, errorCode(err), 0, q.Fill(nil)) // which logs slow ones
}

// oneByOne gives each write of a group that failed a transaction of its own.
func (t *transactions) oneByOne(writes []*write) {
	for i := range writes {
		if err := t.beginTransaction(); err != nil {
			refuse(writes[i:], err)
			return
		}
		_ = t.finish(writes[i : i+1]) // the write has the error
	}
}

// finish ends a transaction that has begun: all writes are durable or refused, or it returns why
// none of them is done.
func (t *transactions) finish(writes []*write) error {
	for _, w := range writes {
		if err := t.append(w); err != nil {
			t.exec(t.rollback) // fails where SQLite has done so by itself
			refuse(writes, fmt.Errorf("write %s: %w", w.event.KV.Key, err))
			return err
		}
	}
	if err := t.exec(t.end); err != nil {
		t.exec(t.rollback)
		refuse(writes, fmt.Errorf("make a write durable: %w", err))
		for _, w := range writes {
			w.unsure = true
		}
		return err
	}
	t.durable.Add(1)
	bytes := 0
	for _, w := range writes {
		bytes += w.size() + len(w.old)
	}
	t.checkpoints.committed(bytes)
	return nil
}

// append writes one into the transaction. An error is one of the transaction; that the write is
// refused stands in it.
func (t *transactions) append(w *write) error {
	w.revision = 0
	if w.err = w.ctx.Err(); w.err != nil {
		return nil
	}
	e := w.event
	err := t.insert.QueryRowContext(context.Background(), e.KV.Key, e.Create, e.Delete,
		e.KV.CreateRevision, e.PrevKV.ModRevision, e.KV.Lease, e.KV.Value).Scan(&w.revision, &w.old)
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

func (t *transactions) exec(s *sql.Stmt) error {
	_, err := s.ExecContext(context.Background())
	return err
}

// open makes the connection ready, unless it is.
func (t *transactions) open() (err error) {
	if t.conn != nil {
		return nil
	}
	if t.conn, err = t.db.Conn(context.Background()); err != nil {
		return err
	}
	// The checkpointer does it, beside the writers.
	if _, err := t.conn.ExecContext(context.Background(),
		`PRAGMA wal_autocheckpoint = 0`); err != nil {
		return errors.Join(err, t.close())
	}
	for text, s := range map[string]**sql.Stmt{
		`BEGIN IMMEDIATE`: &t.begin, insertSQL: &t.insert, `COMMIT`: &t.end,
		`ROLLBACK`: &t.rollback} {
		if *s, err = t.conn.PrepareContext(context.Background(), text); err != nil {
			return errors.Join(err, t.close())
		}
	}
	return nil
}

// close gives the connection up.
func (t *transactions) close() error {
	if t.conn == nil {
		return nil
	}
	var errs []error
	for _, s := range []**sql.Stmt{&t.begin, &t.insert, &t.end, &t.rollback} {
		if *s != nil {
			errs = append(errs, (*s).Close())
			*s = nil
		}
	}
	// closes it, with whatever transaction there is
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	t.conn = nil
	return errors.Join(errs...)
}
