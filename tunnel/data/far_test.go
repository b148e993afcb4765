package data_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// log sends so many bytes down a stream, as a long log.
func log(bytes int) handler {
	return func(_ context.Context, s tunnel.Stream) {
		chunk := make([]byte, 32<<10)
		for left := bytes; left > 0; left -= len(chunk) {
			if _, err := s.Write(chunk[:min(left, len(chunk))]); err != nil {
				return
			}
		}
		s.Close()
	}
}

// read reads a log of so many bytes and returns how long it took.
func (w *world) read(t testing.TB, bytes int) time.Duration {
	t.Helper()
	s := w.open(t)
	defer s.Cancel()
	began := time.Now()
	s.Write([]byte("x"))
	if n, err := io.Copy(io.Discard, s); err != nil || n != int64(bytes) {
		t.Fatalf("%d bytes of %d, %v", n, bytes, err)
	}
	return time.Since(began)
}

// A long log over a far link is not held to the window that a stream begins with: 1.3 MB/s at 100
// ms. Both the multiplexer's windows and QUIC's have to grow for it.
func TestFarLog(t *testing.T) {
	storetest.Figure(t)
	const bytes = 12 << 20
	near, far := newWorld(t, "quic", log(bytes)), newWorld(t, "far", log(bytes))
	fixed := time.Duration(bytes/mux.Data.StreamWindow) * 100 * time.Millisecond
	var took, without time.Duration
	for range 5 { // a machine that has other things to do makes a log slower, never faster
		took, without = far.read(t, bytes), near.read(t, bytes)
		t.Logf("%d MiB took %s, over a near link %s", bytes>>20, took.Round(time.Millisecond), without.Round(time.Millisecond))
		if took <= fixed*2/3+2*without {
			return
		}
	}
	t.Errorf("%d bytes took %s, and %s over a near link; a window of 128 KiB takes %s", bytes, took, without, fixed)
}

// BenchmarkLog reads a long log over each transport, beside a plain copy over TCP in the same run.
func BenchmarkLog(b *testing.B) {
	const bytes = 100 << 20
	for _, transport := range []string{"pipe", "tcp", "quic"} {
		b.Run(transport, func(b *testing.B) {
			w := newWorld(b, transport, log(bytes))
			w.read(b, bytes)
			b.SetBytes(bytes)
			for b.Loop() {
				w.read(b, bytes)
			}
		})
	}
	b.Run("plain TCP", func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			plainCopy(b, bytes)
		}
	})
}

// plainCopy sends so many bytes over a TCP connection on loopback.
func plainCopy(b *testing.B, bytes int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		chunk := make([]byte, 32<<10)
		for left := bytes; left > 0; left -= len(chunk) {
			if _, err := c.Write(chunk[:min(left, len(chunk))]); err != nil {
				return
			}
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if n, err := io.Copy(io.Discard, struct{ io.Reader }{c}); err != nil || n != int64(bytes) {
		b.Fatalf("%d bytes, %v", n, err)
	}
}
