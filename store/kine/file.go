package kine

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/logstructured"
	"github.com/k3s-io/kine/pkg/logstructured/sqllog"
	"github.com/k3s-io/kine/pkg/server"
	driver "modernc.org/sqlite"

	"skerry.dev/skerry/store"
)

// kineParams must be given as a whole: kine replaces its defaults by whatever is there.
const kineParams = "_journal_mode=WAL&_busy_timeout=30000&_synchronous=FULL&_txlock=immediate" +
	"&_kine_disable_startup_vacuum=1" // free pages are used again; a start must not take longer as the data grows

// params are those of the connections that are used. Without the busy timeout the first contention is an error. synchronous=FULL is what makes an
// acknowledged write survive a power cut. What is written otherwise than by groups, by a compaction, checkpoints the log itself.
var params = "_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)&_txlock=immediate" +
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
	backend     *fileBackend
	log         *groupLog
	dialect     *groupDialect
	marks       watermarks
	closing     sync.Once
}

// openFile opens the database in c.Dir and runs kine on it, with its own log in place of kine's. The goroutines end with run, and drivers counts
// them.
func openFile(ctx, run context.Context, drivers *sync.WaitGroup, c Config) (f *file, err error) {
	path := filepath.Join(c.Dir, FileName)
	f = &file{}
	if f.incarnation, f.eras, err = prepare(ctx, path); err != nil {
		return nil, err
	}
	dialect, err := openDialect(run, drivers, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := leanOut(ctx, dialect.DB); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", path, err)
	}
	config := driverConfig(c.CompactInterval)
	turn := make(chan struct{}, 1)
	checkpoints := newCheckpointer(dialect.DB, turn, c.Log)
	f.dialect = &groupDialect{Generic: dialect, checkpoints: checkpoints}
	f.log = &groupLog{
		// Compacts when it is told to, because its interval is 0.
		SQLLog: sqllog.New(f.dialect, 0, 0, config.CompactTimeout, config.CompactMinRetain, config.CompactBatchSize, config.PollBatchSize),
		note:   f.marks.note, feed: newFeed(c.Progress), turn: turn,
	}
	f.backend = &fileBackend{ofOneRevision{logstructured.New(f.log), f.log.CurrentRevision}, f.log}
	err = f.backend.Start(run)
	var newest int64
	if err == nil { // the log knows it from now on, and never has to ask the database, which knows of a write before watches do
		newest, err = f.log.CurrentRevision(ctx)
		f.log.feed.reached(newest)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("start store on %s: %w", path, err)
	}
	drivers.Go(func() { checkpoints.run(run) })
	drivers.Go(func() { f.log.compact(run, c.CompactInterval, newest) })
	return f, nil
}

// openDialect has kine make its tables, and opens connections in place of kine's, which are closed with run.
func openDialect(run context.Context, drivers *sync.WaitGroup, path string) (*generic.Generic, error) {
	config := driverConfig(0)
	config.DataSourceName = path + "?" + kineParams
	_, dialect, err := sqlite.NewVariant(run, drivers, "sqlite3", config)
	if err != nil {
		return nil, err
	}
	if err := dialect.DB.Close(); err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(path + "?" + params)
	if err != nil {
		return nil, err
	}
	dialect.DB = sql.OpenDB(keepingConnector{connector})
	bound(dialect.DB, maxConnections, idleConnections)
	drivers.Go(func() {
		<-run.Done()
		dialect.DB.Close() // there is nobody left to tell
	})
	return dialect, nil
}

// rest closes the connections that nobody uses but one.
func (f *file) rest() {
	f.dialect.DB.SetMaxIdleConns(1)
	f.dialect.DB.SetMaxIdleConns(idleConnections)
}

// close ends writing: the turn is taken and not given back.
func (f *file) close() {
	if f == nil {
		return
	}
	f.closing.Do(func() {
		f.log.turn <- struct{}{}
		f.dialect.close()
	})
}

// fileBackend is kine's backend of a file. kine takes every write that fails for a conflict, and every read that breaks off for a whole one; here a failure
// is one.
type fileBackend struct {
	server.Backend
	log *groupLog
}

func (b *fileBackend) Update(ctx context.Context, key string, value []byte, old, lease int64) (int64, *server.KeyValue, bool, error) {
	ctx, failed := withFailure(ctx)
	revision, kv, written, err := b.Backend.Update(ctx, key, value, old, lease)
	if failed.err != nil {
		return 0, nil, false, failed.err
	}
	return revision, kv, written, err
}

func (b *fileBackend) Delete(ctx context.Context, key string, old int64) (int64, *server.KeyValue, bool, error) {
	ctx, failed := withFailure(ctx)
	revision, kv, deleted, err := b.Backend.Delete(ctx, key, old)
	if failed.err != nil {
		return 0, nil, false, failed.err
	}
	return revision, kv, deleted, err
}

func (b *fileBackend) List(ctx context.Context, key, end string, limit, revision int64, keysOnly bool) (int64, []*server.KeyValue, error) {
	ctx, failed := withFailure(ctx)
	at, found, err := b.Backend.List(ctx, key, end, limit, revision, keysOnly)
	if failed.err != nil {
		return 0, nil, failed.err
	}
	return at, found, err
}

func (b *fileBackend) Get(ctx context.Context, key string, revision int64, keysOnly bool) (int64, *server.KeyValue, error) {
	ctx, failed := withFailure(ctx)
	at, found, err := b.Backend.Get(ctx, key, revision, keysOnly)
	if failed.err != nil {
		return 0, nil, failed.err
	}
	return at, found, err
}

// failure is why a write is not known to be done, other than that it was refused, or why a read broke off.
type failure struct{ err error }

type failureKey struct{}

func withFailure(ctx context.Context) (context.Context, *failure) {
	f := &failure{}
	return context.WithValue(ctx, failureKey{}, f), f
}

// told returns an error of a request, and notes it where the context's caller asked for it.
func told(ctx context.Context, err error) error {
	if f, ok := ctx.Value(failureKey{}).(*failure); ok && err != nil && err != server.ErrKeyExists {
		f.err = err
	}
	return err
}
