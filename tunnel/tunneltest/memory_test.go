package tunneltest

import (
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// TestMemoryIsAConnection: the rules that all connections of package net keep.
func TestMemoryIsAConnection(t *testing.T) {
	nettest.TestConn(t, func() (one, other net.Conn, stop func(), err error) {
		l := NewMemory()
		accepted := make(chan net.Conn, 1)
		go func() {
			c, _ := l.Accept() //nolint:errcheck // nil says it
			accepted <- c
		}()
		if one, err = l.DialContext(t.Context(), "", ""); err != nil {
			return nil, nil, nil, err
		}
		other = <-accepted
		return one, other, func() {
			one.Close()
			other.Close()
			l.Close()
		}, nil
	})
}

// TestMemoryForgetsADeadline: net/http sets one that has passed after a request, to end its read of
// the connection, and takes it back. One that came true late would end the connection under the
// client's next request.
func TestMemoryForgetsADeadline(t *testing.T) {
	l := NewMemory()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept() //nolint:errcheck // nil says it
		accepted <- c
	}()
	client, err := l.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server := <-accepted
	defer server.Close()
	for range 200 {
		for _, at := range []time.Time{time.Unix(1, 0), {}} {
			if err := server.SetReadDeadline(at); err != nil {
				t.Fatal(err)
			}
		}
		read := make(chan error, 1)
		go func() {
			_, err := server.Read(make([]byte, 1))
			read <- err
		}()
		runtime.Gosched()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
}
