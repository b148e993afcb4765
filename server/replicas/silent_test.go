package replicas

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// gate is an address that leads to another one until it is shut: then it takes what comes, and
// nothing crosses, as when a host has gone.
func gate(t *testing.T, to string) (address string, shut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var closed atomic.Bool
	copies := func(to, from net.Conn) {
		defer to.Close()
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if !closed.Load() {
				_, _ = to.Write(buffer[:n])
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			go copies(far, near)
			go copies(near, far)
		}
	}()
	return l.Addr().String(), func() { closed.Store(true) }
}

// TestGoesSilent: a client is told within 10 s that the leader is silent, also while it sends
// something; and the leader ends the request of a replica that is silent.
func TestGoesSilent(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]*exchange.Request{"a log": logOf(), "an exec": execOf()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			leader := start(
				t,
				"",
				func(ctx context.Context, _ string, q *exchange.Request) (*http.Response, error) {
					near, site := net.Pipe()
					context.AfterFunc(ctx, func() { near.Close(); close(gone) })
					go func() {
						_, _ = io.WriteString(site, "first\n")
						_, _ = io.Copy(io.Discard, site)
					}()
					if q.Verb == exchange.Log {
						return answer(200, near), nil
					}
					resp := answer(101, near)
					resp.Header.Set("Connection", "Upgrade")
					resp.Header.Set("Upgrade", "SPDY/3.1")
					return resp, nil
				},
			)
			address, shut := gate(t, leader.address)
			f := start(t, address, nobody(t))
			f.client = leader.client
			resp, err := f.Do(t.Context(), "oslo", q)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			in := bufio.NewReader(resp.Body)
			if line, err := in.ReadString('\n'); line != "first\n" {
				t.Fatal(line, err)
			}
			shut()
			began := time.Now()
			if conn, ok := resp.Body.(io.Writer); ok {
				_, _ = io.WriteString(conn, "typed")
			}
			if _, err := in.ReadByte(); err == nil || err == io.EOF {
				t.Errorf("the end of what broke off: %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the client was told after %s", took)
			}
			select {
			case <-gone:
			case <-time.After(10 * time.Second):
				t.Error("the leader still asks the site")
			}
		})
	}
}
