package storetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// etcdVariable names the etcd binary; `make etcd` sets it.
const etcdVariable = "SKERRY_ETCD"

// Etcd is an etcd cluster of this test, on loopback.
type Etcd struct {
	t       *testing.T
	members []*etcdMember
	// Endpoint is where a store of it is opened.
	Endpoint string
}

type etcdMember struct {
	arguments []string
	client    string
	process   *exec.Cmd
}

// StartEtcd makes a cluster of n members that ends with the test, which is skipped without an etcd.
// The arguments are of each member.
func StartEtcd(t *testing.T, n int, arguments ...string) *Etcd {
	t.Helper()
	if os.Getenv(etcdVariable) == "" {
		t.Skip("no etcd: make etcd")
	}
	dir := t.TempDir()
	var peers, clients []string
	e := &Etcd{t: t}
	for i := range n {
		peer := "http://" + freeAddress(t)
		m := &etcdMember{client: freeAddress(t)}
		m.arguments = append([]string{"--name", fmt.Sprint("m", i), "--data-dir", filepath.Join(dir, fmt.Sprint("m", i)),
			"--listen-client-urls", "http://" + m.client, "--advertise-client-urls", "http://" + m.client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--log-level", "error",
			"--heartbeat-interval", "50", "--election-timeout", "500"}, arguments...)
		peers = append(peers, fmt.Sprintf("m%d=%s", i, peer))
		clients = append(clients, "http://"+m.client)
		e.members = append(e.members, m)
	}
	for _, m := range e.members {
		m.arguments = append(m.arguments, "--initial-cluster", strings.Join(peers, ","))
	}
	e.Endpoint = strings.Join(clients, ",")
	t.Cleanup(e.Stop)
	e.Run()
	return e
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Run starts the members that do not run, and waits until a client can reach them.
func (e *Etcd) Run() {
	e.t.Helper()
	for _, m := range e.members {
		if m.process != nil {
			continue
		}
		m.process = exec.Command(os.Getenv(etcdVariable), m.arguments...)
		m.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		m.process.Stderr = e.t.Output()
		if err := m.process.Start(); err != nil {
			e.t.Fatal(err)
		}
	}
	deadline := time.Now().Add(time.Minute)
	for _, m := range e.members {
		for {
			c, err := net.Dial("tcp", m.client)
			if err == nil {
				c.Close()
				break
			}
			if time.Now().After(deadline) {
				e.t.Fatal("etcd does not answer")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// Kill ends one member with SIGKILL.
func (e *Etcd) Kill(i int) {
	m := e.members[i]
	if m.process == nil {
		return
	}
	m.process.Process.Kill()
	m.process.Wait()
	m.process = nil
}

// Stop kills all members: what was acknowledged is on their disks.
func (e *Etcd) Stop() {
	for i := range e.members {
		e.Kill(i)
	}
}
