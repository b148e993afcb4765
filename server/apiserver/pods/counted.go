package pods

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"k8s.io/apiserver/pkg/audit"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
)

// counted counts what passes over a client's connection once it is taken over, frames included.
type counted struct {
	http.ResponseWriter
	received, sent atomic.Int64
}

// Hijack implements http.Hijacker.
func (c *counted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, err := buffered.Peek(buffered.Reader.Buffered())
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	c.received.Add(int64(len(early)))
	both := countedConn{conn, c}
	reader := bufio.NewReader(io.MultiReader(bytes.NewReader(slices.Clone(early)), both))
	return both, bufio.NewReadWriter(reader, bufio.NewWriter(both)), nil
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// tell adds to the audit line of a request what passed.
func (c *counted) tell(req *http.Request) {
	audit.AddAuditAnnotations(req.Context(), auditlog.Received, strconv.FormatInt(c.received.Load(), 10),
		auditlog.Sent, strconv.FormatInt(c.sent.Load(), 10))
}

type countedConn struct {
	net.Conn
	count *counted
}

// Read implements net.Conn.
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.count.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.count.sent.Add(int64(n))
	return n, err
}
