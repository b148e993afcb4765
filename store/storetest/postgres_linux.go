package storetest

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// postgresVariable makes a PostgreSQL that is not installed an error; `make postgres` sets it.
const postgresVariable = "SKERRY_POSTGRES"

// Postgres is a PostgreSQL of this test, as Debian packages it, on loopback.
type Postgres struct {
	t              *testing.T
	bin, dir, port string
	credential     *syscall.Credential
	process        *exec.Cmd
	// Endpoint is where a store of it is opened.
	Endpoint string
}

// StartPostgres makes one that ends with the test, which is skipped unless SKERRY_POSTGRES=1.
func StartPostgres(t *testing.T) *Postgres {
	t.Helper()
	if os.Getenv(postgresVariable) == "" {
		t.Skip(postgresVariable + " is not set: run it with make postgres")
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: apt-get install postgresql")
	}
	p := &Postgres{t: t, bin: filepath.Dir(found[len(found)-1])}
	var err error
	if p.dir, err = os.MkdirTemp("", "skerry-postgres-*"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(p.dir) })
	if os.Getuid() == 0 { // PostgreSQL refuses root, and need not have a user of its own
		who, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal("no user nobody: ", err)
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		p.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(p.dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := p.command("initdb", "--auth=trust", "--username=skerry", "--no-instructions",
		"--no-sync", p.data()).CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, p.port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	p.Endpoint = "postgres://skerry@127.0.0.1:" + p.port + "/center?sslmode=disable"
	p.Run()
	t.Cleanup(func() { p.Stop() })
	return p
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential, Setpgid: true}
	return cmd
}

// Run starts it, as StartPostgres has done.
func (p *Postgres) Run() {
	p.t.Helper()
	p.process = p.command("postgres", "-D", p.data(), "-c", "listen_addresses=127.0.0.1", "-p",
		p.port, "-c", "unix_socket_directories=")
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for p.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", p.port).Run() != nil {
		if time.Now().After(deadline) {
			p.t.Fatal("PostgreSQL does not answer")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Stop ends it at once, without a checkpoint: what was acknowledged is in its log alone.
func (p *Postgres) Stop() {
	p.process.Process.Signal(syscall.SIGQUIT)
	p.process.Wait()
}
