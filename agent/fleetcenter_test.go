package agent

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// centerProcess is a center in a process of its own, so that its memory and time can be told from
// those of the agents.
type centerProcess struct {
	t                 *testing.T
	dir, address, url string
	kubeconfig        string
	cmd               *exec.Cmd
	log               *os.File
}

func startCenterProcess(t *testing.T) *centerProcess {
	address := tunneltest.AnyPort()
	c := &centerProcess{t: t, dir: t.TempDir(), address: address, url: "https://" + address}
	c.kubeconfig = filepath.Join(c.dir, "data", "admin.kubeconfig")
	var err error
	if c.log, err = os.Create(filepath.Join(c.dir, "center.log")); err != nil {
		t.Fatal(err)
	}
	c.start()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			out, _ := os.ReadFile(c.log.Name())
			t.Logf("the end of the center's log:\n%s", out[max(0, len(out)-4000):])
		}
		ignore(c.log.Close())
	})
	return c
}

// start returns when the center is ready.
func (c *centerProcess) start() {
	c.t.Helper()
	c.cmd = exec.Command(
		os.Getenv("SKERRY_BIN"),
		"center",
		"--data-dir",
		filepath.Join(c.dir, "data"),
		"--listen",
		c.address,
	)
	c.cmd.Stderr = c.log
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "center ready") {
			go func() { _, err := io.Copy(c.log, out); ignore(err) }()
			return
		}
	}
	c.t.Fatal("the center ended before it was ready")
}

func (c *centerProcess) kill() {
	ignore(c.cmd.Process.Kill())
	ignore(c.cmd.Wait())
}

// parts are what a center's memory is made of, in KiB: all of it, what the last collection of
// garbage has found in use, and stacks.
type parts struct{ rss, live, stacks, goroutines float64 }

// settled returns the parts when all statuses are written.
func (c *centerProcess) settled() parts {
	c.t.Helper()
	c.quiet()
	return c.parts()
}

// parts returns them once the RSS has been steady for some seconds: memory is given back only with
// time.
func (c *centerProcess) parts() parts {
	c.t.Helper()
	p := parts{rss: settledRSS(c.t, c.cmd.Process.Pid)}
	const live, stacks, goroutines = "go_gc_heap_live_bytes", "go_memstats_stack_inuse_bytes", "go_goroutines"
	is := c.metrics(live, stacks, goroutines)
	if len(is) != 3 {
		c.t.Fatalf("the center tells only %v of its memory", is)
	}
	p.live, p.stacks, p.goroutines = is[live]/1024, is[stacks]/1024, is[goroutines]
	return p
}

func settledRSS(t *testing.T, pid int) float64 {
	t.Helper()
	last := 0.0
	for steady, tries := 0, 0; steady < 6 && tries < 40; tries++ {
		time.Sleep(2 * time.Second)
		now := rssOf(t, pid)
		if now > last-512 && now < last+512 {
			steady++
		} else {
			steady = 0
		}
		last = now
	}
	return last
}

func rssOf(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// cpu is the time that the center has used.
func (c *centerProcess) cpu() time.Duration {
	c.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	var ticks int
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			c.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// idle is the share of a core that the center uses in a while, in percent.
func (c *centerProcess) idle(window time.Duration) float64 {
	before, began := c.cpu(), time.Now()
	time.Sleep(window)
	return 100 * (c.cpu() - before).Seconds() / time.Since(began).Seconds()
}

// bareConnections returns what a QUIC connection without streams costs a process that accepts n of
// them, in KiB.
func bareConnections(t *testing.T, n int) float64 {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestBareListener$")
	cmd.Env = append(os.Environ(), "SKERRY_FLEET_BARE="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { ignore(cmd.Process.Kill()); ignore(cmd.Wait()) }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), ":") {
		t.Fatalf("the bare listener did not start: %s", lines.Text())
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "agent.crt"), filepath.Join(dir, "agent.key"))
	if err != nil {
		t.Fatal(err)
	}
	before := settledRSS(t, cmd.Process.Pid)
	config := &tls.Config{
		Certificates:       []tls.Certificate{cert},
		InsecureSkipVerify: true,
		NextProtos:         []string{tunnel.ALPN},
	}
	var dialing sync.WaitGroup
	slots := make(chan struct{}, 16)
	for range n {
		slots <- struct{}{}
		dialing.Go(func() {
			conn, err := quic.Dial(t.Context(), lines.Text(), quic.DialConfig{TLS: config, Log: discard()})
			<-slots
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { ignore(conn.Close(nil)) })
		})
	}
	dialing.Wait()
	return (settledRSS(t, cmd.Process.Pid) - before) / float64(n)
}

// TestBareListener is the process of bareConnections.
func TestBareListener(t *testing.T) {
	dir := os.Getenv("SKERRY_FLEET_BARE")
	if dir == "" {
		t.Skip("this is a process of TestFleet")
	}
	c := &center{t: t}
	c.key = newKey(t)
	c.ca = c.sign(
		&x509.Certificate{
			Subject:               pkix.Name{CommonName: "ca"},
			IsCA:                  true,
			BasicConstraintsValid: true,
			KeyUsage:              x509.KeyUsageCertSign,
		},
		&c.key.PublicKey,
		time.Hour,
	)
	serverKey, agentKey := newKey(t), newKey(t)
	leaf := c.sign(&x509.Certificate{}, &serverKey.PublicKey, time.Hour)
	agent := c.sign(
		&x509.Certificate{
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			Subject:     pkix.Name{CommonName: "a", Organization: []string{enroll.Organization}},
			URIs:        []*url.URL{{Scheme: "skerry", Host: "center", Path: "/targets/a"}},
		},
		&agentKey.PublicKey,
		time.Hour,
	)
	writePEM(t, filepath.Join(dir, "agent.crt"), "CERTIFICATE", agent.Raw)
	der, err := x509.MarshalECPrivateKey((*ecdsa.PrivateKey)(agentKey))
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "agent.key"), "EC PRIVATE KEY", der)
	authorities := x509.NewCertPool()
	authorities.AddCert(c.ca)
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := quic.Listen(
		quic.ListenConfig{Packet: packet, Log: discard(), TLS: &tls.Config{NextProtos: []string{tunnel.ALPN},
			Certificates: []tls.Certificate{
				{Certificate: [][]byte{leaf.Raw}, PrivateKey: serverKey},
			}, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: authorities}},
	)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(packet.LocalAddr())
	for held := map[tunnel.Conn]bool{}; ; {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			t.Fatalf("after %d connections: %v", len(held), err)
		}
		held[conn] = true
	}
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
