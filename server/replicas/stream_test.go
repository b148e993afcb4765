package replicas

import (
	"crypto/tls"
	"errors"
	"io"
	"testing"
	"time"
)

// TestCloseDoesNotWait: who ends his half while the peer takes nothing does not wait for that; the
// end follows what is being written, and the socket is closed when both halves have ended.
func TestCloseDoesNotWait(t *testing.T) {
	peer := start(t, "", nobody(t))
	l, err := tls.Listen("tcp", "127.0.0.1:0", peer.server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far := make(chan *stream, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			if conn.(*tls.Conn).Handshake() == nil {
				far <- newStream(conn.(*tls.Conn), func() {})
			}
		}
	}()
	conn, err := tls.Dial("tcp", l.Addr().String(), peer.client)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	near, other := newStream(conn, func() { close(ended) }), <-far
	defer other.Cancel()
	defer near.Cancel()
	const size = 64 << 20 // more than the sockets take
	wrote := make(chan error, 1)
	go func() {
		_, err := near.Write(make([]byte, size))
		wrote <- err
	}()
	if _, err := io.ReadFull(other, make([]byte, 1)); err != nil { // it writes
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- near.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for the peer")
	}
	if _, err := near.Write(nil); !errors.Is(err, errClosed) {
		t.Errorf("a write after the end: %v", err)
	}
	if n, err := io.Copy(io.Discard, other); n != size-1 || err != nil {
		t.Errorf("%d bytes came: %v", n, err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := near.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	<-ended
}
