package tcp_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
)

// frames of a peer that does as it likes; see frame.go.
func data(stream, n int) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint([]byte{1}, uint64(stream)), uint64(n))
	return append(b, make([]byte, n)...)
}

func opens(first, n int) (b []byte) {
	for i := range n {
		b = append(b, data(first+2*i, 1)...)
	}
	return b
}

// A peer that breaks the protocol is dropped and told so, whatever it sends.
func TestHostilePeer(t *testing.T) {
	s := newSite(t)
	for name, says := range map[string][]byte{
		"unknown frame":      {99, 1, 1},
		"long frame":         {1, 1, 0xff, 0xff, 0xff, 0x7f},
		"endless number":     {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"stream 0":           data(0, 1),
		"the other's stream": data(2, 1),
		"too many streams":   opens(1, 17),
		"jump":               data(1001, 1),
		"credit overflow":    {4, 0, 1},
		"stream's window":    flood(1, 9),
		"everybody's window": append(append(append(append(flood(1, 8), flood(3, 8)...), flood(5, 8)...),
			flood(7, 8)...), data(9, 1)...),
	} {
		raw, parent := s.raw(t)
		go raw.Write(says) // it may be dropped before all is written
		select {
		case <-parent.Done():
			if !errors.Is(parent.Err(), tunnel.ErrProtocol) {
				t.Errorf("%s: ended with %v", name, parent.Err())
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the connection stands", name)
			parent.Close(nil)
		}
		raw.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, raw); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: it was not dropped", name)
		}
		raw.Close()
	}
}

// raw is a connection whose child is the test itself.
func (s *site) raw(t *testing.T) (child *tls.Conn, parent tunnel.Conn) {
	t.Helper()
	accepted := make(chan tunnel.Conn, 1)
	go func() {
		c, err := s.listener.Accept(context.Background())
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	child, err := tls.Dial("tcp", s.address, s.child)
	if err != nil {
		t.Fatal(err)
	}
	return child, <-accepted
}

// flood is more and more data, 16 KiB a frame.
func flood(stream, frames int) (b []byte) {
	for range frames {
		b = append(b, data(stream, 16<<10)...)
	}
	return b
}

// A peer that sends all that it may, in the smallest pieces, and whose streams nobody reads, costs
// no more than the windows.
func TestUnreadBytesAreBounded(t *testing.T) {
	s := newSite(t)
	raw, parent := s.raw(t)
	defer raw.Close()
	defer parent.Close(nil)
	before := heap()
	var b []byte
	for range 128 << 10 {
		for stream := range 4 {
			b = append(b, 1, byte(1+2*stream), 1, 'x')
		}
		if len(b) > 8<<10 {
			if _, err := raw.Write(b); err != nil {
				t.Fatal(err)
			}
			b = b[:0]
		}
	}
	if _, err := raw.Write(b); err != nil {
		t.Fatal(err)
	}
	// What the parent allocates while it receives is garbage that a collection at the same time
	// keeps, so the figure counts only when it has received everything.
	answered(t, raw)
	if parent.Err() != nil {
		t.Fatal(parent.Err())
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("%d bytes are held for windows of 512 KiB", grown)
	} else {
		t.Logf("%d bytes are held", grown)
	}
}

// answered sends a ping and waits for the pong, which comes when the other side has taken all that
// was sent before.
func answered(t *testing.T, raw *tls.Conn) {
	t.Helper()
	const ping, pong = 5, 6
	if _, err := raw.Write([]byte{ping}); err != nil {
		t.Fatal(err)
	}
	if err := raw.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for b := []byte{ping}; b[0] != pong; {
		if _, err := raw.Read(b); err != nil {
			t.Fatal(err)
		}
		if b[0] != ping && b[0] != pong {
			t.Fatalf("the other side sends a frame of type %d", b[0])
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
