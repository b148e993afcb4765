package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	_ "github.com/k3s-io/kine/pkg/drivers/memory"
	_ "github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	_ "modernc.org/sqlite" // the driver of makeOldTable, and kine's

	"skerry.dev/skerry/testenv/wec/inorder"
)

// listenStore opens the store and serves it as etcd on the socket, as kine's package endpoint does. That one has
// kine's drivers for other databases with it, which take a minute to compile. The values are kine's own defaults,
// which its command sets but its library does not.
func listenStore(ctx context.Context, cfg *serverConfig) error {
	if path, ok := strings.CutPrefix(cfg.Store, "sqlite://"); ok {
		path, _, _ = strings.Cut(path, "?")
		if err := makeOldTable(ctx, path); err != nil {
			return fmt.Errorf("prepare %s: %w", path, err)
		}
	}
	inOrder()
	// The store outlives the calls that are under way when it is to end.
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	_, backend, err := drivers.New(open, &sync.WaitGroup{}, &drivers.Config{
		Endpoint:         cfg.Store,
		CompactInterval:  5 * time.Minute,
		CompactTimeout:   5 * time.Second,
		CompactMinRetain: 1000,
		CompactBatchSize: 1000,
		PollBatchSize:    500,
		ConnectionPoolConfig: generic.ConnectionPoolConfig{
			MaxIdle: 2,
			MaxOpen: 5,
		},
	})
	if err == nil {
		err = backend.Start(open)
	}
	if err != nil {
		shut()
		return err
	}
	if err := os.Remove(cfg.StoreSocket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		shut()
		return err
	}
	socket, err := (&net.ListenConfig{}).Listen(ctx, "unix", cfg.StoreSocket)
	if err != nil {
		shut()
		return err
	}
	if err := os.Chmod(cfg.StoreSocket, 0o600); err != nil {
		shut()
		return err
	}
	serve := grpc.NewServer(
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 2 * time.Hour, Timeout: 20 * time.Second}),
		grpc.MaxConcurrentStreams(math.MaxUint32),
		grpc.MaxRecvMsgSize(2<<20),
		grpc.MaxSendMsgSize(math.MaxInt32),
	)
	server.New(backend, "unix", 5*time.Second, "3.5.13").Register(serve)
	go func() {
		<-ctx.Done()
		late := time.AfterFunc(2*time.Second, serve.Stop)
		defer late.Stop()
		serve.GracefulStop()
		shut()
	}()
	go func() {
		if err := serve.Serve(socket); err != nil {
			slog.Error("the store is served no more", "err", err)
		}
	}()
	return nil
}

// inOrder has kine's backend in memory told by watches that can be trusted. That
// in a file repeats no events, and after a restart kwok takes its nodes over
// half a minute later with it.
func inOrder() {
	if driver, ok := drivers.Get("memory"); ok {
		drivers.Register("memory", inorder.Wrap(driver))
	}
}

// makeOldTable makes the table that a kine of long ago had, with one row that
// moves no data. kine counts the rows of that table and of its own, and where
// the old one is missing or empty it never reads the second answer
// (generic.Migrate): the statement stays open, and SQLite's log can never be
// copied into the file again, so that it grows without bound.
func makeOldTable(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS key_value (id INTEGER, name TEXT, value BLOB, ttl INTEGER)",
		"INSERT INTO key_value SELECT NULL, NULL, NULL, 0 WHERE NOT EXISTS (SELECT * FROM key_value)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
