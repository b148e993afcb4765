package apiserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"skerry.dev/skerry/server/apiserver/share"
)

// A port that closes its listener first must not leave connections of users behind.
func TestNoConnectionOutlivesTheServer(t *testing.T) {
	for _, listenerFirst := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- serveUntil(ctx, listener, &http.Server{Handler: answer}) }()

		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		lines := bufio.NewReader(conn)
		if _, err := http.ReadResponse(lines, nil); err != nil {
			t.Fatal(err)
		}
		want := error(nil)
		if listenerFirst {
			listener.Close()
			want = net.ErrClosed
		} else {
			cancel()
		}
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("the listener first %v: got %v, want %v", listenerFirst, err, want)
		}
		cancel()
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("the listener first %v: the connection is still there: %v", listenerFirst, err)
		}
	}
}

// one is a listener of one connection.
type one struct {
	net.Listener
	conn chan net.Conn
}

func (o one) Accept() (net.Conn, error) {
	if c, ok := <-o.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (one) Close() error { return nil }

// TestAnswersWithoutAWindow: a client, of whom nobody needs to know who he is, asks over HTTP/2 and
// never lets the answers come.
func TestAnswersWithoutAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		protocols := &http.Protocols{}
		protocols.SetUnencryptedHTTP2(true)
		refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
		})
		server := &http.Server{Protocols: protocols, Handler: endStuck(refuse)}
		near, far := net.Pipe()
		conns := make(chan net.Conn, 1)
		conns <- far
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(one{conn: conns}) }()
		near.SetDeadline(time.Now().Add(time.Hour))
		read := make(chan time.Duration, 1)
		frames, began := http2.NewFramer(near, near), time.Now()
		go func() {
			for {
				f, err := frames.ReadFrame()
				if err != nil {
					t.Error(err)
				}
				if _, ok := f.(*http2.RSTStreamFrame); ok || err != nil {
					read <- time.Since(began)
					return
				}
			}
		}()
		io.WriteString(near, http2.ClientPreface)
		frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		var head bytes.Buffer
		fields := hpack.NewEncoder(&head)
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/api"}} {
			fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		frames.WriteHeaders(
			http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
		if took := <-read; took > share.StuckAfter {
			t.Errorf("the stream ended after %v", took)
		}
		near.Close()
		close(conns)
		<-ended
		server.Close()
	})
}
