package doctor

import (
	"database/sql"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"skerry.dev/skerry/store/storetest"
)

// A PostgreSQL and an etcd that answer, and that do not serve a center all the same.
func TestDatastoreThatAnswers(t *testing.T) {
	p := storetest.StartPostgres(t)
	cfg := stopped(t)
	cfg.Datastore = p.Endpoint
	alone(t, Center(cfg), "", "")
	cfg.Datastore = strings.Replace(p.Endpoint, "skerry@", "nobody:"+canary+"@", 1)
	if f := alone(t, Center(cfg), "center.database", "datastore-refuses"); !strings.Contains(f.Why, "nobody") {
		t.Errorf("%+v", f)
	}
}

// All that PostgreSQL allows is in use.
func TestDatastoreIsCrowded(t *testing.T) {
	p := storetest.StartPostgres(t)
	cfg := stopped(t)
	cfg.Datastore = p.Endpoint
	db, err := sql.Open("pgx", strings.Replace(p.Endpoint, "/center", "/postgres", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := 0; ; n++ {
		conn, err := db.Conn(t.Context())
		if err != nil {
			if n == 0 {
				t.Fatal(err)
			}
			break
		}
		defer conn.Close()
	}
	if f := alone(t, Center(cfg), "center.database", "datastore-crowded"); !strings.Contains(f.Fix, "max_connections") {
		t.Errorf("%+v", f)
	}
}

// An etcd that is at its quota.
func TestDatastoreIsFull(t *testing.T) {
	e := storetest.StartEtcd(t, 1, "--quota-backend-bytes", "2000000")
	cfg := stopped(t)
	cfg.Datastore = e.Endpoint
	alone(t, Center(cfg), "", "")
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for err == nil {
		_, err = client.Put(t.Context(), "filling", strings.Repeat("x", 500_000))
	}
	if f := alone(t, Center(cfg), "center.database", "datastore-full"); !strings.Contains(f.Fix, "quota-backend-bytes") {
		t.Errorf("%+v", f)
	}
}

func TestDatastoreWithoutLeader(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	cfg := stopped(t)
	cfg.Datastore = e.Endpoint
	alone(t, Center(cfg), "", "")
	e.Kill(0)
	e.Kill(1)
	if f := alone(t, Center(cfg), "center.database", "datastore-read-only"); !strings.Contains(f.Why, "no leader") {
		t.Errorf("%+v", f)
	}
}
