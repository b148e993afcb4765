package doctor

import (
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// stopped is a center that has run: its keys, which are sound, and its database.
func stopped(t *testing.T) CenterConfig {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "center")
	if err := os.MkdirAll(filepath.Join(dir, "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{LockFile, kine.FileName} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, kine.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT, value BLOB)`,
		`CREATE TABLE skerry (name TEXT, value BLOB)`,
		`INSERT INTO skerry VALUES ('incarnation', x'000102030405060708090a0b0c0d0e0f')`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 500)
			INSERT INTO kine SELECT i, 'k' || i, randomblob(500) FROM n`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	l := tunneltest.ListenWhereUDPIsFree(t)
	defer l.Close()
	return CenterConfig{DataDir: dir, Listen: l.Addr().String(), Version: "v1.4.0", UDPBuffer: 4 << 10,
		Keys: func(string) (time.Time, error) { return time.Now().Add(time.Hour), nil }}
}

// running is a center that runs: its lock is held, and its API answers.
func running(t *testing.T) (CenterConfig, *api) {
	t.Helper()
	cfg, a := stopped(t), newAPI(t)
	cfg.Listen = a.at.Listener.Addr().String()
	kubeconfig(t, filepath.Join(cfg.DataDir, KubeconfigFile), "https://center.example:"+a.port(), a.ca())
	hold(t, cfg)
	return cfg, a
}

func hold(t *testing.T, cfg CenterConfig) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(cfg.DataDir, LockFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
}

func TestCenter(t *testing.T) {
	alone(t, Center(stopped(t)), "", "")
	cfg, a := running(t)
	alone(t, Center(cfg), "", "")
	a.set(func() { a.readyz = "etcd" })
	if f := alone(t, Center(cfg), "center.ready", "center-not-ready"); !strings.Contains(f.Why, "etcd") {
		t.Errorf("%+v", f)
	}
	kubeconfig(t, filepath.Join(cfg.DataDir, KubeconfigFile), a.at.URL, newAPI(t).ca())
	alone(t, Center(cfg), "center.ready", "center-not-answering")
	fresh := stopped(t)
	fresh.DataDir = filepath.Join(t.TempDir(), "not-yet")
	alone(t, Center(fresh), "", "")
	fresh.UDPBuffer = 1 << 30
	alone(t, Center(fresh), "machine.udp-buffers", "udp-buffers-small")
}

func TestPort(t *testing.T) {
	cfg := stopped(t)
	cfg.Listen = "center"
	alone(t, Center(cfg), "center.port", "listen-invalid")
	cfg.Listen = "192.0.2.1:7443"
	alone(t, Center(cfg), "center.port", "listen-invalid")

	l, err := net.Listen("tcp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg.Listen = l.Addr().String()
	if f := alone(t, Center(cfg), "center.port", "port-taken"); !strings.Contains(f.Why, "process ") {
		t.Errorf("%+v", f)
	}
	u, err := net.ListenPacket("udp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	cfg.Listen = u.LocalAddr().String()
	if f := alone(t, Center(cfg), "center.port", "port-taken"); !strings.Contains(f.Why, "(udp)") {
		t.Errorf("%+v", f)
	}

	other := stopped(t)
	hold(t, other) // and nobody listens where it should
	alone(t, Center(other), "center.port", "directory-in-use")
}

func TestDirectoryOfAnAgent(t *testing.T) {
	cfg := stopped(t)
	cfg.DataDir = filepath.Join(t.TempDir(), "agent")
	if err := os.Mkdir(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "agent.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, Center(cfg), "center.port", "directory-of-agent")
}

func TestKeys(t *testing.T) {
	cfg := stopped(t)
	cfg.Keys = func(string) (time.Time, error) { return time.Time{}, errors.New("agent.key is missing") }
	alone(t, Center(cfg), "center.keys", "keys-damaged")
	cfg.Keys = func(string) (time.Time, error) { return time.Now().Add(-time.Hour), nil }
	alone(t, Center(cfg), "center.keys", "authority-expired")
}

// holdVariable has the data directory whose database TestHoldDatabase keeps locked for another test.
const holdVariable = "SKERRY_HOLD_DATABASE"

// Another program that keeps the database locked is named.
func TestLockedDatabase(t *testing.T) {
	cfg := stopped(t)
	pid, _ := storetest.OtherProcess(t, "TestHoldDatabase", holdVariable, cfg.DataDir)
	f := alone(t, Center(cfg), "center.database", "database-locked")
	if want := strconv.Itoa(pid); !strings.Contains(f.Why, want) || !strings.Contains(f.Fix, want) {
		t.Errorf("process %s is not named: %+v", want, f)
	}
}

// TestHoldDatabase is the other process of TestLockedDatabase.
func TestHoldDatabase(t *testing.T) {
	dir := os.Getenv(holdVariable)
	if dir == "" {
		t.Skip("it is a part of TestLockedDatabase")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, kine.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `BEGIN EXCLUSIVE`); err != nil {
		t.Fatal(err)
	}
	storetest.Hold()
}

func TestDatabase(t *testing.T) {
	cfg := stopped(t)
	path := filepath.Join(cfg.DataDir, kine.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4 * 4096; i < 8*4096; i++ { // pages in the middle
		data[i] ^= 0xff
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, Center(cfg), "center.database", "database-damaged")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	alone(t, Center(cfg), "center.database", "database-damaged")
}

func TestDatastore(t *testing.T) {
	cfg := stopped(t)
	cfg.Datastore = "postgres://skerry:" + canary + "@127.0.0.1:1/skerry"
	alone(t, Center(cfg), "center.database", "datastore-unreachable")
	cfg.Datastore = "postgres://skerry:" + canary + "@" // no host
	alone(t, Center(cfg), "center.database", "datastore-unreachable")
	l, err := net.Listen("tcp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for { // what answers is no datastore
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	cfg.Datastore = "postgres://skerry:" + canary + "@" + l.Addr().String() + "/skerry"
	if f := alone(t, Center(cfg), "center.database", "datastore-unreachable"); !strings.Contains(f.Why, "connects, and then") {
		t.Errorf("%+v", f)
	}
}

func TestLocalAddress(t *testing.T) {
	for _, c := range [][3]string{
		{"0.0.0.0:7443", "https://center.example:7443", "127.0.0.1:7443"}, {":7443", "", "127.0.0.1:7443"},
		{"[::]:7443", "", "127.0.0.1:7443"}, {"[2001:db8::1]:7443", "", "[2001:db8::1]:7443"},
		{"127.0.0.1:0", "https://127.0.0.1:4711", "127.0.0.1:4711"}, {"10.0.0.1:7443", "", "10.0.0.1:7443"},
	} {
		if got := localAddress(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %s, want %s", c[0], got, c[2])
		}
	}
}
