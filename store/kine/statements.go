package kine

import (
	"context"
	"database/sql/driver"
	"slices"
)

// maxKept is how many statements a connection keeps: kine has some thirty, and lists differ by
// their limits.
const maxKept = 32

// keepingConnector opens connections that keep the statements they have compiled. It buys a third
// of the processor time of a write: kine gives each statement as a text, and SQLite takes longer to
// compile the most frequent ones than to run them. Without it, openTable uses the bare connector.
type keepingConnector struct{ driver.Connector }

func (c keepingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &keepingConn{fullConn: conn.(fullConn), kept: map[string]driver.Stmt{}}, nil
}

// fullConn is what a connection of SQLite can do, and database/sql asks for.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keepingConn is used by one goroutine at a time, as all connections are.
type keepingConn struct {
	fullConn
	kept  map[string]driver.Stmt // by text; those that run are not among them
	order []string               // the texts of kept, the one used last at the end
}

func (c *keepingConn) QueryContext(ctx context.Context, text string,
	args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		s.Close()
		return nil, err
	}
	return &keptRows{Rows: rows, conn: c, text: text, s: s}, nil
}

func (c *keepingConn) ExecContext(ctx context.Context, text string,
	args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		s.Close()
		return nil, err
	}
	return result, c.keep(text, s)
}

// take returns a compiled statement that nobody uses.
func (c *keepingConn) take(ctx context.Context, text string) (driver.Stmt, error) {
	s, ok := c.kept[text]
	if !ok {
		return c.PrepareContext(ctx, text)
	}
	c.forget(text)
	return s, nil
}

func (c *keepingConn) forget(text string) {
	delete(c.kept, text)
	i := slices.Index(c.order, text)
	c.order = slices.Delete(c.order, i, i+1)
}

// keep takes a statement back, in place of the one that was not used for the longest time.
func (c *keepingConn) keep(text string, s driver.Stmt) error {
	if _, twice := c.kept[text]; twice { // it ran in itself
		return s.Close()
	}
	c.kept[text], c.order = s, append(c.order, text)
	if len(c.order) <= maxKept {
		return nil
	}
	oldest := c.kept[c.order[0]]
	c.forget(c.order[0])
	return oldest.Close()
}

func (c *keepingConn) Close() error {
	for _, s := range c.kept {
		s.Close() // fails as its last run did
	}
	clear(c.kept)
	return c.fullConn.Close()
}

// keptRows give their statement back when they have been read.
type keptRows struct {
	driver.Rows
	conn *keepingConn
	text string
	s    driver.Stmt // nil when it was given back
}

func (r *keptRows) Close() error {
	if r.s == nil {
		return nil
	}
	s := r.s
	r.s = nil
	if err := r.Rows.Close(); err != nil {
		s.Close()
		return err
	}
	return r.conn.keep(r.text, s)
}
