package kine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	sqlite "modernc.org/sqlite"

	"skerry.dev/skerry/store/storetest"
)

// breaking opens connections whose reads break off after some rows.
type breaking struct {
	driver.Connector
	after *atomic.Int64 // this many rows; 0 is never
}

func (b breaking) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &breakingConn{conn.(fullConn), b.after}, nil
}

type breakingConn struct {
	fullConn
	after *atomic.Int64
}

func (c *breakingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.fullConn.PrepareContext(ctx, text)
	return &breakingStmt{s, c.after}, err
}

type breakingStmt struct {
	driver.Stmt
	after *atomic.Int64
}

func (s *breakingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result,
	error) {
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s *breakingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows,
	error) {
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	return &breakingRows{rows, s.after.Load()}, err
}

type breakingRows struct {
	driver.Rows
	left int64
}

var errBroken = errors.New("disk I/O error")

func (r *breakingRows) Next(values []driver.Value) error {
	if r.left--; r.left == 0 {
		return errBroken
	}
	return r.Rows.Next(values)
}

// A read that the disk breaks off is an error, and not a list that ends there, or a watch to which
// the rest did not happen.
func TestAReadThatBreaksOffIsAnError(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	for i := range 20 {
		create(t, s, fmt.Sprintf("/registry/t/%02d", i), "x")
	}
	connector, err := sqlite.NewConnector(filepath.Join(dir, FileName) + "?" + params)
	if err != nil {
		t.Fatal(err)
	}
	var after atomic.Int64
	whole := s.file.table.DB
	s.file.table.DB = sql.OpenDB(keepingConnector{breaking{connector, &after}})
	defer whole.Close()
	after.Store(10)
	if list, err := s.Client().List(t.Context(), "/registry/t/",
		kubernetes.ListOptions{}); err == nil {
		t.Errorf("a list has %d of 20 and no error", len(list.Kvs))
	}
	if list, err := s.Client().List(t.Context(), "/registry/t/",
		kubernetes.ListOptions{Limit: 15}); err == nil {
		t.Errorf("a page has %d of 15 and no error", len(list.Kvs))
	}
	for told := range s.Client().Watch(t.Context(), "/registry/t/", clientv3.WithPrefix(),
		clientv3.WithRev(1)) {
		if len(told.Events) > 0 {
			t.Errorf("a watch is told of %d of 20", len(told.Events))
			break
		}
	}
	after.Store(0)
	if list, err := s.Client().List(t.Context(), "/registry/t/",
		kubernetes.ListOptions{}); err != nil || len(list.Kvs) != 20 {
		t.Errorf("afterwards a list has %v", err)
	}
}

// The same where connections to the database break.
func TestABrokenConnectionIsAnErrorOnPostgres(t *testing.T) {
	s := openShared(t, storetest.StartPostgres(t))
	defer s.Close()
	const n = 1000
	value := string(make([]byte, 4<<10))
	for i := range n {
		create(t, s, fmt.Sprintf("/registry/t/%04d", i), value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			_, _ = database(s).db.ExecContext(ctx,
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active'
					AND pid != pg_backend_pid()`)
			time.Sleep(3 * time.Millisecond)
		}
	}()
	whole, broken := 0, 0
	for ctx.Err() == nil {
		list, err := s.Client().List(ctx, "/registry/t/", kubernetes.ListOptions{})
		switch {
		case err != nil:
			broken++
		case len(list.Kvs) != n:
			t.Errorf("a list has %d of %d", len(list.Kvs), n)
		default:
			whole++
		}
		if _, past, err := s.backend.past(ctx, "/registry/t/", "/registry/t0", 1); err != nil {
			broken++
		} else if len(past) != n {
			t.Errorf("a watch from the beginning has %d of %d", len(past), n)
		} else {
			whole++
		}
	}
	if t.Logf("%d were whole, %d broke", whole, broken); broken == 0 {
		t.Error("that tries nothing")
	}
}
