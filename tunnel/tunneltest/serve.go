package tunneltest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Serve has each connection to an address of this machine served by a function, until the test ends, and returns the
// address. A connection is closed when the function returns.
func Serve(t testing.TB, serve func(net.Conn)) *net.TCPAddr {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().(*net.TCPAddr)
}

// Echo sends back what it gets.
func Echo(conn net.Conn) { _, _ = io.Copy(conn, conn) }
