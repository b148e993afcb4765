package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/endpoint"
	_ "modernc.org/sqlite" // the driver of makeOldTable, and kine's

	"skerry.dev/skerry/testenv/wec/inorder"
)

// listenStore opens the store and serves it as etcd on the socket. The values
// are kine's own defaults, which its command sets but its library does not.
func listenStore(ctx context.Context, cfg *serverConfig) error {
	if path, ok := strings.CutPrefix(cfg.Store, "sqlite://"); ok {
		path, _, _ = strings.Cut(path, "?")
		if err := makeOldTable(ctx, path); err != nil {
			return fmt.Errorf("prepare %s: %w", path, err)
		}
	}
	inOrder()
	_, err := endpoint.Listen(ctx, endpoint.Config{
		Listener:            "unix://" + cfg.StoreSocket,
		Endpoint:            cfg.Store,
		NotifyInterval:      5 * time.Second,
		CompactInterval:     5 * time.Minute,
		CompactTimeout:      5 * time.Second,
		CompactMinRetain:    1000,
		CompactBatchSize:    1000,
		PollBatchSize:       500,
		EmulatedETCDVersion: "3.5.13",
		ConnectionPoolConfig: generic.ConnectionPoolConfig{
			MaxIdle: 2,
			MaxOpen: 5,
		},
	})
	return err
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
