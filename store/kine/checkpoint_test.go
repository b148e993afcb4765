package kine

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/k3s-io/kine/pkg/server"
)

// logged is a database that groups are committed to, and a log that nobody checkpoints unless the
// test does.
type logged struct {
	*testing.T
	file    *transactions
	dir     string
	written int
}

func openLogged(t *testing.T) *logged {
	dir := t.TempDir()
	run, cancel := context.WithCancel(context.Background())
	var drivers sync.WaitGroup
	if _, _, err := prepare(t.Context(), filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	table, err := openTable(run, &drivers, filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	checkpoints := newCheckpointer(table.DB, make(chan struct{}, 1), slog.New(slog.DiscardHandler))
	l := &logged{T: t, file: &transactions{db: table.DB, checkpoints: checkpoints}, dir: dir}
	t.Cleanup(func() {
		checkpoints.close()
		l.file.close()
		cancel()
		drivers.Wait()
	})
	return l
}

// write commits one object a transaction, until the log has so many pages more or has begun anew.
func (l *logged) write(pages int) {
	l.Helper()
	before := l.state()
	for last, now := before, before; now.pages >= last.pages &&
		now.pages < before.pages+pages; last, now = now, l.state() {
		l.written++
		w := &write{ctx: l.Context(), event: &server.Event{Create: true, PrevKV: &server.KeyValue{},
			KV: &server.KeyValue{Key: fmt.Sprintf("/registry/%d", l.written),
				Value: make([]byte, 16<<10)}}}
		l.file.commit([]*write{w}, l.file.beginTransaction())
		if w.err != nil {
			l.Fatal(w.err)
		}
	}
}

func (l *logged) state() logState {
	l.Helper()
	s, err := l.file.checkpoints.checkpoint(l.Context(), "NOOP")
	if err != nil {
		l.Fatal(err)
	}
	return s
}

func (l *logged) look() {
	l.Helper()
	if err := l.file.checkpoints.look(l.Context()); err != nil {
		l.Fatal(err)
	}
}

// reader begins to read the database as it is now.
func (l *logged) reader() (done func()) {
	l.Helper()
	db, err := openSQL(filepath.Join(l.dir, FileName))
	if err != nil {
		l.Fatal(err)
	}
	conn, err := db.Conn(l.Context())
	if err == nil {
		_, err = conn.ExecContext(l.Context(), `BEGIN`)
	}
	var n int
	if err == nil {
		err = conn.QueryRowContext(l.Context(), `SELECT COUNT(*) FROM kine`).Scan(&n)
	}
	if err != nil {
		l.Fatal(err)
	}
	done = sync.OnceFunc(func() { conn.Close(); db.Close() })
	l.Cleanup(done)
	return done
}

// No commit checkpoints, however large the log is. The checkpointer does, and with the next commit
// the log begins anew.
func TestNoCommitCheckpoints(t *testing.T) {
	l := openLogged(t)
	l.write(checkpointPages / 2)
	l.look()
	l.write(checkpointPages)
	if s := l.state(); s.copied != 0 {
		t.Fatalf("%d of %d pages were copied into the file by commits, or too early", s.copied,
			s.pages)
	}
	l.look()
	if s := l.state(); s.left() != 0 || l.file.checkpoints.restarts.Load() != 1 {
		t.Errorf("%d pages are not copied, the log began anew %d times", s.left(),
			l.file.checkpoints.restarts.Load())
	}
	l.write(1)
	if s := l.state(); s.pages > remainingPages {
		t.Errorf("the log has %d pages and did not begin anew", s.pages)
	}
}

// Who reads for long is not waited for again and again, and the log is as small as before when he
// is done.
func TestLogThatIsRead(t *testing.T) {
	l := openLogged(t)
	c := l.file.checkpoints
	l.write(10)
	done := l.reader()
	for range 6 {
		l.write(checkpointPages / 2)
		for range 5 {
			l.look()
		}
	}
	if c.restarts.Load() != 0 {
		t.Fatal("the log began anew although somebody reads it")
	}
	if c.next < 2*checkpointPages {
		t.Errorf("from %d pages on it is tried again, as if nobody were in the way", c.next)
	}
	done()
	l.write(3 * c.next)
	l.look()
	l.write(1)
	if size := sizeOf(l.dir, FileName+"-wal"); c.restarts.Load() != 1 || size > 2<<20 {
		t.Errorf("nobody reads any more: the log began anew %d times and has %d bytes",
			c.restarts.Load(), size)
	}
}

// Readers of whom there is always one do not keep the log from beginning anew, as long as each of
// them ends.
func TestLogThatManyRead(t *testing.T) {
	l := openLogged(t)
	c := l.file.checkpoints
	stop := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(stop)
	db, err := openSQL(filepath.Join(l.dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				if err := tx.QueryRow(`SELECT COUNT(*) FROM kine`).Scan(&n); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Millisecond) // reading takes some time
				tx.Rollback()
			}
		})
	}
	for range 8 {
		l.write(checkpointPages)
		until(t, "the log begins anew", func() bool {
			before := c.restarts.Load()
			c.next = 1
			l.look()
			return c.restarts.Load() > before
		})
	}
}

// A checkpoint that fails is tried again.
func TestCheckpointThatFails(t *testing.T) {
	l := openLogged(t)
	c := l.file.checkpoints
	l.write(checkpointPages)
	c.conn.Close() // and the checkpointer does not know
	select {
	case <-c.wake: // by the commits
	default:
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.run(ctx) }()
	defer func() { cancel(); <-ended }()
	c.wake <- struct{}{}
	until(t, "the first try is over", func() bool { return len(c.wake) == 0 })
	c.wake <- struct{}{}
	until(t, "the log begins anew", func() bool { return c.restarts.Load() > 0 })
}
