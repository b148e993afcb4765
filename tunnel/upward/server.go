package upward

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Times of an exchange.
const (
	// headTime is how long the child may take to send the head of its request.
	headTime = 10 * time.Second
	// readTime is how long the child may take to read what was sent last.
	readTime = 60 * time.Second
	// endTime is how long the child waits for the end of a stream behind the end of a body.
	endTime = time.Second
)

// Server serves streams that a child opens. It implements tunnel.StreamHandler. Each stream carries
// one request.
type Server struct {
	Handler http.Handler
}

// ServeStream implements tunnel.StreamHandler. The request's context ends with ctx and with the
// stream.
func (s Server) ServeStream(ctx context.Context, stream tunnel.Stream) {
	c := newConn(stream, func(c *conn) { c.over(readTime) })
	stop := context.AfterFunc(ctx, stream.Cancel)
	defer stop()
	server := &http.Server{
		Handler: s.Handler, MaxHeaderBytes: MaxHead, ReadHeaderTimeout: headTime,
		DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	server.SetKeepAlivesEnabled(false)
	_ = server.Serve(&one{conn: c}) // ends with the only connection
	<-c.closed
}

// one is a listener of one connection. The second Accept waits until that is closed.
type one struct {
	conn  *conn
	given bool
}

// Accept implements net.Listener.
func (o *one) Accept() (net.Conn, error) {
	if o.given {
		<-o.conn.closed
		return nil, net.ErrClosed
	}
	o.given = true
	return o.conn, nil
}

// Close implements net.Listener.
func (*one) Close() error { return nil }

// Addr implements net.Listener.
func (o *one) Addr() net.Addr { return noAddress{} }
