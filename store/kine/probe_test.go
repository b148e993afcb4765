package kine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store/storetest"
)

func probe(t *testing.T, endpoint string, want error) {
	t.Helper()
	if err := Probe(t.Context(), Config{Endpoint: endpoint}); !errors.Is(err, want) {
		t.Errorf("want %v: %v", want, err)
	}
}

// A probe tells what an admin has to do, and leaves nothing behind.
func TestProbeOnPostgres(t *testing.T) {
	p := storetest.StartPostgres(t)
	probe(t, p.Endpoint, nil) // the database is made by the first start
	s := openShared(t, p)
	defer s.Close()
	probe(t, p.Endpoint, nil)

	db := database(s).db
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) string { return strings.Replace(p.Endpoint, "skerry@", user+"@", 1) }
	probe(t, as("nobody"), ErrRefused)
	run(`CREATE ROLE many LOGIN CONNECTION LIMIT 0`)
	probe(t, as("many"), ErrCrowded)
	run(`CREATE ROLE plain LOGIN; REVOKE TEMPORARY ON DATABASE center FROM PUBLIC`)
	probe(t, as("plain"), nil)
	run(`REVOKE CONNECT ON DATABASE center FROM PUBLIC`)
	probe(t, as("plain"), ErrRefused)
	run(`ALTER DATABASE center SET default_transaction_read_only = on`)
	probe(t, p.Endpoint, ErrReadOnly)
	var left int
	err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_class WHERE relname = 'skerry_probe'`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d tables are left: %v", left, err)
	}
	p.Stop()
	if err := Probe(t.Context(), Config{Endpoint: p.Endpoint}); err == nil {
		t.Error("a database that does not run answers")
	}
}

// What PostgreSQL says of its disk, which a test cannot fill everywhere.
func TestJudged(t *testing.T) {
	for code, want := range map[string]error{pgerrcode.DiskFull: ErrFull, pgerrcode.InvalidPassword: ErrRefused,
		pgerrcode.TooManyConnections: ErrCrowded, pgerrcode.ReadOnlySQLTransaction: ErrReadOnly,
		pgerrcode.InvalidCatalogName: nil} {
		if err := judged(fmt.Errorf("connect: %w", &pgconn.PgError{Code: code})); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
	}
	other := errors.New("connection refused")
	if err := judged(other); err != other {
		t.Errorf("%v", err)
	}
}

func TestProbeOnEtcd(t *testing.T) {
	e := storetest.StartEtcd(t, 1, "--quota-backend-bytes", "4194304")
	probe(t, e.Endpoint, nil)
	s, err := Open(t.Context(), Config{Endpoint: e.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	probe(t, e.Endpoint, nil)
	value := make([]byte, 256<<10)
	for i := 0; err == nil && i < 100; i++ {
		_, err = s.Client().OptimisticPut(t.Context(), fmt.Sprintf("/registry/t/%d", i), value, 0,
			kubernetes.PutOptions{})
	}
	probe(t, e.Endpoint, ErrFull)
}

func TestProbeOnEtcdWithoutLeader(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	probe(t, e.Endpoint, nil)
	e.Kill(0)
	probe(t, e.Endpoint, nil)
	e.Kill(1)
	deadline := time.Now().Add(time.Minute)
	var err error
	for !errors.Is(err, ErrReadOnly) { // the last member needs a while to see it
		if time.Now().After(deadline) {
			t.Fatalf("with one member of three: %v", err)
		}
		err = Probe(t.Context(), Config{Endpoint: e.Endpoint})
	}
}
