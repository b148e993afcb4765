package kine

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers/generic"
	driver "modernc.org/sqlite"

	"skerry.dev/skerry/store"
)

// params are those of the connections to a file. Without the busy timeout the first contention is
// an error. synchronous=FULL makes an acknowledged write survive a power cut. A compaction, which
// is no group, checkpoints the log by itself.
var params = "_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)" +
	"&_pragma=synchronous(FULL)&_txlock=immediate" +
	fmt.Sprintf("&_pragma=wal_autocheckpoint(%d)", checkpointPages)

// A connection has files, statements and a cache of its own. Nobody who has one waits for another.
const (
	maxConnections     = 32          // bounds what many requests at once cost
	idleConnections    = 16          // those are at hand when many come at once again
	connectionIdleTime = time.Minute // then it is closed
)

// file is a database of which this process is the only writer.
type file struct {
	incarnation store.Incarnation
	eras        store.Eras
	backend     *backend
	table       *table
	group       *groupCommit
	marks       watermarks
	closing     sync.Once
}

// openFile opens the database in c.Dir. The goroutines end with run, and running counts them.
func openFile(ctx, run context.Context, running *sync.WaitGroup, c Config) (f *file, err error) {
	path := filepath.Join(c.Dir, FileName)
	f = &file{}
	if err := awaitUnlocked(ctx, c.Dir, lockLooks, lockPause); err != nil {
		return nil, err
	}
	if f.incarnation, f.eras, err = prepare(ctx, path); err != nil {
		return nil, err
	}
	if f.table, err = openTable(run, running, path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	turn := make(chan struct{}, 1)
	checkpoints := newCheckpointer(f.table.DB, turn, c.Log)
	f.group = &groupCommit{
		file:  &transactions{db: f.table.DB, checkpoints: checkpoints},
		marks: &f.marks, feed: newFeed(c.Progress), turn: turn,
	}
	f.backend = &backend{table: f.table, committer: f.group, feed: f.group.feed, log: c.Log}
	var newest int64
	if err = f.backend.Start(ctx); err == nil {
		newest, err = f.table.newest(ctx)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("start store on %s: %w", path, err)
	}
	f.group.feed.reached(newest)
	running.Go(func() { checkpoints.run(run) })
	running.Go(func() { f.backend.compact(run, c.CompactInterval, newest) })
	running.Go(func() { f.backend.expire(run) })
	return f, nil
}

// openTable opens the connections to a file that is prepared. They are closed with run.
func openTable(run context.Context, running *sync.WaitGroup, path string) (*table, error) {
	connector, err := driver.NewConnector(path + "?" + params)
	if err != nil {
		return nil, err
	}
	pool := generic.ConnectionPoolConfig{
		MaxOpen: maxConnections, MaxIdle: idleConnections, MaxIdleTime: connectionIdleTime}
	d, err := generic.OpenDB(run, running, "sqlite", keepingConnector{connector}, pool, "?", false,
		nil)
	if err != nil {
		return nil, err
	}
	return &table{Generic: complete(d, "?", false, `
		SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`)}, nil
}

// rest closes the connections that nobody uses but one.
func (f *file) rest() {
	f.table.DB.SetMaxIdleConns(1)
	f.table.DB.SetMaxIdleConns(idleConnections)
}

// commits returns how many transactions were made durable.
func (f *file) commits() int64 { return f.group.file.durable.Load() }

// close ends writing: the turn is taken and not given back.
func (f *file) close() {
	if f == nil {
		return
	}
	f.closing.Do(func() {
		f.group.turn <- struct{}{}
		f.group.file.close()
	})
}
