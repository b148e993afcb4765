package kine

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// TestFigures measures the store and prints one JSON line a figure; `make bench FIGURE=store` runs
// it. SKERRY_STORE is how many writes the sizes are taken after.
func TestFigures(t *testing.T) {
	writes, _ := strconv.Atoi(os.Getenv("SKERRY_STORE"))
	if writes == 0 {
		t.Skip("a measurement: make bench FIGURE=store")
	}
	for _, clients := range []int{1, 16, 64} {
		const n = 2000
		floor := perSecond(n, clients, plainWriter(t))
		s := open(t, t.TempDir())
		ours := perSecond(n, clients, storeWriter(t, s))
		s.Close()
		tell(t, fmt.Sprintf("store-writes-%d-clients", clients), ours, "writes/s", floor, n,
			"acknowledged durable; floor: one INSERT of 1 KiB a transaction, plain SQLite, WAL, "+
				"synchronous=FULL")
	}
	sizes(t, writes)
	startUp(t, 20_000)
}

func tell(t *testing.T, figure string, value float64, unit string, floor float64, n int,
	note string) {
	line := map[string]any{"figure": figure, "value": int64(value), "unit": unit, "n": n,
		"note": note}
	if floor > 0 {
		line["floor"], line["ratio"] = int64(floor), float64(int64(value/floor*100))/100
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		t.Fatal(err)
	}
}

// perSecond calls write n times, from several goroutines.
func perSecond(n, clients int, write func(i int)) float64 {
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range clients {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				write(int(i))
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// plainWriter is the floor.
func plainWriter(t *testing.T) func(int) {
	db, err := openSQL(filepath.Join(t.TempDir(), "plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, q := range []string{`PRAGMA journal_mode=WAL`,
		`CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, value BLOB)`} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	value := make([]byte, 1<<10)
	return func(i int) {
		if _, err := db.Exec(`INSERT INTO t (name, value) VALUES (?, ?)`, strconv.Itoa(i),
			value); err != nil {
			t.Error(err)
		}
	}
}

func storeWriter(t *testing.T, s *Store) func(int) {
	value := make([]byte, 1<<10)
	return func(i int) {
		resp, err := s.Client().OptimisticPut(t.Context(), fmt.Sprintf("/registry/figures/%d", i),
			value, 0, kubernetes.PutOptions{})
		if err != nil || !resp.Succeeded {
			t.Errorf("write: %v", err)
		}
	}
}

// sizes writes 500 objects again and again.
func sizes(t *testing.T, writes int) {
	const objects, interval = 500, 10 * time.Second
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir, CompactInterval: interval})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := openSQL(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var log, file int64
	look := func() {
		log, file = max(log, sizeOf(dir, FileName+"-wal")), sizeOf(dir, FileName)
	}
	value := make([]byte, 1<<10)
	var mine [16]struct {
		sync.Mutex
		revision map[int]int64
	}
	// In four parts: a file that grows with what is written shows.
	for part := range 4 {
		first := part * writes / 4
		rate := perSecond(writes/4, len(mine), func(i int) {
			i += first
			key := i % objects
			m := &mine[key%len(mine)]
			m.Lock()
			defer m.Unlock()
			if m.revision == nil {
				m.revision = map[int]int64{}
			}
			resp, err := s.Client().OptimisticPut(t.Context(),
				fmt.Sprintf("/registry/figures/%d",
					key), value, m.revision[key], kubernetes.PutOptions{GetOnFailure: true})
			if err != nil || !resp.Succeeded {
				t.Errorf("write %d: %v", i, err)
				return
			}
			m.revision[key] = resp.Revision
			if i%1000 == 0 && key%len(mine) == 0 {
				look()
			}
		})
		look()
		at := first + writes/4
		note := fmt.Sprintf("%d objects of 1 KiB written %d times, the last quarter at %.0f a "+
			"second, compaction every %s (a center: 5m)", objects, at, rate, interval)
		tell(t, "store-file", float64(file)/1024, "KiB", 0, at, note)
		tell(t, "store-log-largest", float64(log)/1024, "KiB", 0, at, note)
		tell(t, "store-rows", float64(count(t, db)), "rows", 0, at, note)
	}
}

func sizeOf(dir, name string) int64 {
	fi, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	return fi.Size()
}

func count(t *testing.T, db *sql.DB) (n int) {
	if err := db.QueryRow(`SELECT COUNT(*) FROM kine`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// startUp opens a store that holds objects, and reads all of them as an API server does.
func startUp(t *testing.T, objects int) {
	dir := t.TempDir()
	s := open(t, dir)
	perSecond(objects, 16, storeWriter(t, s))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openSQL(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	began := time.Now()
	rows, err := db.Query(`SELECT name, value FROM kine ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		var value []byte
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
	}
	rows.Close()
	floor := time.Since(began)
	began = time.Now()
	s = open(t, dir)
	defer s.Close()
	got, err := s.Client().Client.Get(t.Context(), "/registry/figures/", clientv3.WithPrefix())
	took := time.Since(began)
	if err != nil || len(got.Kvs) != objects {
		t.Fatalf("%d of %d objects: %v", len(got.Kvs), objects, err)
	}
	tell(t, "store-start", float64(took.Milliseconds()), "ms", float64(floor.Milliseconds()),
		objects, "open, and list all; floor: one SELECT of all rows")
}
